// Package methodtest is the suite that every method of package baseline, and whatever else learns an encoder, must pass.
//
//	the same seed gives the same bytes, on one thread and on two, from any chunks
//	as many bits as asked for
//	one row has the code it has in a batch
//	the file gives the same encoder back
//	values that are not finite and vectors of another width are refused
//	a cancelled training ends within a second, with the cause
//	no rows, few rows and equal rows give an error or a whole model
//	the codes of easy data are far better than random
//	supervised: tags teach as classes do, and rows without either are refused
//	unsupervised: classes do not matter
package methodtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"hashgrove/eval"
	"hashgrove/hamming"
	"hashgrove/model"
	"hashgrove/vectors"
)

// Method is what is tested: baseline.Method, without its package.
type Method interface {
	Train(ctx context.Context, x vectors.Source) (model.Encoder, error)
}

// Case is a method and what is known about it.
type Case struct {
	New        func(bits int, seed uint64, threads int) Method // with settings for a few hundred rows of 24 dimensions
	Supervised bool                                            // learns from classes
	NoTags     bool                                            // supervised, and refuses tags with an error
	AnyBits    bool                                            // the data decide the number of bits
	Gain       float64                                         // least MAP above that of random codes; 0 means 0.25
}

const (
	rows, dim, classes = 200, 24, 5
	bits               = 10
)

// Run runs the suite.
func Run(t *testing.T, c Case) {
	t.Helper()
	x := Clusters(1, rows)
	base := c.train(t, c.New(bits, 7, 1), x)
	want := bytesOf(t, base)
	t.Run("threads", func(t *testing.T) {
		if !bytes.Equal(bytesOf(t, c.train(t, c.New(bits, 7, 2), x)), want) {
			t.Error("two threads give another model than one")
		}
	})
	t.Run("chunks", func(t *testing.T) {
		if !bytes.Equal(bytesOf(t, c.train(t, c.New(bits, 7, 1), pieces{x})), want) {
			t.Error("chunks of another size give another model")
		}
	})
	t.Run("bits", func(t *testing.T) {
		if !c.AnyBits && base.Bits() != bits {
			t.Errorf("%d bits instead of %d", base.Bits(), bits)
		}
		if base.Dim() != dim {
			t.Errorf("vectors of %d dimensions instead of %d", base.Dim(), dim)
		}
	})
	t.Run("codes", func(t *testing.T) { checkCodes(t, base, want) })
	t.Run("refusals", func(t *testing.T) { checkRefusals(t, base) })
	t.Run("cancel", func(t *testing.T) { c.checkCancel(t) })
	t.Run("odd data", func(t *testing.T) { c.checkOddData(t) })
	t.Run("gain", func(t *testing.T) { c.checkGain(t, base, x) })
	if !c.Supervised {
		t.Run("classes", func(t *testing.T) {
			if !bytes.Equal(bytesOf(t, c.train(t, c.New(bits, 7, 1), x.Matrix)), want) {
				t.Error("without classes there is another model")
			}
		})
		return
	}
	t.Run("tags", func(t *testing.T) {
		tagged := x
		tagged.Tags = true
		e, err := c.New(bits, 7, 1).Train(context.Background(), tagged)
		if c.NoTags {
			if err == nil {
				t.Error("tags were not refused")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		c.checkGain(t, e, x)
	})
	t.Run("nothing known", func(t *testing.T) {
		if _, err := c.New(bits, 7, 1).Train(context.Background(), x.Matrix); err == nil {
			t.Error("rows without classes or tags taught something")
		}
	})
}

func (c Case) train(t *testing.T, m Method, x vectors.Source) model.Encoder {
	t.Helper()
	e, err := m.Train(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	return e
}

func bytesOf(t *testing.T, e model.Encoder) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := model.Write(&b, &model.Model{Encoder: e, Info: model.Info{Method: "test"}}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func checkCodes(t *testing.T, e model.Encoder, file []byte) {
	q := Clusters(2, 70).Matrix
	m := &model.Model{Encoder: e}
	codes, err := m.Encode(context.Background(), q, 2)
	if err != nil {
		t.Fatal(err)
	}
	back, err := model.Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if back.Fingerprint() != m.Fingerprint() || !bytes.Equal(bytesOf(t, back.Encoder), file) {
		t.Error("another model came back from the file")
	}
	for i := range q.Rows {
		one, err := m.EncodeRow(q.Row(i))
		if err != nil {
			t.Fatal(err)
		}
		two, err := back.EncodeRow(q.Row(i))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(one, codes.Row(i)) || !slices.Equal(two, one) {
			t.Fatalf("row %d: %x alone, %x from the file, %x in the batch", i, one, two, codes.Row(i))
		}
	}
	short := m.Prefix(1)
	if err := short.Check(); err != nil || short.Encoder.Fingerprint(1) != e.Fingerprint(1) {
		t.Errorf("a prefix of one bit: %v", err)
	}
}

func checkRefusals(t *testing.T, e model.Encoder) {
	m := &model.Model{Encoder: e}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		q := Clusters(2, 40).Matrix
		q.Row(33)[5] = float32(bad)
		if _, err := m.Encode(context.Background(), q, 1); !errors.Is(err, model.ErrValue) {
			t.Errorf("%v in a batch: %v", bad, err)
		}
		if _, err := m.EncodeRow(q.Row(33)); !errors.Is(err, model.ErrValue) {
			t.Errorf("%v in a row: %v", bad, err)
		}
	}
	if _, err := m.EncodeRow(make([]float32, e.Dim()+1)); !errors.Is(err, model.ErrDim) {
		t.Errorf("a vector too long: %v", err)
	}
	huge := slices.Repeat([]float32{math.MaxFloat32, -math.MaxFloat32}, e.Dim())[:e.Dim()]
	if _, err := m.EncodeRow(huge); err != nil {
		t.Errorf("a vector of huge values: %v", err)
	}
}

func (c Case) checkCancel(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(enough)
	if _, err := c.New(bits, 7, 1).Train(ctx, Clusters(1, rows)); !errors.Is(err, enough) {
		t.Errorf("cancelled before it began: %v", err)
	}
	if testing.Short() {
		return
	}
	// Many rows: most methods are still at work when they are stopped, each at another place.
	for _, after := range []time.Duration{20 * time.Millisecond, 150 * time.Millisecond} {
		ctx, cancel := context.WithCancelCause(context.Background())
		var at time.Time
		timer := time.AfterFunc(after, func() { at = time.Now(); cancel(enough) })
		_, err := c.New(bits, 7, 1).Train(ctx, Clusters(1, 20_000))
		if took := time.Since(at); !timer.Stop() && took > 3*time.Second { // the promise is one, but other work may share the machine
			t.Errorf("it took %v to stop", took)
		}
		if err != nil && !errors.Is(err, enough) {
			t.Errorf("cancelled: %v", err)
		}
		cancel(nil)
	}
}

// checkOddData trains on data that nobody would, which may be refused but must not panic or leave half a model.
func (c Case) checkOddData(t *testing.T) {
	none := Clusters(1, 0)
	if _, err := c.New(bits, 7, 1).Train(context.Background(), none); err == nil {
		t.Error("there was a model from no rows")
	}
	equal := Clusters(1, 60)
	clear(equal.Data)
	flat := Clusters(1, rows)
	for i := range flat.Rows {
		copy(flat.Row(i)[1:], make([]float32, dim-1)) // one column says everything
	}
	for name, x := range map[string]Labelled{"one row": Clusters(1, 1), "three rows": Clusters(1, 3), "equal rows": equal, "one column": flat} {
		e, err := c.New(bits, 7, 1).Train(context.Background(), x)
		if err != nil {
			continue
		}
		if err := e.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := (&model.Model{Encoder: e}).Encode(context.Background(), x.Matrix, 1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (c Case) checkGain(t *testing.T, e model.Encoder, x Labelled) {
	q := Clusters(2, 80)
	m := &model.Model{Encoder: e}
	encode := func(x vectors.Matrix) hamming.Codes {
		codes, err := m.Encode(context.Background(), x, 1)
		if err != nil {
			t.Fatal(err)
		}
		return codes
	}
	r, err := eval.Retrieval(context.Background(), encode(q.Matrix), encode(x.Matrix), eval.ByClass(q.Class, x.Class), eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	gain := c.Gain
	if gain == 0 {
		gain = 0.25
	}
	if r.MAP < r.Prior+gain {
		t.Errorf("MAP %.3f, and random codes have %.3f", r.MAP, r.Prior)
	}
	t.Logf("MAP %.3f", r.MAP)
}

// Labelled is a matrix with classes.
type Labelled struct {
	vectors.Matrix
	Class []int32
	Tags  bool // give two tags for every class instead
}

// Clusters draws rows around a centre for each of five classes. The centres are the same for every seed.
func Clusters(seed uint64, rows int) Labelled {
	centre, rng := rand.New(rand.NewPCG(11, 7)), rand.New(rand.NewPCG(seed, 1))
	var c [classes * dim]float32
	for i := range c {
		c[i] = 10 + 4*centre.Float32()
	}
	x := Labelled{Matrix: vectors.Matrix{Rows: rows, Cols: dim, Data: make([]float32, rows*dim)}, Class: make([]int32, rows)}
	for i := range rows {
		class := rng.IntN(classes)
		x.Class[i] = int32(class)
		for j := range dim {
			x.Data[i*dim+j] = c[class*dim+j] + 2.5*rng.Float32()
		}
	}
	return x
}

// Chunks implements vectors.Source.
func (x Labelled) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		for c, err := range x.Matrix.Chunks(ctx) {
			if err == nil {
				c = x.named(c)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

func (x Labelled) named(c vectors.Chunk) vectors.Chunk {
	for _, class := range x.Class[c.First : c.First+c.X.Rows] {
		name := fmt.Sprint("class ", class)
		if x.Tags {
			c.Tags = append(c.Tags, []string{name, "also " + name})
		} else {
			c.Labels = append(c.Labels, name)
		}
	}
	return c
}

// pieces is the same source in chunks of odd sizes, which spoils a chunk when the next one is asked for.
type pieces struct{ Labelled }

func (p pieces) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		for lo, n := 0, 1; lo < p.Rows; n = n*3%50 + 1 {
			if ctx.Err() != nil {
				yield(vectors.Chunk{}, context.Cause(ctx))
				return
			}
			c := p.named(vectors.Chunk{First: lo, X: p.Slice(lo, min(lo+n, p.Rows))})
			c.X.Data = slices.Clone(c.X.Data)
			if !yield(c, nil) {
				return
			}
			for i := range c.X.Data {
				c.X.Data[i] = float32(math.NaN())
			}
			clear(c.Labels)
			clear(c.Tags)
			lo += c.X.Rows
		}
	}
}
