// Hashgrove-beam encodes vectors, extracts features, pushes codes and judges them in pipelines of Apache Beam.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec/optimized"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/flink"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/spark"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"

	"hashgrove/x/beam"
)

const usage = `Usage: hashgrove-beam encode   DATA... --model FILE --output codes-{shard}.parquet
       hashgrove-beam push     DATA... --model FILE --engine URL [--table NAME]
       hashgrove-beam features PICTURES... --use EXTRACTOR --output vectors-{shard}.npy
       hashgrove-beam eval     --model FILE --base DATA --queries DATA --output report.json

Flags come before or after the data. DATA are files of vectors, patterns in quotes, or folders of pictures; their rows
are divided into runs, and {shard} in the name of an output becomes the number of the run, 00003-of-00008. The base of
eval may also be the Parquet files that encode wrote. Paths must mean the same on all workers: a shared folder, or
gs://bucket/name.

The pipeline runs in this process (--runner prism). --runner flink, spark, universal or dataflow sends it elsewhere,
with --endpoint host:port of the job service, --environment_type and --environment_config for the workers, and for
Dataflow --project, --region and --staging_location.

Passwords of engines are never part of a pipeline: workers read PGPASSWORD or ~/.pgpass, or the variable of their
environment that --password-variable names.

`

// settings are the flags.
type settings struct {
	verb            string
	in              beam.Input
	model, output   string
	extractor       string
	labels, ids     list
	target          beam.Target
	base, queries   list
	queryLabels     list
	eval            beam.EvalOptions
	verbose         bool
	options         *flag.FlagSet
	runner          string
	precisionAtText string
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

// Set adds to the list.
func (l *list) Set(text string) error {
	*l = append(*l, text)
	return nil
}

func main() {
	// Workers of a cluster start this program with flags of Beam alone: then Init does their work and never returns.
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "-") && os.Args[1] != "--help" && os.Args[1] != "-h" {
		flag.Parse()
	}
	sdk.Init()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	os.Exit(run(ctx, os.Stdout, os.Stderr, os.Args[1:]))
}

// run is the command: 0 when the pipeline is done, 1 when it failed, 2 for a command line that is wrong.
func run(ctx context.Context, out, errOut io.Writer, args []string) int {
	s, err := parse(errOut, args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(errOut, "hashgrove-beam: %v\nSee hashgrove-beam --help.\n", err)
		return 2
	}
	level := slog.LevelError + 1 // the error that ends the pipeline is told below, once
	if s.verbose {
		level = slog.LevelInfo
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: level})))
	if err := s.pipeline(ctx, out); err != nil {
		if ctx.Err() != nil {
			err = errors.New("stopped; what is complete stays, and the same command does the rest")
		}
		fmt.Fprintln(errOut, "hashgrove-beam:", plain(err))
		return 1
	}
	return 0
}

// plain is what a transform said, without the plan of the bundle that Beam puts around it.
func plain(err error) string {
	text := err.Error()
	if at := strings.LastIndex(text, " failed:\n"); at >= 0 {
		text = text[at+len(" failed:\n"):]
	}
	if at := strings.LastIndex(text, "caused by:\n"); at >= 0 {
		text = text[at+len("caused by:\n"):]
	}
	return strings.TrimSpace(text)
}

func parse(errOut io.Writer, args []string) (*settings, error) {
	s := &settings{}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		s.verb, args = args[0], args[1:]
	}
	f := s.flags()
	var data []string
	for { // flags and data in any order
		err := f.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(errOut, usage)
			f.SetOutput(errOut)
			s.printFlags(f)
			return s, err
		}
		if err != nil {
			return s, err
		}
		if args = f.Args(); len(args) == 0 {
			break
		}
		data, args = append(data, args[0]), args[1:]
	}
	s.in.Paths = data
	return s, s.check()
}

// flags are ours and those of Beam.
func (s *settings) flags() *flag.FlagSet {
	f := flag.NewFlagSet("hashgrove-beam", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&s.model, "model", "", "the model `file`")
	f.StringVar(&s.output, "output", "", "the `file` to write: .parquet or .hgc, features: .npy, both with {shard}")
	f.IntVar(&s.in.Shards, "shards", 0, "`number` of runs of rows; 0 makes runs of 100,000 rows")
	f.StringVar(&s.in.Format, "format", "", "the `format` of the data; by content and name")
	f.StringVar(&s.in.Vector, "vector", "", "`column` or key with the vectors")
	f.StringVar(&s.in.Label, "label", "", "`column` or key with the labels")
	f.StringVar(&s.in.Tags, "tags", "", "`column` or key with the tags")
	f.StringVar(&s.in.ID, "id-column", "", "`column` or key with the ids")
	f.Var(&s.labels, "labels", "`file` with the labels, one for each file of the data or the base")
	f.Var(&s.ids, "ids", "`file` with the ids, one for each file of the data")
	f.Var(&s.queryLabels, "queries-labels", "eval: `file` with the labels, one for each file of queries")
	f.BoolVar(&s.in.SkipBad, "skip-bad", false, "leave out rows that cannot be used")
	f.IntVar(&s.in.Threads, "threads", 0, "threads that encode a run; 0 means all cores")
	f.IntVar(&s.in.Size, "size", 0, "features: side in `pixels` of the pictures")
	f.StringVar(&s.in.Fit, "fit", "", "features: how pictures become squares, crop or squash")
	f.BoolVar(&s.in.Grey, "grey", false, "features: make pictures grey")
	f.StringVar(&s.extractor, "use", "", "features: the extractor, a `file` of hashgrove features --save")
	f.StringVar(&s.target.URL, "engine", "", "push: `URL` of the engine, such as postgres://user@host/database")
	f.StringVar(&s.target.Table, "table", "", "push: the table; items")
	f.StringVar(&s.target.Password, "password-variable", "", "push: `name` of the variable that holds the password")
	f.BoolVar(&s.target.Vector, "pgvector", false, "push: use the extension pgvector of PostgreSQL")
	f.IntVar(&s.target.Batch, "batch", 0, "push: items of a batch; 0 means 2000")
	f.IntVar(&s.target.InFlight, "in-flight", 0, "push: batches under way in a worker; 0 means 2")
	f.Var(&s.base, "base", "eval: `data` to search in, vectors or Parquet files of codes; may be repeated")
	f.Var(&s.queries, "queries", "eval: `data` to search with; may be repeated")
	f.StringVar(&s.precisionAtText, "precision-at", "", "eval: ranks `K` of precision@K, such as 1,10,100,1000")
	f.IntVar(&s.eval.Cut, "cut", 0, "eval: length of the lists in the paper's convention; 0 means 10000")
	f.IntVar(&s.eval.MinShared, "min-shared", 0, "eval: tags in common from which answers are right; 0 means 2")
	f.BoolVar(&s.eval.NoCensus, "no-census", false, "eval: leave out the number of distinct codes")
	f.BoolVar(&s.verbose, "verbose", false, "print what Beam logs")
	s.options = f
	flag.CommandLine.VisitAll(func(g *flag.Flag) {
		if f.Lookup(g.Name) == nil && !strings.HasPrefix(g.Name, "test.") {
			f.Var(g.Value, g.Name, g.Usage)
		}
	})
	return f
}

// printFlags prints our flags; those of Beam are documented there.
func (s *settings) printFlags(f *flag.FlagSet) {
	own := flag.NewFlagSet("", flag.ContinueOnError)
	own.SetOutput(f.Output())
	f.VisitAll(func(g *flag.Flag) {
		if flag.CommandLine.Lookup(g.Name) == nil || g.Name == "runner" || g.Name == "endpoint" {
			own.Var(g.Value, g.Name, g.Usage)
		}
	})
	own.PrintDefaults()
}

// check finds what is missing before anything is read.
func (s *settings) check() error {
	s.runner = *runners.Runner
	if s.runner == "" {
		s.runner = "prism"
	}
	s.in.LabelsFile, s.in.IDsFile = s.labels, s.ids
	need := map[string][]string{
		"encode": {"model", "output"}, "push": {"model", "engine"}, "features": {"use", "output"},
		"eval": {"model", "base", "queries", "output"},
	}
	flags, known := need[s.verb]
	switch {
	case s.verb == "":
		return errors.New("say what to do: encode, push, features or eval")
	case !known:
		return fmt.Errorf("%q is not known: choose encode, push, features or eval", s.verb)
	case s.verb == "eval" && len(s.in.Paths) > 0:
		return fmt.Errorf("%q is one argument too many: eval takes --base and --queries", s.in.Paths[0])
	case s.verb != "eval" && len(s.in.Paths) == 0:
		return fmt.Errorf("%s needs data", s.verb)
	}
	for _, name := range flags {
		if s.options.Lookup(name).Value.String() == "" {
			return fmt.Errorf("%s needs --%s", s.verb, name)
		}
	}
	if s.precisionAtText != "" {
		for text := range strings.SplitSeq(s.precisionAtText, ",") {
			var k int
			if _, err := fmt.Sscan(text, &k); err != nil || k < 1 {
				return fmt.Errorf("--precision-at %s: give ranks such as 1,10,100", s.precisionAtText)
			}
			s.eval.K = append(s.eval.K, k)
		}
	}
	return nil
}
