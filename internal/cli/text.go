package cli

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

// CommandLine formats the command as one would type it.
func CommandLine(cmd *cobra.Command, args []string) string {
	words := append([]string{cmd.CommandPath()}, args...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		list, ok := f.Value.(pflag.SliceValue)
		switch {
		case ok && f.Value.Type() == "stringArray": // repeated for each value
			for _, value := range list.GetSlice() {
				words = append(words, "--"+f.Name, value)
			}
		case ok:
			words = append(words, "--"+f.Name, strings.Join(list.GetSlice(), ","))
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name+"="+f.Value.String())
		default:
			words = append(words, "--"+f.Name, f.Value.String())
		}
	})
	for i, w := range words[1:] {
		if w == "" || strings.ContainsAny(w, " \t\"'$\\*?;&|<>()") {
			words[i+1] = fmt.Sprintf("%q", w)
		}
	}
	return strings.Join(words, " ")
}
