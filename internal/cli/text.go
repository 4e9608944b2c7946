package cli

import (
	"strconv"
	"strings"
	"unicode"

	"hashgrove/internal/message"
)

// Size formats a number of bytes.
func Size[N int | int64](bytes N) string { return message.Size(int64(bytes)) }

// Printable escapes control characters in a stored text.
func Printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

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
