// Package trial trains a method, measures its codes and keeps the outcome in a file. Comparisons and the paper's tables
// share it.
//
//	Train            a method on data -> Training: the model and the time to each code length
//	Bench            base and queries: encodes both and measures the codes
//	Key, Load, Save  values in files that are named after the digest of their inputs
//	Protect          a panic of one method -> an error in its own row
package trial

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"hashgrove/internal/eval"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/section"
	"hashgrove/internal/supervision"
	"hashgrove/internal/train"
	"hashgrove/internal/vectors"
)

// Training is a finished training.
type Training struct {
	Model   *model.Model
	Resumed int // bits taken from the checkpoint

	rest float64 // seconds that belong to no bit
	clock
}

// Train learns from all rows; other data than these judge the model. With a checkpoint it resumes an unfinished
// training, unless it is to restart. The time is that of the method alone.
func Train(ctx context.Context, src vectors.Source, o train.Options) (*Training, error) {
	t := &Training{clock: readClock(o)}
	progress := o.Progress
	o.Validation, o.Resume = new(0.0), o.Checkpoint != "" && !o.Restart
	o = o.For(o.Method)
	o.Progress = func(p train.Progress) {
		if p.Learned != nil {
			t.record(*p.Learned)
		}
		if progress != nil {
			progress(p)
		}
	}
	made, err := train.Train(ctx, train.Data{Source: src}, o)
	if err != nil {
		return nil, err
	}
	t.Model, t.rest = made.Model, made.Learning.Seconds()
	if r := made.FastHash; r != nil {
		for _, b := range r.Bits {
			t.rest -= bitSeconds(b)
		}
		t.Resumed = r.Resumed
	}
	t.rest = max(0, t.rest)
	return t, nil
}

// Seconds returns the time of training up to a number of bits, interrupted runs included. A prefix of FastHash took the
// time of its bits; methods that do not learn bit by bit took the time of all.
func (t *Training) Seconds(bits int) float64 { return t.rest + t.until(bits) }

// Discard removes the checkpoint of a finished training and the clock beside it; "" names none.
func Discard(checkpoint string) error {
	if checkpoint == "" {
		return nil
	}
	return errors.Join(os.RemoveAll(checkpoint), os.RemoveAll(clockFile(checkpoint)))
}

// clock keeps the seconds of every bit, in a file beside the checkpoint: an interrupted training took its time too.
type clock struct {
	path  string
	times struct {
		Seconds []float64 `json:"seconds"` // by bit; 0 where it is not known
	}
}

func clockFile(checkpoint string) string { return checkpoint + ".json" }

func readClock(o train.Options) (c clock) {
	if o.Checkpoint == "" {
		return c
	}
	c.path = clockFile(o.Checkpoint)
	if b, err := os.ReadFile(c.path); err == nil && !o.Restart {
		_ = json.Unmarshal(b, &c.times) // damaged times are unknown times
	}
	return c
}

func bitSeconds(b fasthash.Bit) float64 { return (b.Inference + b.Boost).Seconds() }

// record keeps the time of a bit.
func (c *clock) record(b fasthash.Bit) {
	s := &c.times.Seconds
	*s = append(*s, make([]float64, max(0, b.Bit-len(*s)))...)
	(*s)[b.Bit-1] = bitSeconds(b)
	if text, err := json.Marshal(c.times); err == nil && c.path != "" {
		_ = os.WriteFile(c.path, text, 0o666) // times that are lost are unknown times: not worth a sync, nor a failure
	}
}

// until returns the seconds of the first bits; one whose time is not known took the mean of the others.
func (c *clock) until(bits int) float64 {
	all, known := 0.0, 0
	sum, missing := 0.0, bits
	for i, v := range c.times.Seconds {
		if v <= 0 {
			continue
		}
		all, known = all+v, known+1
		if i < bits {
			sum, missing = sum+v, missing-1
		}
	}
	return sum + float64(missing)*all/float64(max(1, known))
}

// Bench is what codes are judged on: a base to search in, queries to search with, and which answers are right.
type Bench struct {
	Base, Queries *supervision.Data
	Truth         eval.Truth
	Options       eval.Options
	OneCore       bool // time the queries on one core, several times over
}

// NewBench returns the bench of a base and its queries, whose supervision says which answers are right.
func NewBench(base, queries *supervision.Data, o eval.Options) (*Bench, error) {
	truth, err := eval.TruthOf(queries, base)
	return &Bench{Base: base, Queries: queries, Truth: truth, Options: o}, err
}

// Codes are the codes of base and queries.
type Codes struct {
	Base, Queries hamming.Codes
	Margins       vectors.Matrix // of the queries; empty where there are none
	Seconds       float64        // to encode all queries
}

// Coder turns rows into codes.
type Coder func(ctx context.Context, d *supervision.Data, threads int) (hamming.Codes, error)

// ModelCoder encodes with a model: in one piece where the vectors are in memory, else while they are read.
func ModelCoder(m *model.Model) Coder {
	return func(ctx context.Context, d *supervision.Data, threads int) (hamming.Codes, error) {
		if x, ok := Vectors(d); ok {
			return m.Encode(ctx, x, threads)
		}
		all := hamming.NewCodes(d.Rows, m.Encoder.Bits())
		return all, m.EncodeSource(ctx, d, threads, func(first int, codes hamming.Codes, _ vectors.Chunk) error {
			copy(all.Data[first*all.Words:], codes.Data)
			return nil
		})
	}
}

// Marginer gives the margins of rows that are in memory.
type Marginer func(ctx context.Context, x vectors.Matrix, threads int) (vectors.Matrix, error)

// AddMargins adds the margins of the queries, where those are in memory and the codes are short enough to be ranked by
// them.
func (b *Bench) AddMargins(ctx context.Context, c *Codes, margins Marginer) (err error) {
	if x, ok := Vectors(b.Queries); ok && c.Queries.Bits <= hamming.MaxWeightedBits {
		c.Margins, err = margins(ctx, x, b.Options.Threads)
	}
	return err
}

// CodesAndMargins encodes rows with a model, while they are read, and keeps their margins too.
func CodesAndMargins(ctx context.Context, m *model.Model, d *supervision.Data, threads int) (
	codes hamming.Codes, margins vectors.Matrix, err error,
) {
	bits := m.Encoder.Bits()
	codes = hamming.NewCodes(d.Rows, bits)
	margins = vectors.Matrix{Rows: d.Rows, Cols: bits, Data: make([]float32, d.Rows*bits)}
	sink := func(first int, some hamming.Codes, chunk vectors.Chunk) error {
		copy(codes.Data[first*codes.Words:], some.Data)
		x, err := m.Margins(ctx, chunk.X, threads)
		copy(margins.Data[first*bits:], x.Data)
		return err
	}
	return codes, margins, m.EncodeSource(ctx, d, threads, sink)
}

// Vectors lends the vectors of rows that are in memory.
func Vectors(d *supervision.Data) (x vectors.Matrix, ok bool) {
	switch src := d.Source.(type) {
	case vectors.Matrix:
		return src, true
	case vectors.Table:
		return src.X, true
	}
	return x, false
}

// Encode encodes both sides.
func (b *Bench) Encode(ctx context.Context, code Coder) (c Codes, err error) {
	if c.Base, err = code(ctx, b.Base, b.Options.Threads); err != nil {
		return c, err
	}
	if b.OneCore {
		c.Seconds = Fastest(func() { c.Queries, err = code(ctx, b.Queries, 1) })
	} else {
		c.Seconds = Seconds(func() { c.Queries, err = code(ctx, b.Queries, b.Options.Threads) })
	}
	return c, err
}

// Judge ranks the base by Hamming distance to every query.
func (b *Bench) Judge(ctx context.Context, c Codes) (*eval.Report, error) {
	return eval.Retrieval(ctx, c.Queries, c.Base, b.Truth, b.Options)
}

// JudgeMargins ranks the base by the margins of every query. It is nil where there are none.
func (b *Bench) JudgeMargins(ctx context.Context, c Codes) (*eval.Report, error) {
	if c.Margins.Rows == 0 {
		return nil, nil
	}
	return eval.RetrievalMargins(ctx, c.Queries, c.Base, c.Margins, b.Truth, b.Options)
}

// Seconds times f.
func Seconds(f func()) float64 {
	began := time.Now()
	f()
	return time.Since(began).Seconds()
}

// Fastest times f at least twice and for 20 ms, up to 20 times, and returns the seconds of the fastest run: the others
// were disturbed, and the first prepares.
func Fastest(f func()) float64 {
	best, sum := Seconds(f), 0.0
	for turn := 0; turn < 20 && (turn == 0 || sum < 0.02); turn++ {
		took := Seconds(f)
		best, sum = min(best, took), sum+took
	}
	return best
}

// Key returns the digest of the inputs of a result, for the name of its file.
func Key(inputs ...any) string {
	b, err := json.Marshal(inputs)
	if err != nil {
		panic("trial: inputs do not marshal: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// Load reads a value that Save has written. A file that is missing or damaged counts as none.
func Load[T any](path string) (v T, ok bool) {
	b, err := os.ReadFile(path)
	text, sum, _ := bytes.Cut(b, []byte("\n"))
	damaged := len(sum) > 0 && string(sum) != checksum(text) // files of older versions have none
	if err != nil || damaged || json.Unmarshal(text, &v) != nil {
		return *new(T), false
	}
	return v, true
}

// Save writes a value as a line of JSON and its checksum, all or nothing.
func Save(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return section.WriteFile(path, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s\n%s", text, checksum(text))
		return err
	})
}

func checksum(text []byte) string { return fmt.Sprintf("sha256 %x\n", sha256.Sum256(text)) }

// Protect runs f for a method and turns a panic into an error, so that hours of work of other methods are not lost.
func Protect(method string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			text, _, _ := strings.Cut(fmt.Sprint(p), "\n") // the rest is a stack
			err = fault.New("internal-error", "internal error in method %s: %s", method, text)
		}
	}()
	return f()
}
