// Command paper reproduces the tables and figures of the FastHash paper. Each experiment is a small file that lists
// what to run and what the paper reports; its result is on a page of paper/results, with date, machine and command.
//
// Every stage (features, model, row of the table) is cached under the digest of its inputs, so an interrupted
// experiment resumes where it stopped, and a changed one repeats only the affected stages.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	_ "hashgrove/format/pictures"
	"hashgrove/internal/cli"
	"hashgrove/internal/fileio"
	"hashgrove/internal/message"
	"hashgrove/internal/method"
)

func main() {
	os.Exit(cli.UntilSignal(os.Stderr, "paper", func(ctx context.Context) int {
		err := run(ctx, os.Args[1:])
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
and a failing row does not affect the others. --rows and --methods run only some rows of a table. --short runs a small
version on built-in pictures. Figures are written as SVG files beside the --output file.`

// run runs the experiment that the command line names and prints its table.
func run(ctx context.Context, args []string) error {
	runner := &Runner{}
	f := pflag.NewFlagSet("paper", pflag.ContinueOnError)
	f.SortFlags = false
	f.Usage = func() { fmt.Printf("%s\n\nUsage: go run ./paper [NAME] [FLAGS]\n\n%s", about, f.FlagUsages()) }
	output := f.StringP("output", "o", "", "Markdown `FILE` for the table, in addition to standard output")
	var file cli.Output
	file.Bind(f)
	f.StringVar(&runner.Data, "data", cacheFolder(), "`FOLDER` with the data sets")
	f.StringVar(&runner.Cache, "cache", cacheFolder("experiments"), "`FOLDER` for finished stages")
	f.StringSliceVar(&runner.Methods, "methods", nil, "run only the rows of these `METHODS`")
	f.IntSliceVar(&runner.Rows, "rows", nil, "run only these `ROWS` of the table, counted from 1")
	f.BoolVar(&runner.Short, "short", false, "run a small version in seconds")
	f.IntVar(&runner.Threads, "threads", 0, "`NUMBER` of worker threads, 0 for all cores")
	f.Uint64Var(&runner.Seed, "seed", 1, "`SEED` of everything random")
	asJSON := f.Bool("json", false, "print the table as JSON")
	quiet := f.Bool("quiet", false, "print no progress")
	if err := f.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return cli.UsageError(err)
	}
	runner.Say = func(format string, args ...any) {
		if !*quiet {
			fmt.Fprintln(os.Stderr, cli.Message(fmt.Sprintf(format, args...)))
		}
	}
	if f.NArg() == 0 {
		for _, e := range all {
			fmt.Printf("%-24s %s\n", e.Name, e.About)
		}
		return nil
	}
	name := f.Arg(0)
	e, err := find(name)
	if err != nil {
		return cli.UsageError(err)
	}
	for _, m := range runner.Methods {
		if _, ok := method.Describe(m); !ok {
			return cli.Usagef("there is no method %q; the methods are %s", m, strings.Join(method.Names(), ", "))
		}
	}
	if err := file.Check([]string{*output}, nil); err != nil {
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
	if *output != "" {
		if err := fileio.WriteFile(*output, markdown); err != nil {
			return err
		}
		if err := table.WriteFigures(filepath.Dir(*output)); err != nil {
			return err
		}
	}
	if *asJSON {
		err = json.NewEncoder(os.Stdout).Encode(table)
	} else {
		err = markdown(os.Stdout)
	}
	if err == nil && len(table.Failures) > 0 {
		err = fmt.Errorf("%d rows of %s failed; the table says why, and the next run will retry them",
			len(table.Failures), name)
	}
	return err
}

// cacheFolder returns a folder of Hashgrove in the user's cache.
func cacheFolder(names ...string) string {
	home, err := os.UserCacheDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(append([]string{home, "hashgrove"}, names...)...)
}
