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
			failed = Usage(FlagCode(err), "%s=%s in the environment: %s", name, value, FlagMessage(err, flags))
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

// suggestion asks whether a similar name was meant; it returns "" if there is none.
func suggestion(word, prefix string, names []string) string {
	best, least := "", 1+min(2, len(word)/2)
	for _, name := range names {
		d := message.EditDistance(word, name)
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

// FlagCode returns the code of an error about a flag.
func FlagCode(err error) message.Code {
	if _, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return "no-such-flag"
	}
	if _, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return "flag-needs-value"
	}
	if _, ok := errors.AsType[*pflag.InvalidSyntaxError](err); ok {
		return "bad-flag-name"
	}
	if errors.Is(err, strconv.ErrRange) {
		return "out-of-range"
	}
	return "bad-flag-value"
}

// FlagMessage rewords an error about a flag for the user.
func FlagMessage(err error, flags *pflag.FlagSet) string {
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if letters := e.GetSpecifiedShortnames(); letters != "" {
			return fmt.Sprintf("there is no flag -%s", e.GetSpecifiedName())
		}
		var names []string
		flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		name := e.GetSpecifiedName()
		return fmt.Sprintf("there is no flag --%s%s", name, suggestion(name, "--", names))
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Sprintf("--%s needs a value", e.GetFlag().Name)
	}
	if e, ok := errors.AsType[*pflag.InvalidSyntaxError](err); ok {
		return fmt.Sprintf("%q is not the name of a flag", e.GetSpecifiedFlag())
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Sprintf("--%s: %s", e.GetFlag().Name, valueMessage(e))
	}
	return err.Error()
}

// valueMessage says what is wrong with the value of a flag.
func valueMessage(e *pflag.InvalidValueError) string {
	switch kind := e.GetFlag().Value.Type(); {
	case kind == "duration":
		return fmt.Sprintf("%q is not a duration such as 90s, 10m or 2h", e.GetValue())
	case kind == "stringSlice":
		return fmt.Sprintf("%q is not a list of texts separated by commas", e.GetValue())
	}
	return message.Error(e.Unwrap()).Error()
}
