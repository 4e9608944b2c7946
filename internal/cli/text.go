package cli

import (
	"strconv"
	"strings"

	"hashgrove/internal/message"
	"hashgrove/internal/par"
)

// CPUFeatures lists the processor features this program makes use of.
func CPUFeatures() []string { return par.CPUFeatures() }

// PeakMemory returns the most memory that the process has had, in bytes.
func PeakMemory() int64 { return par.PeakMemory() }

// Count formats a number of things, with the noun in singular or plural.
func Count(n int, one, more string) string { return message.Count(n, one, more) }

// Runs joins names for use in a sentence and shortens consecutive numbered names to e0..e767.
func Runs(names []string) string { return message.Runs(names) }

// Bits says how many bits a code has.
func Bits(class, detail int) string { return message.Bits(class, detail) }

// Size formats a number of bytes.
func Size[N int | int64](bytes N) string { return message.Size(int64(bytes)) }

// Printable escapes control characters in a stored text.
func Printable(s string) string { return message.Printable(s) }

// Cells protects texts in a table from spreadsheets, which would take some for formulas.
func Cells(texts []string) []string { return message.Cells(texts) }

// Ranges formats ascending numbers as 0-5 7 9-12.
func Ranges(list []int) string {
	if len(list) == 0 {
		return "none"
	}
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		part := strconv.Itoa(list[i])
		if j > i {
			part += "-" + strconv.Itoa(list[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, " ")
}
