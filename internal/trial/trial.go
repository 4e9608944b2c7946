// Package trial trains a method, measures its codes and saves the outcome to a file, for comparisons and for the
// paper's tables.
//
//	Train            a method on data -> Training: the model and the time to each code length
//	Bench            base and queries: encodes both and measures the codes
//	Key, Load, Save  values in files named after the digest of their inputs
//	Protect          turns a panic of one method into an error in its own row
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

	rest float64 // seconds outside any bit
	clock
}

// Train learns from all rows, since other data measure the model. If there is a checkpoint it resumes, unless told to
// restart. Only the method itself is timed.
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

// Seconds returns the time to train up to a number of bits, including interrupted runs. A FastHash prefix takes the
// time of its bits; methods that do not learn bit by bit take the time of all.
func (t *Training) Seconds(bits int) float64 { return t.rest + t.until(bits) }

// Discard removes the checkpoint of a finished training and its clock; "" does nothing.
func Discard(checkpoint string) error {
	if checkpoint == "" {
		return nil
	}
	return errors.Join(os.RemoveAll(checkpoint), os.RemoveAll(clockFile(checkpoint)))
}

// clock records the seconds of every bit in a file beside the checkpoint, so that interrupted runs count too.
type clock struct {
	path  string
	times struct {
		Seconds []float64 `json:"seconds"` // per bit; 0 if unknown
	}
}

func clockFile(checkpoint string) string { return checkpoint + ".json" }

func readClock(o train.Options) (c clock) {
	if o.Checkpoint == "" {
		return c
	}
	c.path = clockFile(o.Checkpoint)
	if b, err := os.ReadFile(c.path); err == nil && !o.Restart {
		_ = json.Unmarshal(b, &c.times) // damaged times count as unknown
	}
	return c
}

func bitSeconds(b fasthash.Bit) float64 { return (b.Inference + b.Boost).Seconds() }

// record stores the time of a bit.
func (c *clock) record(b fasthash.Bit) {
	s := &c.times.Seconds
	*s = append(*s, make([]float64, max(0, b.Bit-len(*s)))...)
	(*s)[b.Bit-1] = bitSeconds(b)
	if text, err := json.Marshal(c.times); err == nil && c.path != "" {
		_ = os.WriteFile(c.path, text, 0o666) // lost times count as unknown: not worth a sync or a failure
	}
}

// until returns the seconds of the first bits. Bits of unknown time count as the mean of the others.
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

// Bench holds what codes are measured on: a base to search, queries, and the right answers.
type Bench struct {
	Base, Queries *supervision.Data
	Truth         eval.Truth
	Options       eval.Options
	OneCore       bool // time the queries on one core, repeatedly
}

// NewBench returns a bench whose right answers follow from the supervision of base and queries.
func NewBench(base, queries *supervision.Data, o eval.Options) (*Bench, error) {
	truth, err := eval.TruthOf(queries, base)
	return &Bench{Base: base, Queries: queries, Truth: truth, Options: o}, err
}

// Codes are the codes of base and queries.
type Codes struct {
	Base, Queries hamming.Codes
	Margins       vectors.Matrix // of the queries; empty if there are none
	Expected      vectors.Matrix // their expected codes; empty if there are none
	Detail        int            // number of bits, the last ones, that are detail
	Seconds       float64        // to encode all queries
}

// Coder turns rows into codes.
type Coder func(ctx context.Context, d *supervision.Data, threads int) (hamming.Codes, error)

// ModelCoder encodes with a model: all at once if the vectors are in memory, else while reading them.
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

// Marginer computes the margins of rows in memory.
type Marginer func(ctx context.Context, x vectors.Matrix, threads int) (vectors.Matrix, error)

// AddMargins adds the queries' margins if the queries are in memory and the codes are short enough to rank by margins.
func (b *Bench) AddMargins(ctx context.Context, c *Codes, margins Marginer) (err error) {
	if x, ok := Vectors(b.Queries); ok && c.Queries.Bits <= hamming.MaxWeightedBits {
		c.Margins, err = margins(ctx, x, b.Options.Threads)
	}
	return err
}

// AddExpected adds the queries' expected codes if there are margins and the model knows codes.
func (c *Codes) AddExpected(ctx context.Context, m *model.Model) (err error) {
	c.Expected, err = m.Expected(ctx, c.Margins)
	return err
}

// Scores returns what a ranking needs to know of the queries beside their codes; empty if it needs nothing, or if that
// is unknown.
func (c *Codes) Scores(by eval.Ranking) vectors.Matrix {
	switch by {
	case eval.ByMargins:
		return c.Margins
	case eval.ByExpected:
		return c.Expected
	}
	return vectors.Matrix{}
}

// CodesAndMargins encodes rows with a model while reading them, and also keeps their margins.
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

// Vectors returns the vectors of rows in memory, without copying.
func Vectors(d *supervision.Data) (x vectors.Matrix, ok bool) {
	switch src := d.Source.(type) {
	case vectors.Matrix:
		return src, true
	case vectors.Table:
		return src.X, true
	}
	return x, false
}

// Encode encodes base and queries.
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
	return b.JudgeBy(ctx, c, eval.ByHamming)
}

// JudgeBy ranks the base for every query. It returns nil for margins and expected codes if there are none.
func (b *Bench) JudgeBy(ctx context.Context, c Codes, by eval.Ranking) (*eval.Report, error) {
	o := b.Options
	o.Detail = c.Detail
	if by == eval.ByHamming {
		return eval.Retrieval(ctx, c.Queries, c.Base, b.Truth, o)
	}
	scores := c.Scores(by)
	if scores.Rows == 0 {
		return nil, nil
	}
	return eval.RetrievalMargins(ctx, c.Queries, c.Base, scores, b.Truth, o)
}

// Seconds returns how long f takes.
func Seconds(f func()) float64 {
	began := time.Now()
	f()
	return time.Since(began).Seconds()
}

// Fastest runs f at least twice and for 20 ms, up to 20 times, and returns the seconds of the fastest run: the first
// run warms up, and others may be disturbed.
func Fastest(f func()) float64 {
	best, sum := Seconds(f), 0.0
	for turn := 0; turn < 20 && (turn == 0 || sum < 0.02); turn++ {
		took := Seconds(f)
		best, sum = min(best, took), sum+took
	}
	return best
}

// Key returns a digest of the inputs of a result, used as its file name.
func Key(inputs ...any) string {
	b, err := json.Marshal(inputs)
	if err != nil {
		panic("trial: inputs do not marshal: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// Load reads a value written by Save. Missing and damaged files count as absent.
func Load[T any](path string) (v T, ok bool) {
	b, err := os.ReadFile(path)
	text, sum, _ := bytes.Cut(b, []byte("\n"))
	damaged := len(sum) > 0 && string(sum) != checksum(text) // older versions wrote no checksum
	if err != nil || damaged || json.Unmarshal(text, &v) != nil {
		return *new(T), false
	}
	return v, true
}

// Save writes a value as a line of JSON with its checksum, all or nothing.
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

// Protect runs f for a method and turns a panic into an error, so that hours of other methods' work are not lost.
func Protect(method string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			text, _, _ := strings.Cut(fmt.Sprint(p), "\n") // the rest is a stack
			err = fault.New("internal-error", "internal error in method %s: %s", method, text)
		}
	}()
	return f()
}
