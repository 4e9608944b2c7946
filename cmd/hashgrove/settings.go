package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"hashgrove"
)

// settings is the flag --set, which tunes a training.
type settings struct {
	options *hashgrove.Options
	without []string // names that have a flag of their own
	given   []string
}

// bindSettings adds the flag --set.
func bindSettings(f *pflag.FlagSet, o *hashgrove.Options, without ...string) {
	f.Var(&settings{options: o, without: without}, "set",
		"tune the training by a setting, `NAME=VALUE`, such as column_share=0.3; may be repeated; \"hashgrove help train\" "+
			"lists the names")
}

// Set implements pflag.Value.
func (s *settings) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	switch {
	case !ok:
		return fmt.Errorf("%q is not NAME=VALUE", text)
	case slices.Contains(s.without, name):
		return fmt.Errorf("use --%s", name)
	}
	s.given = append(s.given, text)
	return s.options.Set(name, value)
}

// String implements pflag.Value.
func (s *settings) String() string { return strings.Join(s.given, " ") }

// Type implements pflag.Value.
func (s *settings) Type() string { return "stringArray" }

// GetSlice, Append and Replace implement pflag.SliceValue, so that a command line can be shown as it was typed.
func (s *settings) GetSlice() []string          { return s.given }
func (s *settings) Append(text string) error    { return s.Set(text) }
func (s *settings) Replace(list []string) error { s.given = list; return nil }
