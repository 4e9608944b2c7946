// Command hashgrove learns binary codes from labelled vectors or pictures, encodes and searches with them, and judges
// them. "hashgrove help VERB" explains each verb with examples.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove/supervision"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Stdin, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(code)
}

// app is what all verbs share.
type app struct {
	in       io.Reader
	out, err io.Writer

	threads int
	seed    uint64
	json    bool
	quiet   bool
}

// usageError is a mistake in the command line, as against a failure of the work.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run executes one command line and returns the exit status: 0 done, 1 failed, 2 wrong usage.
func run(ctx context.Context, in io.Reader, out, errOut io.Writer, args []string) int {
	a := &app{in: in, out: out, err: errOut}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var usage usageError
	switch {
	case errors.As(err, &usage):
		fmt.Fprintf(errOut, "hashgrove: %s\n", message(err))
		return 2
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(errOut, "hashgrove: interrupted")
		var advice adviceError
		if errors.As(err, &advice) {
			fmt.Fprintf(errOut, "hashgrove: %s\n", advice.advice)
		}
	case errors.Is(err, supervision.ErrNone):
		fmt.Fprintf(errOut, "hashgrove: %v; name them with --label, --labels, --tags or --pairs\n", err)
	default:
		fmt.Fprintf(errOut, "hashgrove: %s\n", message(err))
	}
	return 1
}

// adviceError carries a sentence that tells how to go on.
type adviceError struct {
	error
	advice string
}

func (e adviceError) Unwrap() error { return e.error }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "hashgrove",
		Short: "Learn short binary codes from labelled vectors with boosted trees (FastHash)",
		Long: `Hashgrove learns short binary codes from labelled vectors with boosted decision trees
(FastHash, Lin et al., CVPR 2014), encodes new vectors, and judges the result honestly.

Results go to standard output, progress and messages to standard error. Every flag can also be
set in the environment, for instance HASHGROVE_THREADS=1.
Exit status: 0 done, 1 failed, 2 wrong usage.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no verb %q; \"hashgrove help\" lists the verbs", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return fromEnvironment(cmd.Flags())
		},
	}
	flags := root.PersistentFlags()
	flags.IntVar(&a.threads, "threads", 0, "worker threads; 0 means all cores; results never depend on it")
	flags.Uint64Var(&a.seed, "seed", 1, "seed of everything random")
	flags.BoolVar(&a.json, "json", false, "print the result as JSON")
	flags.BoolVar(&a.quiet, "quiet", false, "no progress and no notes")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%s; see \"hashgrove help %s\"", flagMessage(err), verb(cmd))
	})
	root.AddCommand(a.demo(), a.inspect(), a.features(), a.experiment(), a.train(), a.encode(), a.eval(), a.compare(), a.index(), a.search(), a.backup(), a.restore(), a.migrate(), a.info(), a.verify(), a.version())
	return root
}

// fromEnvironment sets every flag that the command line does not name from HASHGROVE_NAME, if that is set.
func fromEnvironment(flags *pflag.FlagSet) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "HASHGROVE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value, ok := os.LookupEnv(name); ok && !f.Changed && failed == nil {
			if err := flags.Set(f.Name, value); err != nil {
				failed = usagef("%s=%s in the environment: %s", name, value, flagMessage(err))
			}
		}
	})
	return failed
}

// verb is what the user calls a command: its words after "hashgrove".
func verb(cmd *cobra.Command) string { return strings.TrimPrefix(cmd.CommandPath(), "hashgrove ") }

// atLeast is the check of a verb that takes n arguments or more.
func atLeast(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef("%s needs %s; see \"hashgrove help %s\"", verb(cmd), what, verb(cmd))
		}
		return nil
	}
}

// none is the check of a verb that takes no arguments.
func none(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument, but has %q; see \"hashgrove help %s\"", verb(cmd), args[0], verb(cmd))
	}
	return nil
}

// note prints a message for a person, unless it should be quiet.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.err, format+"\n", args...)
	}
}

// warn prints doubts, quiet or not: they change how a result is read.
func (a *app) warn(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintf(a.err, "hashgrove: warning: %s\n", w)
	}
}

// printJSON prints a result as one JSON object.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// table starts a table on standard output.
func (a *app) table() table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(a.out)
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	return t
}
