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

	"hashgrove"
)

func main() {
	os.Exit(run(untilSignal(context.Background()), os.Stdin, os.Stdout, os.Stderr, os.Args[1:]))
}

// signalError is why a context ended that a signal ended.
type signalError struct{ syscall.Signal }

func (e signalError) Error() string { return e.Signal.String() }
func (e signalError) Unwrap() error { return context.Canceled }

// untilSignal returns a context that the first interrupt or SIGTERM ends. A second one kills the process.
func untilSignal(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		s := <-signals
		signal.Stop(signals)
		cancel(signalError{s.(syscall.Signal)})
	}()
	return ctx
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

// Exit statuses; after a signal it is that of a shell, 128 and the number of the signal.
const (
	exitFailed = 1
	exitUsage  = 2
	exitSignal = 128
)

// run executes one command line and returns the exit status.
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
	if !errors.Is(err, context.Canceled) {
		fmt.Fprintf(errOut, "hashgrove: %s\n", message(err))
		if _, ok := errors.AsType[usageError](err); ok {
			return exitUsage
		}
		return exitFailed
	}
	fmt.Fprintln(errOut, "hashgrove: interrupted")
	if e, ok := errors.AsType[adviceError](err); ok {
		fmt.Fprintf(errOut, "hashgrove: %s\n", e.advice)
	}
	if e, ok := errors.AsType[signalError](context.Cause(ctx)); ok {
		return exitSignal + int(e.Signal)
	}
	return exitFailed
}

// adviceError carries a sentence that says how to continue.
type adviceError struct {
	error
	advice string
}

func (e adviceError) Unwrap() error { return e.error }

// Groups of verbs in the help.
const (
	groupStart  = "start"
	groupLearn  = "learn"
	groupSearch = "search"
	groupFiles  = "files"
)

func (a *app) root() *cobra.Command {
	cobra.EnableCommandSorting = false // the most used verbs come first
	root := &cobra.Command{
		Use:   "hashgrove VERB",
		Short: "Learn short binary codes from labelled vectors with boosted trees (FastHash)",
		Long: `Hashgrove learns short binary codes from labelled vectors with boosted decision trees
(FastHash, Lin et al., CVPR 2014), encodes new vectors, searches, and measures how good the codes are.

Results go to standard output, progress and messages to standard error. Every flag can also be
set in the environment, for instance HASHGROVE_THREADS=1.
Exit status: 0 success, 1 failure, 2 wrong usage, 130 after an interrupt (Ctrl-C), 143 after SIGTERM.`,
		Version:       hashgrove.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownVerb(cmd, args[0])
			}
			return nil
		},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return setFromEnvironment(cmd.Flags()) },
	}
	root.SetVersionTemplate("hashgrove {{.Version}}\n")
	root.Flags().Bool("version", false, "print the version")
	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.IntVar(&a.threads, "threads", 0, "`NUMBER` of worker threads, 0 for all cores; it never changes a result")
	flags.Uint64Var(&a.seed, "seed", 1, "`SEED` of everything random")
	flags.BoolVar(&a.json, "json", false, "print the result as JSON")
	flags.BoolVar(&a.quiet, "quiet", false, "print no progress and no notes")
	flags.BoolP("help", "h", false, "print this help")
	root.SetUsageFunc(printUsage)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		text := flagMessage(err, cmd.Flags())
		if !strings.HasSuffix(text, "?") {
			text += fmt.Sprintf("; see %q", strings.TrimSpace("hashgrove help "+verb(cmd)))
		}
		return usageError{errors.New(text)}
	})
	root.AddGroup(
		&cobra.Group{ID: groupStart, Title: "Start here"},
		&cobra.Group{ID: groupLearn, Title: "Learn and measure"},
		&cobra.Group{ID: groupSearch, Title: "Search"},
		&cobra.Group{ID: groupFiles, Title: "Files and help"},
	)
	addVerbs(root, groupStart, a.demo(), a.inspect())
	addVerbs(root, groupLearn, a.train(), a.encode(), a.eval(), a.compare(), a.features(), a.experiment())
	addVerbs(root, groupSearch, a.index(), a.search())
	addVerbs(root, groupFiles, a.info(), a.verify(), a.version())
	root.SetHelpCommand(helpVerb())
	root.SetCompletionCommandGroupID(groupFiles)
	for _, old := range []*cobra.Command{a.backup(), a.restore(), a.migrate()} { // verbs of index, by their older names
		old.Hidden = true
		root.AddCommand(old)
	}
	return root
}

// addVerbs adds verbs in a group of the help.
func addVerbs(root *cobra.Command, group string, verbs ...*cobra.Command) {
	for _, v := range verbs {
		v.GroupID = group
		root.AddCommand(v)
	}
}

// verb is what the user calls a command: its words after "hashgrove".
func verb(cmd *cobra.Command) string {
	return strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), "hashgrove"))
}

// atLeast is the check of a verb that takes n arguments or more.
func atLeast(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef("%s needs %s; see \"hashgrove help %s\"", verb(cmd), what, verb(cmd))
		}
		return nil
	}
}

// exactlyOne is the check of a verb that takes one argument.
func exactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%s needs %s and nothing else; see \"hashgrove help %s\"", verb(cmd), what, verb(cmd))
		}
		return nil
	}
}

// noArguments is the check of a verb that takes no arguments.
func noArguments(cmd *cobra.Command, args []string) error {
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

// printResult prints a result as JSON with --json, else as text does.
func (a *app) printResult(v any, text func()) error {
	if a.json {
		return a.printJSON(v)
	}
	text()
	return nil
}

// printLine prints a result as JSON with --json, else as a line.
func (a *app) printLine(v any, format string, args ...any) error {
	return a.printResult(v, func() { fmt.Fprintf(a.out, format+"\n", args...) })
}

// table starts a table on standard output.
func (a *app) table() table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(a.out)
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	return t
}
