// Command paper reproduces the tables and figures of the FastHash paper. Each experiment is a small file that lists
// what to run and what the paper reports; its result is on a page of paper/results, with date, machine and command.
//
// Every stage (features, model, row of the table) is cached under the digest of its inputs, so an interrupted
// experiment resumes where it stopped, and a changed one repeats only the affected stages.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	_ "hashgrove/format/pictures"
	"hashgrove/internal/cli"
	"hashgrove/internal/fileio"
	"hashgrove/internal/message"
)

func main() {
	os.Exit(cli.UntilSignal(os.Stderr, "paper", func(ctx context.Context) int {
		err := command(os.Stdout, os.Stderr).ExecuteContext(ctx)
		return cli.Report(ctx, os.Stderr, "paper", err, func(err error) string { return message.Error(err).Error() })
	}))
}

// about is the help.
const about = `Reproduce a table or figure of the paper from the original files. Without a name, list the experiments.

--data names a folder with the data sets as they are published:
  cifar10    data_batch_1.bin to 5, test_batch.bin (the binary version of CIFAR-10, from its home page)
  iaprtc12   pictures in any folder below, with lists: ids.txt (names of the pictures), labels.txt (their numbers of
             tags, from 0), tags.txt (names of the tags) and split.txt (train or test), a line for each

Every stage is kept in --cache under the digest of its inputs, so an interrupted experiment resumes where it stopped,
and a failing row does not affect the others. --rows runs only some rows of the table. --short runs a small version on
built-in pictures. Figures are written as SVG files beside the --output file.`

// options are what the command line says beside the settings of the Runner.
type options struct {
	output string
	file   cli.Output
	quiet  bool
}

// command returns the command line.
func command(out, progress io.Writer) *cobra.Command {
	o := &options{}
	runner := &Runner{Say: func(format string, args ...any) {
		if !o.quiet {
			fmt.Fprintln(progress, cli.Message(fmt.Sprintf(format, args...)))
		}
	}}
	cmd := &cobra.Command{
		Use:           "paper [NAME]",
		Short:         "Reproduce a table or figure of the paper",
		Long:          about,
		Example:       `  go run ./paper cifar10-features --short --cache runner`,
		Args:          cobra.MaximumNArgs(1),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				for _, e := range all {
					fmt.Fprintf(out, "%-24s %s\n", e.Name, e.About)
				}
				return nil
			}
			return o.run(cmd.Context(), out, runner, args[0])
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.output, "output", "o", "", "Markdown `FILE` for the table, in addition to standard output")
	o.file.Bind(f)
	f.StringVar(&runner.Data, "data", cacheFolder(), "`FOLDER` with the data sets")
	f.StringVar(&runner.Cache, "cache", cacheFolder("experiments"), "`FOLDER` for finished stages")
	f.IntSliceVar(&runner.Rows, "rows", nil, "run only these `ROWS` of the table, counted from 1")
	f.BoolVar(&runner.Short, "short", false, "run a small version in seconds")
	f.IntVar(&runner.Threads, "threads", 0, "`NUMBER` of worker threads, 0 for all cores")
	f.Uint64Var(&runner.Seed, "seed", 1, "`SEED` of everything random")
	f.BoolVar(&o.quiet, "quiet", false, "print no progress")
	return cmd
}

// cacheFolder returns a folder of Hashgrove in the user's cache.
func cacheFolder(names ...string) string {
	home, err := os.UserCacheDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(append([]string{home, "hashgrove"}, names...)...)
}

// run runs an experiment and prints its table.
func (o *options) run(ctx context.Context, out io.Writer, runner *Runner, name string) error {
	e, err := find(name)
	if err != nil {
		return cli.UsageError(err)
	}
	if err := o.file.Check([]string{o.output}, nil); err != nil {
		return err
	}
	table, err := e.Run(ctx, runner)
	if err != nil {
		return err
	}
	command := "go run ./paper " + name
	if runner.Short {
		command += " --short"
	}
	markdown := func(w io.Writer) error { return table.Markdown(w, command, time.Now()) }
	if o.output != "" {
		if err := fileio.WriteFile(o.output, markdown); err != nil {
			return err
		}
		if err := table.WriteFigures(filepath.Dir(o.output)); err != nil {
			return err
		}
	}
	if err = markdown(out); err == nil && len(table.Failures) > 0 {
		err = fmt.Errorf("%d rows of %s failed; the table says why, and the next run will retry them",
			len(table.Failures), name)
	}
	return err
}
