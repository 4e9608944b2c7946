package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
)

// shardFlags select a shard of the rows, for schedulers that run one process per shard.
type shardFlags struct {
	text      string // i/n, or "" for all rows
	ifMissing bool

	hamming.Shard // take fills in the number of rows
}

// shardMark stands for the shard in the name of an output.
const shardMark = "{shard}"

func (s *shardFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&s.text, "shard", "", "only shard `I/N` of the rows, I from 1 to N; {shard} in the name of the "+
		"output becomes 00003-of-00008")
	f.BoolVar(&s.ifMissing, "if-missing", false,
		"do nothing if the output exists, is intact, and has the same model and shard")
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

// errOther marks an existing output that differs from what the command would write.
var errOther = errors.New("name another output, or overwrite it with --force")

// there decides from the error of checking an output whether it exists and is complete. A damaged output is written
// again, as is a different one with force.
func (a *app) there(path string, err error, force bool) (bool, error) {
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, errOther) && force:
		return false, nil
	case errors.Is(err, hamming.ErrDamaged):
		a.note("%s: damaged, writing it again", path)
		return false, nil
	}
	return err == nil, err
}

// checkCodes checks that a code file is complete and what encoding would produce: the model and shard of want, and
// rows codes unless rows is negative.
func checkCodes(ctx context.Context, path string, want hamming.Header, rows int) (codes int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r, err := hamming.NewReader(f)
	if errors.Is(err, hamming.ErrKind) {
		return 0, fault.New("not-codes", "%s: not a code file: %w", path, errOther)
	}
	if err != nil {
		return 0, err
	}
	switch {
	case r.Fingerprint != want.Fingerprint || r.Bits != want.Bits:
		return 0, fault.New("model-mismatch",
			"%s: codes of model %v, not %v: %w", path, r.Fingerprint, want.Fingerprint, errOther)
	case !r.Shard.IsLike(want.Shard):
		return 0, fault.New("shard-mismatch", "%s: holds %v, not %v: %w", path, r.Shard, want.Shard, errOther)
	}
	for {
		c, _, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return 0, err
		}
		codes += c.Len()
	}
	if rows >= 0 && codes != rows {
		return 0, fmt.Errorf("%s: %d codes for %d rows: %w", path, codes, rows, errOther)
	}
	return codes, nil
}
