//go:build unix

// Nightly runs what takes too long for make check: guided fuzzing of every parser, a thousand kills, faults, the race
// detector, a ceiling on memory and a soak of the service. It goes on after a stage that fails, says at the end which
// did, and adds up what the tests counted.
//
//	go run ./x/nightly              all stages, about an hour on two cores (make nightly)
//	go run ./x/nightly -weekly      with those that take hours (make weekly)
//	go run ./x/nightly -list        the stages and their shares of the hour
//	go run ./x/nightly -only fuzz,soak -scale 0.05
//	go run ./x/nightly -again       the stages that failed, once that is fixed
//	go run ./x/nightly record       take the counts of the last night over into docs/promises
//	go run ./x/nightly fuzz         every fuzz target for a second (make fuzz)
//	go run ./x/nightly corpus       keep those inputs that fuzzing found and that reach more code
//
// It is run from the root of the repository.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "nightly:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	verb := "night"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	flags := flag.NewFlagSet(verb, flag.ExitOnError)
	switch verb {
	case "night":
		var n night
		list := flags.Bool("list", false, "print the stages and run none")
		only := flags.String("only", "", "run these stages, with commas between them")
		flags.BoolVar(&n.again, "again", false, "run those stages again that failed in the last night, and keep the others")
		flags.BoolVar(&n.weekly, "weekly", false, "run the stages that take hours as well")
		flags.Float64Var(&n.scale, "scale", 1, "share of the time for fuzzing, kills and the soak")
		flags.StringVar(&n.folder, "folder", "bin/nightly", "folder for logs and counts")
		_ = flags.Parse(args)
		if *list {
			printStages(os.Stdout)
			return nil
		}
		if *only != "" {
			n.only = strings.Split(*only, ",")
		}
		return n.run(ctx)
	case "record":
		folder := flags.String("folder", "bin/nightly", "folder of the last night")
		page := flags.String("page", "docs/promises/nightly.md", "page that gets its counts")
		promises := flags.String("promises", "docs/promises.md", "page of the promises that they are counted for")
		_ = flags.Parse(args)
		return record(*folder, *page, *promises)
	case "fuzz":
		f := fuzzing{out: os.Stdout}
		flags.DurationVar(&f.each, "time", time.Second, "time for each target")
		share := flags.Duration("share", 0, "time for all targets together, instead of -time")
		flags.IntVar(&f.floor, "floor", 100, "inputs that each target must try")
		flags.DurationVar(&f.limit, "limit", 2*time.Minute, "how long a target may go on until it reaches the floor")
		flags.BoolVar(&f.guided, "guided", false, "compile the targets so that fuzzing sees what inputs reach")
		flags.StringVar(&f.only, "only", "", "fuzz only targets with this in PACKAGE TARGET")
		_ = flags.Parse(args)
		return f.run(ctx, *share)
	case "corpus":
		var c corpus
		flags.IntVar(&c.most, "most", 30, "most inputs to keep for a target")
		flags.IntVar(&c.look, "look", 1000, "most inputs to look at for a target")
		flags.IntVar(&c.bytes, "bytes", 4096, "largest input to keep")
		flags.StringVar(&c.only, "only", "", "look only at targets with this in PACKAGE TARGET")
		_ = flags.Parse(args)
		return c.run(ctx)
	}
	return fmt.Errorf("%q is none of night, record, fuzz and corpus", verb)
}
