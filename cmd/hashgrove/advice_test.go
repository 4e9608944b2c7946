package main

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/supervision"
)

// flagPattern matches any flag of the command.
func flagPattern() *regexp.Regexp {
	var names []string
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		add := func(f *pflag.Flag) { names = append(names, regexp.QuoteMeta(f.Name)) }
		cmd.Flags().VisitAll(add)
		cmd.PersistentFlags().VisitAll(add)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk((&app{}).root())
	slices.Sort(names)
	return regexp.MustCompile(`--(` + strings.Join(slices.Compact(names), "|") + `)($|[^-\w:])`) // a colon follows properties of CSS
}

// TestSettingFlags: every setting that an error may speak of is one, and its flag exists.
func TestSettingFlags(t *testing.T) {
	flag := flagPattern()
	spec, table := reflect.TypeFor[dataset.Spec](), reflect.TypeFor[dataset.AttributeSpec]()
	for field, name := range settingFlags {
		_, ok := spec.FieldByName(field)
		_, ofTable := table.FieldByName(strings.TrimPrefix(field, "Attributes"))
		if !ok && !ofTable {
			t.Errorf("Spec has no field %s", field)
		}
		if !flag.MatchString(name) {
			t.Errorf("there is no flag %s", name)
		}
	}
}

func TestMessages(t *testing.T) {
	for want, err := range map[string]error{
		"x: name one (--vector)":            fmt.Errorf("x: %w", &dataset.SpecError{Field: "Vector", Err: errors.New("name one")}),
		"row 1; skip bad rows (--skip-bad)": cli.UsageError(&dataset.SpecError{Field: "SkipBad", Err: errors.New("row 1; skip bad rows")}),
		"x: no such file":                   &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist},
		"data: " + supervision.ErrNone.Error() + "; name them with --label, --labels, --tags or --pairs": fmt.Errorf("data: %w", supervision.ErrNone),
	} {
		if got := explain(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestAdvice: errors end with the flag that helps, and none shows how the program is made.
func TestAdvice(t *testing.T) {
	shop(t)
	succeed(t, shellWords("train items.csv --label category --id-column sku --bits 4 --rounds 5 -o m.hgm")...)
	write(t, "two.jsonl", `{"id": 1, "a": [1], "b": [2]}`+"\n")
	write(t, "bad.csv", "a,b\n1,2\n1,x\n")
	write(t, "about.jsonl", `{"id": "items-0", "v": [1]}`+"\n")
	for _, r := range []refusal{
		{"inspect two.jsonl", 1, setting("Vector"), "two.jsonl a b (--vector)"},
		{"train bad.csv --label a --bits 4 -o x.hgm", 1, setting("SkipBad"), `"x" 3 (--skip-bad)`},
		{"train vectors.npy --bits 4 -o x.hgm", 1, supervision.ErrNone, "--label --labels --tags --pairs"},
		{"train vectors.npy --label kind --bits 4 -o x.hgm", 1, setting("LabelsFile"), `"kind" (--labels)`},
		{"index build -o x.hgi items.csv --model m.hgm --label category --id-column sku --attributes about.jsonl", 1, setting("Columns"),
			`about.jsonl 1 "v" (--attribute-columns)`},
		{"index build -o x.hgi items.csv --model m.hgm --id-column sku --attributes nowhere.csv", 1, fs.ErrNotExist, "nowhere.csv"},
		{"encode -m nowhere.hgm items.csv -o x.csv", 1, fs.ErrNotExist, "nowhere.hgm"},
		{"search nowhere.hgi items.csv", 1, fs.ErrNotExist, "nowhere.hgi"},
		{"train items.csv --bits x", 2, "bad-flag-value", `--bits "x" help train`},
		{"train items.csv --bits 99999999999999999999", 2, "out-of-range", `--bits "99999999999999999999"`},
		{"train items.csv --seed -1", 2, "bad-flag-value", `--seed "-1" 0`},
	} {
		o := r.try(t, "--quiet")
		if strings.Count(o.err, "\n") != 1 || strings.Contains(o.err, "open nowhere") {
			t.Errorf("%s: %s", r.line, o.err)
		}
	}
	t.Setenv("HASHGROVE_BITS", "many")
	refusal{"train items.csv", 2, "bad-flag-value", `HASHGROVE_BITS=many --bits "many"`}.try(t)
}
