package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// groupAnnotation is the key under which a flag keeps the title of its group in the help.
const groupAnnotation = "hashgrove_group"

// groupFlags puts the flags that were defined since the last call into a group of the help. The help shows groups and
// flags in the order of their definition.
func groupFlags(f *pflag.FlagSet, title string) {
	f.SortFlags = false
	f.VisitAll(func(flag *pflag.Flag) {
		if groupOf(flag) == "" {
			_ = f.SetAnnotation(flag.Name, groupAnnotation, []string{title}) // the flag exists
		}
	})
}

// groupOf is the title of a flag's group; "" for flags of all verbs.
func groupOf(f *pflag.Flag) string { return strings.Join(f.Annotations[groupAnnotation], "") }

// addAlias gives a flag an older name, which works as before and is not in the help.
func addAlias(f *pflag.FlagSet, name, old string) {
	flag := *f.Lookup(name)
	flag.Name, flag.Shorthand, flag.Hidden = old, "", true
	f.AddFlag(&flag)
}

// setFromEnvironment sets every flag that the command line does not name from HASHGROVE_NAME, if that is set.
func setFromEnvironment(flags *pflag.FlagSet) error {
	given := map[pflag.Value]bool{} // by value: an alias shares that of its flag
	flags.Visit(func(f *pflag.Flag) { given[f.Value] = true })
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "HASHGROVE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, ok := os.LookupEnv(name)
		if !ok || given[f.Value] || failed != nil || f.Name == "help" || f.Name == "version" {
			return
		}
		given[f.Value] = true
		if err := flags.Set(f.Name, value); err != nil {
			failed = usagef("%s=%s in the environment: %s", name, value, flagMessage(err, flags))
		}
	})
	return failed
}

// countTrue is the number of conditions that hold.
func countTrue(conditions ...bool) int {
	n := 0
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

// suggestion asks whether another word was meant, or is "" when no name is like the word.
func suggestion(word, prefix string, names []string) string {
	best, least := "", 1+min(2, len(word)/2)
	for _, name := range names {
		d := editDistance(word, name)
		if len(word) > 1 && strings.HasPrefix(name, word) {
			d = min(d, 1)
		}
		if d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s%s?", prefix, best)
}

// editDistance is the number of letters to insert, delete, change or swap with the next one that make b of a.
func editDistance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j-1], d[i-1][j], d[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
