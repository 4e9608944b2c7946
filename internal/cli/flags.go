package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"hashgrove/internal/message"
)

// groupAnnotation is the annotation that holds the title of a flag's help group.
const groupAnnotation = "hashgrove_group"

// Group puts the flags defined since the last call into a help group. The help shows groups and flags in the order
// of their definition.
func Group(f *pflag.FlagSet, title string) {
	f.SortFlags = false
	f.VisitAll(func(flag *pflag.Flag) {
		if GroupOf(flag) == "" {
			_ = f.SetAnnotation(flag.Name, groupAnnotation, []string{title}) // the flag exists
		}
	})
}

// GroupOf returns the title of a flag's group, or "" for global flags.
func GroupOf(f *pflag.Flag) string { return strings.Join(f.Annotations[groupAnnotation], "") }

// SetFromEnvironment sets every flag missing from the command line from HASHGROVE_NAME, if that is set.
func SetFromEnvironment(flags *pflag.FlagSet) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "HASHGROVE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, ok := os.LookupEnv(name)
		if !ok || f.Changed || failed != nil || f.Name == "help" || f.Name == "version" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			failed = fmt.Errorf("%s=%s in the environment: %w", name, value, FlagError(err, flags))
		}
	})
	return failed
}

// CountTrue returns the number of true conditions.
func CountTrue(conditions ...bool) int {
	n := 0
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

// FlagError rewords an error about a flag for the user.
func FlagError(err error, flags *pflag.FlagSet) error {
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return Usage("no-such-flag", "there is no flag --%s%s", e.GetSpecifiedName(), similarFlag(e.GetSpecifiedName(),
			flags))
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		code := "bad-flag-value"
		if errors.Is(err, strconv.ErrRange) {
			code = "out-of-range"
		}
		return Usage(code, "--%s: %w", e.GetFlag().Name, message.Error(e.Unwrap()))
	}
	return Usage("bad-flag", "%w", err)
}

// similarFlag asks whether a flag of a similar name was meant; it returns "" if there is none.
func similarFlag(word string, flags *pflag.FlagSet) string {
	best, least := "", 1+min(2, len(word)/2)
	flags.VisitAll(func(f *pflag.Flag) {
		d := message.EditDistance(word, f.Name)
		if len(word) > 1 && strings.HasPrefix(f.Name, word) {
			d = min(d, 1)
		}
		if d < least && !f.Hidden {
			best, least = f.Name, d
		}
	})
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean --%s?", best)
}
