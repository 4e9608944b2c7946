package main

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"hashgrove/internal/cli"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// effortFlag is --effort of train: a name, or a time that the effort is to fit.
type effortFlag struct {
	text  string
	limit time.Duration // 0 for a name
}

func (e *effortFlag) bind(f *pflag.FlagSet) {
	f.StringVar(&e.text, "effort", string(fasthash.Normal), "`EFFORT` to spend: quick; normal, with logistic "+
		"boosting, added columns where they help, and candidate bits; best, with more and deeper trees; paper, for the "+
		"settings of the paper; or a time such as 10m, for the most thorough of these that should fit")
}

// parse sets the effort of the options, or the time limit.
func (e *effortFlag) parse(o *fasthash.Options) error {
	if slices.Contains(fasthash.Efforts(), fasthash.Effort(e.text)) {
		o.Effort = fasthash.Effort(e.text)
		return nil
	}
	var err error
	if e.limit, err = time.ParseDuration(e.text); err != nil || e.limit <= 0 {
		return cli.Usagef("--effort %s is neither quick, normal, best or paper, nor a time such as 10m", e.text)
	}
	return nil
}

// chooseEffort settles the effort by the time that --effort gives.
func (c *trainCommand) chooseEffort(ctx context.Context, src vectors.Source, d *supervision.Data) error {
	limit := c.effort.limit
	if limit == 0 {
		return nil
	}
	o := &c.options.FastHash
	check := *o
	check.Bits, check.Threads = c.options.Bits, c.threads
	effort, took, err := check.EffortWithin(ctx, src, d, limit)
	if err != nil {
		return err
	}
	o.Effort = effort
	about := max(took.Round(time.Second), time.Second)
	if took > limit {
		c.note("even --effort %s takes about %v, longer than %v; --time-limit stops with fewer bits", effort, about, limit)
	} else {
		c.note("chose --effort %s, which takes about %v", effort, about)
	}
	return nil
}

// chosenOptions says what effort and defaults chose for a run of FastHash: a line, or nothing for models that do not
// know.
func chosenOptions(r model.Run) string {
	var o fasthash.Options
	if json.Unmarshal(r.Options, &o) != nil || o.Effort == "" {
		return ""
	}
	return o.Summary() + "\n"
}
