package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"hashgrove/dataset"
	"hashgrove/internal/plain"
	"hashgrove/supervision"
)

// settingFlags are the flags for the settings of package dataset.
var settingFlags = map[string]string{
	"Columns":    "--attribute-columns",
	"Format":     "--format",
	"ID":         "--id-column",
	"IDsFile":    "--ids",
	"Label":      "--label",
	"LabelsFile": "--labels",
	"SkipBad":    "--skip-bad",
	"Tags":       "--tags",
	"TagsFile":   "--tags",
	"Vector":     "--vector",
}

// message is an error as the user reads it: the library's sentence in plain words, and the flags that help.
func message(err error) string {
	text := plain.Error(err).Error()
	if e, ok := errors.AsType[*dataset.SpecError](err); ok && settingFlags[e.Field] != "" {
		text += " (" + settingFlags[e.Field] + ")"
	}
	if errors.Is(err, supervision.ErrNone) {
		text += "; name them with --label, --labels, --tags or --pairs"
	}
	return text
}

// flagMessage is an error about a flag as the user reads it.
func flagMessage(err error, flags *pflag.FlagSet) string {
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
	return plain.Error(e.Unwrap()).Error()
}
