package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/hamming"
)

// shardFlags select a shard of the rows, for schedulers that run one process per shard.
type shardFlags struct {
	text string // i/n, or "" for all rows

	hamming.Shard // take fills in the number of rows
}

// shardMark stands for the shard in the name of an output.
const shardMark = "{shard}"

func (s *shardFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&s.text, "shard", "", "only shard `I/N` of the rows, I from 1 to N; {shard} in the name of the "+
		"output becomes 00003-of-00008")
	cli.Group(f, "Shards")
}

// parse reads --shard and returns the output name with the shard filled in.
func (s *shardFlags) parse(output string, data []string) (string, error) {
	if s.text == "" {
		if strings.Contains(output, shardMark) {
			return "", cli.Usage("no-shard", "%s: {shard} in the name needs --shard", output)
		}
		return output, nil
	}
	number, of, ok := strings.Cut(s.text, "/")
	i, err1 := strconv.Atoi(number)
	n, err2 := strconv.Atoi(of)
	if !ok || err1 != nil || err2 != nil || n < 1 || n > hamming.MaxShards || i < 1 || i > n {
		return "", cli.Usage("bad-flag-value", "--shard %s: give I/N, such as 3/8, with I from 1 to N and N up to %d",
			s.text, hamming.MaxShards)
	}
	for _, path := range data {
		if dataset.IsStream(path) {
			return "", cli.Usage("read-once", "%s: can be read only once, so its rows cannot be counted and divided: "+
				"leave out --shard, and send every process its own rows", path)
		}
	}
	s.Shard = hamming.Shard{Number: i, Of: n}
	return strings.ReplaceAll(output, shardMark, s.Name()), nil
}

// take restricts the data to the shard.
func (s *shardFlags) take(ctx context.Context, set *dataset.Set) (err error) {
	if s.text != "" {
		s.Shard, err = set.TakeShard(ctx, s.Number, s.Of)
	}
	return err
}

// shardReport describes a shard in --json output.
type shardReport struct {
	Number int `json:"number"`
	Of     int `json:"of"`
	First  int `json:"first_row"`
	Rows   int `json:"rows"`
	Total  int `json:"total_rows"`
}

// shard returns what is reported.
func (r *shardReport) shard() hamming.Shard {
	return hamming.Shard{Number: r.Number, Of: r.Of, First: r.First, Rows: r.Rows, Total: r.Total}
}

// reportShard returns nil if the shard is all rows.
func reportShard(s hamming.Shard) *shardReport {
	if s.IsWhole() {
		return nil
	}
	r := shardReport{s.Number, s.Of, s.First, s.Rows, s.Total}
	return &r
}
