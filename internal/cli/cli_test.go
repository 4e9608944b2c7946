package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestWords(t *testing.T) {
	for _, c := range [][2]string{
		{Ranges(nil), "none"}, {Ranges([]int{7}), "7"}, {Ranges([]int{0, 1}), "0-1"},
		{Ranges([]int{0, 1, 2, 3, 4, 5, 7, 9, 10, 11, 12}), "0-5 7 9-12"},
		{Size(0), "0 bytes"}, {Size(999), "999 bytes"}, {Size(1000), "1 kB"}, {Size(1_234_567), "1.23 MB"}, {Size(int64(5_000_000_000)), "5 GB"},
		{Printable("caf\u00e9 \"x\""), "caf\u00e9 \"x\""}, {Printable("a\x1b[2Jb"), `a\x1b[2Jb`}, {Printable("a\nb"), `a\nb`},
	} {
		if c[0] != c[1] {
			t.Errorf("it says %q, want %q", c[0], c[1])
		}
	}
}

// TestSimilarFlags: a short or strange word means nothing, a mistyped or shortened one the nearest name.
func TestSimilarFlags(t *testing.T) {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, name := range []string{"label", "labels", "bits", "backup", "k"} {
		f.Bool(name, false, "")
	}
	for word, want := range map[string]string{
		"lables": ": did you mean --labels?", "bit": ": did you mean --bits?", "back": ": did you mean --backup?",
		"x": "", "zzzzz": "", "": "",
	} {
		if got := similarFlag(word, f); got != want {
			t.Errorf("%q gives %q, want %q", word, got, want)
		}
	}
}

// TestEnvironment: a flag on the command line wins over the environment.
func TestEnvironment(t *testing.T) {
	check := func(want []string, args ...string) {
		t.Helper()
		var list []string
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.StringSliceVarP(&list, "name", "n", nil, "")
		if err := errors.Join(f.Parse(args), SetFromEnvironment(f)); err != nil || !slices.Equal(list, want) {
			t.Errorf("%v: %v, %v, want %v", args, list, err, want)
		}
	}
	check(nil)
	t.Setenv("HASHGROVE_NAME", "c,d")
	check([]string{"c", "d"})
	check([]string{"a"}, "-n", "a")
}

func TestReport(t *testing.T) {
	stopped := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		return ctx
	}
	for _, c := range []struct {
		ctx    context.Context
		err    error
		status int
		want   string
	}{
		{context.Background(), nil, 0, ""},
		{context.Background(), errors.New("no room"), 1, "x: no room\n"},
		{context.Background(), fmt.Errorf("flags: %w", Usagef("no %s", "file")), 2, "x: flags: no file\n"},
		{stopped(nil), context.Canceled, 1, "x: interrupted\n"},
		{stopped(signalError{syscall.SIGINT}), WithAdvice(context.Canceled, "try again"), 130, "x: interrupted\nx: try again\n"},
		{stopped(signalError{syscall.SIGTERM}), signalError{syscall.SIGTERM}, 143, "x: interrupted\n"},
	} {
		var w bytes.Buffer
		if got := Report(c.ctx, &w, "x", c.err, error.Error); got != c.status || w.String() != c.want {
			t.Errorf("%v: status %d, %q", c.err, got, w.String())
		}
	}
}

// TestUsage: groups and flags come in the order of their definition, those without a group at the end.
func TestUsage(t *testing.T) {
	cmd := &cobra.Command{Use: "hashgrove VERB"}
	verb := &cobra.Command{Use: "mix A B", Run: func(*cobra.Command, []string) {}}
	cmd.AddCommand(verb)
	cmd.PersistentFlags().Bool("json", false, "print JSON")
	f := verb.Flags()
	f.String("zeal", "", "`HOW` much")
	f.String("area", "", "`WHERE`")
	Group(f, "Often")
	f.Bool("odd", false, "rarely")
	Group(f, "Rarely")
	cmd.SetUsageFunc(PrintUsage)
	got, last := verb.UsageString(), -1
	for _, part := range []string{"Usage:\n  hashgrove mix A B", "\nOften:\n", "--zeal HOW", "--area WHERE", "\nRarely:\n", "--odd", "\nGlobal:\n", "--json"} {
		at := strings.Index(got, part)
		if at <= last {
			t.Errorf("%q is at %d, after %d:\n%s", part, at, last, got)
		}
		last = at
	}
}

func TestProgress(t *testing.T) {
	var w bytes.Buffer
	p := Start(&w, "bit", 4)
	p.Step(2, "half")
	p.Tick(3) // not within ten seconds
	p.End()
	if got := w.String(); !strings.HasPrefix(got, "bit 2/4  half  ") || strings.Count(got, "\n") != 1 {
		t.Errorf("it says %q", got)
	}
	quiet := Start(nil, "quiet", 0)
	quiet.Count(1, 2)
	quiet.Task("more", 4, 0)
	quiet.Step(1, "nothing")
	quiet.End()
}
