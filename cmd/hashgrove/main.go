// Command hashgrove learns binary codes from labelled vectors or pictures, encodes new ones, searches, and measures how
// good the codes are. "hashgrove help VERB" explains each verb with examples.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/internal/cli"
)

func main() {
	// Garbage is first collected at 48 megabytes, when a short command is over. Nobody touches these, so they take none.
	room := make([]byte, 24<<20)
	status := cli.UntilSignal(os.Stderr, "hashgrove", func(ctx context.Context) int {
		return run(ctx, os.Stdin, os.Stdout, os.Stderr, os.Args[1:])
	})
	runtime.KeepAlive(room)
	os.Exit(status)
}

// app holds what all verbs share.
type app struct {
	in  io.Reader
	out io.Writer // for results as text or JSON
	raw io.Writer // for binary results, unfiltered; the same file
	err io.Writer

	line    string // the command line, as typed
	threads int
	seed    uint64
	json    bool
	quiet   bool
	wait    time.Duration // for other users of an index; 0 means the library's default

	read *hashgrove.DataRead // what the last reading of data met
}

// run executes one command line, prints any error and returns the exit status.
func run(ctx context.Context, in io.Reader, out, errOut io.Writer, args []string) int {
	return cli.Report(ctx, errOut, "hashgrove", execute(ctx, in, out, errOut, args), explain)
}

func execute(ctx context.Context, in io.Reader, out, errOut io.Writer, args []string) error {
	results := &cli.Results{W: out}
	a := &app{in: in, out: &cli.Text{W: results}, raw: results, err: errOut, line: strings.Join(args, " ")}
	root := a.root()
	root.SetArgs(append([]string{}, args...)) // cobra takes nil for os.Args
	root.SetIn(in)
	root.SetOut(a.out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if slices.ContainsFunc(usageCodes, func(code string) bool { return hashgrove.HasCode(err, code) }) {
		err = cli.UsageError(err)
	}
	if err == nil && results.Err != nil {
		err = fmt.Errorf("the result could not be written: %w", results.Err)
	}
	return err
}

// List the most used verbs first in the help. This is a global setting of cobra.
func init() { cobra.EnableCommandSorting = false }

// checkZeros rejects an explicit 0 that the library would take for the default.
func checkZeros(flags *pflag.FlagSet) error {
	for _, f := range [][2]string{
		{"bits", "1 or more"}, {"rounds", "1 or more"}, {"depth", "1 to 8"}, {"seed", "1 or more"},
	} {
		given := flags.Lookup(f[0])
		if given == nil || !given.Changed {
			continue
		}
		if v, err := strconv.ParseFloat(given.Value.String(), 64); err == nil && v == 0 {
			return cli.Usage("bad-flag-value", "--%s 0: give %s", f[0], f[1])
		}
	}
	return nil
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "hashgrove VERB",
		Short: "Learn short binary codes from labelled vectors with boosted trees (FastHash)",
		Long: `Hashgrove learns short binary codes from labelled vectors with boosted decision trees
(FastHash, Lin et al., CVPR 2014), encodes new vectors, searches, and measures how good the codes are.

Results go to standard output, progress and messages to standard error. Every flag can also be
set in the environment, for instance HASHGROVE_THREADS=1.
Exit status: 0 success, 1 failure, 2 wrong usage, 130 after an interrupt (Ctrl-C), 143 after SIGTERM,
129 after a hangup. A second signal stops the program at once.`,
		Version:       hashgrove.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cli.UnknownVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return cmp.Or(cli.SetFromEnvironment(cmd.Flags()), checkZeros(cmd.Flags()))
		},
	}
	root.SetVersionTemplate("hashgrove {{.Version}}\n")
	root.Flags().Bool("version", false, "print the version")
	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.IntVar(&a.threads, "threads", 0, "`NUMBER` of worker threads, 0 for all cores; it never changes a result")
	flags.Uint64Var(&a.seed, "seed", hashgrove.Defaults().Seed, "`SEED` of everything random")
	flags.BoolVar(&a.json, "json", false, "print the result as JSON")
	flags.BoolVar(&a.quiet, "quiet", false, "print no progress and no notes")
	flags.BoolP("help", "h", false, "print this help")
	root.SetUsageFunc(cli.PrintUsage)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		err = cli.FlagError(err, cmd.Flags())
		if strings.HasSuffix(err.Error(), "?") {
			return err
		}
		return fmt.Errorf("%w; see %q", err, strings.TrimSpace("hashgrove help "+cli.Verb(cmd)))
	})
	cli.AddVerbs(root, "Start here", a.demo(), a.inspect())
	cli.AddVerbs(root, "Learn and measure", a.train(), a.encode(), a.eval(), a.compare(), a.features())
	cli.AddVerbs(root, "Search", a.index(), a.search(), a.duplicates(), a.serve(), a.push(), a.pull())
	const files = "Files and help"
	cli.AddVerbs(root, files, a.info(), a.verify(), a.export(), a.version())
	root.SetHelpCommandGroupID(files)
	root.SetCompletionCommandGroupID(files)
	root.AddCommand(a.worker())
	return root
}

// note prints a message for a person, unless --quiet is set.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintln(a.err, cli.Message(fmt.Sprintf(format, args...)))
	}
}

// startProgress shows the progress of total steps; 0 means unknown.
func (a *app) startProgress(what string, total int) *cli.Progress {
	if a.quiet {
		return cli.Start(nil, what, total)
	}
	return cli.Start(a.err, what, total)
}

// warn prints warnings even with --quiet, because they change how a result is read.
func (a *app) warn(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintf(a.err, "hashgrove: warning: %s\n", cli.Message(w))
	}
}

// printJSON prints a result as one JSON object.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printResult prints v as JSON with --json, else calls text.
func (a *app) printResult(v any, text func()) error {
	if a.json {
		return a.printJSON(v)
	}
	text()
	return nil
}

// printLine prints v as JSON with --json, else a formatted line.
func (a *app) printLine(v any, format string, args ...any) error {
	return a.printResult(v, func() { fmt.Fprintf(a.out, format+"\n", args...) })
}

// printTable prints a table; the first row is its head.
func (a *app) printTable(rows [][]string) {
	t := table.NewWriter()
	t.SetOutputMirror(a.out)
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	for i, texts := range rows {
		row := make(table.Row, len(texts))
		for j, s := range texts {
			row[j] = cli.Printable(s)
		}
		if i == 0 {
			t.AppendHeader(row)
		} else {
			t.AppendRow(row)
		}
	}
	t.Render()
}

// cacheFolder returns a folder of this program in the user's cache.
func cacheFolder(names ...string) string {
	home, err := os.UserCacheDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(append([]string{home, "hashgrove"}, names...)...)
}

// makeCacheFolder creates a folder in the cache, or a temporary one if the cache is not writable.
func (a *app) makeCacheFolder(names ...string) (string, error) {
	folder := cacheFolder(names...)
	err := os.MkdirAll(folder, 0o777)
	if err == nil {
		return folder, nil
	}
	a.note("the cache folder cannot be written: %v", cli.Plain(err))
	return os.MkdirTemp("", "hashgrove-")
}

// steps shows the steps of long work. end is called when the work is over.
func (a *app) steps() (show func(hashgrove.Step), end func()) {
	p := a.startProgress("", 0)
	return func(s hashgrove.Step) {
		if s.Note != "" {
			p.End()
			a.note("%s", s.Note)
			return
		}
		if s.Read != nil {
			p.End()
			a.read = s.Read
			a.noteRead(s.Read)
			return
		}
		p.Task(s.What, s.Total, 0)
		p.Tick(s.Done)
	}, p.End
}

// loadModel reads a model and keeps its first bits; 0 means all.
func (a *app) loadModel(path string, bits int) (*hashgrove.Model, error) {
	m, err := hashgrove.LoadModel(path)
	if err != nil || bits == 0 {
		return m, err
	}
	if bits < 0 || bits > m.Bits() {
		return nil, cli.Usage("too-many-bits", "--prefix %d: the model has %d bits", bits, m.Bits())
	}
	return m.Shorter(bits)
}
