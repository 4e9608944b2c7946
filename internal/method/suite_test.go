package method

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

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/vectors"
)

// The suite that every method must pass.
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

// TestEveryMethod runs the suite on all methods by name, and on one encoder of each type behind PCA and behind
// standardised columns.
func TestEveryMethod(t *testing.T) {
	// Classes that lie apart are parts of the anchor graph of their own, and AGH leaves out the vectors that tell them
	// apart.
	gain := map[string]float64{"agh": 0.15}
	for _, name := range Names() {
		d, _ := Describe(name)
		for _, c := range []struct {
			title       string
			pca         int
			standardize string
			methods     []string // nil for all
		}{
			{},
			{" behind PCA", 18, "", []string{"lsh", "sdh", "tsh"}}, // a projection, a kernel and bins are enough
			{" standardised", 0, "on", []string{"lsh", "pca-itq", "agh2", "mdsh", "ksh", "sdh", "cca-itq", "classifier"}},
			{" standardised behind PCA", 18, "on", []string{"tsh"}},
		} {
			if c.methods != nil && !slices.Contains(c.methods, d.Name) {
				continue
			}
			t.Run(d.Name+c.title, func(t *testing.T) {
				runSuite(t, suiteCase{
					New: func(bits int, seed uint64, threads int) Method {
						m, err := New(d.Name, Options{Bits: bits, Seed: seed, Threads: threads, PCA: c.pca, Anchors: 60,
							Standardize: c.standardize})
						if err != nil {
							t.Fatal(err)
						}
						return m
					},
					Supervised: d.Supervised, AnyBits: d.AnyBits, Gain: gain[d.Name],
				})
			})
		}
	}
}

// suiteCase is a method and what is known about it.
type suiteCase struct {
	New        func(bits int, seed uint64, threads int) Method // with settings for a few hundred rows of 24 dimensions
	Supervised bool                                            // learns from classes
	AnyBits    bool                                            // the data decide the number of bits
	Gain       float64                                         // least MAP above that of random codes; 0 means 0.25
}

const (
	suiteRows, suiteDim, suiteClasses = 200, 24, 5
	suiteBits                         = 10
)

// runSuite runs the suite.
func runSuite(t *testing.T, c suiteCase) {
	t.Helper()
	x := clusters(1, suiteRows)
	base := c.train(t, c.New(suiteBits, 7, 1), x)
	want := bytesOf(t, base)
	t.Run("threads", func(t *testing.T) {
		if !bytes.Equal(bytesOf(t, c.train(t, c.New(suiteBits, 7, 2), x)), want) {
			t.Error("two threads give another model than one")
		}
	})
	t.Run("chunks", func(t *testing.T) {
		if !bytes.Equal(bytesOf(t, c.train(t, c.New(suiteBits, 7, 1), pieces{x})), want) {
			t.Error("chunks of another size give another model")
		}
	})
	t.Run("bits", func(t *testing.T) {
		if !c.AnyBits && base.Bits() != suiteBits {
			t.Errorf("%d bits instead of %d", base.Bits(), suiteBits)
		}
		if base.Dim() != suiteDim {
			t.Errorf("vectors of %d dimensions instead of %d", base.Dim(), suiteDim)
		}
	})
	t.Run("codes", func(t *testing.T) { checkCodes(t, base, want) })
	t.Run("refusals", func(t *testing.T) { checkRefusals(t, base) })
	t.Run("cancel", func(t *testing.T) { c.checkCancel(t) })
	t.Run("odd data", func(t *testing.T) { c.checkOddData(t) })
	t.Run("gain", func(t *testing.T) { c.checkGain(t, base, x) })
	if !c.Supervised {
		t.Run("classes", func(t *testing.T) {
			if !bytes.Equal(bytesOf(t, c.train(t, c.New(suiteBits, 7, 1), x.X)), want) {
				t.Error("without classes there is another model")
			}
		})
		return
	}
	t.Run("tags", func(t *testing.T) {
		e, err := learnFrom(context.Background(), c.New(suiteBits, 7, 1), x.tagged())
		if err != nil {
			t.Fatal(err)
		}
		c.checkGain(t, e, x)
	})
	t.Run("nothing known", func(t *testing.T) {
		if _, err := learnFrom(context.Background(), c.New(suiteBits, 7, 1), x.X); err == nil {
			t.Error("rows without classes or tags taught something")
		}
	})
}

func (c suiteCase) train(t *testing.T, m Method, x vectors.Source) model.Encoder {
	t.Helper()
	e, err := learnFrom(context.Background(), m, x)
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
	x := clusters(2, 70)
	q := x.X
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
	for _, threads := range []int{1, 2} {
		checkWays(t, m, x, codes, threads)
	}
	short := m.Prefix(1)
	if err := short.Check(); err != nil || short.Encoder.Fingerprint(1) != e.Fingerprint(1) {
		t.Errorf("a prefix of one bit: %v", err)
	}
}

// checkWays compares the codes of a batch and of a stream.
func checkWays(t *testing.T, m *model.Model, x classedRows, want hamming.Codes, threads int) {
	t.Helper()
	all, err := m.Encode(context.Background(), x.X, threads)
	if err != nil || !slices.Equal(all.Data, want.Data) {
		t.Errorf("%d threads: a batch has other codes: %v", threads, err)
	}
	var streamed []uint64
	err = m.EncodeSource(context.Background(), pieces{x}, threads, func(_ int, c hamming.Codes, _ vectors.Chunk) error {
		streamed = append(streamed, c.Data...)
		return nil
	})
	if err != nil || !slices.Equal(streamed, want.Data) {
		t.Errorf("%d threads: a stream has other codes: %v", threads, err)
	}
}

func checkRefusals(t *testing.T, e model.Encoder) {
	m := &model.Model{Encoder: e}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		q := clusters(2, 40).X
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

func (c suiteCase) checkCancel(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(enough)
	if _, err := learnFrom(ctx, c.New(suiteBits, 7, 1), clusters(1, suiteRows)); !errors.Is(err, enough) {
		t.Errorf("cancelled before it began: %v", err)
	}
	if !needs.Full() {
		return
	}
	// Many rows: most methods are still at work when they are stopped.
	after, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	fired := make(chan time.Time, 1)
	timer := time.AfterFunc(100*time.Millisecond, func() { fired <- time.Now(); cancel(enough) })
	_, err := learnFrom(after, c.New(suiteBits, 7, 1), clusters(1, 20_000))
	ended := time.Now()
	if !timer.Stop() {
		if took := ended.Sub(<-fired); took > 3*time.Second { // one is promised; other work may share the machine
			t.Errorf("it took %v to stop", took)
		}
	}
	if err != nil && !errors.Is(err, enough) {
		t.Errorf("cancelled: %v", err)
	}
}

// checkOddData trains on data that nobody would, which may be refused but must not panic or leave half a model.
func (c suiteCase) checkOddData(t *testing.T) {
	none := clusters(1, 0)
	if _, err := learnFrom(context.Background(), c.New(suiteBits, 7, 1), none); err == nil {
		t.Error("there was a model from no rows")
	}
	equal := clusters(1, 60)
	clear(equal.X.Data)
	flat := clusters(1, suiteRows)
	for i := range flat.X.Rows {
		copy(flat.X.Row(i)[1:], make([]float32, suiteDim-1)) // one column says everything
	}
	for name, x := range map[string]classedRows{"one row": clusters(1, 1), "three rows": clusters(1, 3), "equal rows": equal,
		"one column": flat} {
		e, err := learnFrom(context.Background(), c.New(suiteBits, 7, 1), x)
		if err != nil {
			continue
		}
		if err := e.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := (&model.Model{Encoder: e}).Encode(context.Background(), x.X, 1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (c suiteCase) checkGain(t *testing.T, e model.Encoder, x classedRows) {
	q := clusters(2, 80)
	m := &model.Model{Encoder: e}
	encode := func(x vectors.Matrix) hamming.Codes {
		codes, err := m.Encode(context.Background(), x, 1)
		if err != nil {
			t.Fatal(err)
		}
		return codes
	}
	r, err := eval.Retrieval(context.Background(), encode(q.X), encode(x.X), eval.ByClass(q.Class, x.Class),
		eval.Options{})
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

// classedRows is rows with classes, and the labels or tags that say so.
type classedRows struct {
	vectors.Table
	Class []int32
}

// clusters draws rows around a centre for each of five classes. The centres are the same for every seed.
func clusters(seed uint64, rows int) classedRows {
	centre, rng := rand.New(rand.NewPCG(11, 7)), rand.New(rand.NewPCG(seed, 1))
	var c [suiteClasses * suiteDim]float32
	for i := range c {
		c[i] = 10 + 4*centre.Float32()
	}
	x := classedRows{Class: make([]int32, rows)}
	x.X = vectors.Matrix{Rows: rows, Cols: suiteDim, Data: make([]float32, rows*suiteDim)}
	for i := range rows {
		class := rng.IntN(suiteClasses)
		x.Class[i] = int32(class)
		x.Labels = append(x.Labels, fmt.Sprint("class ", class))
		for j := range suiteDim {
			x.X.Data[i*suiteDim+j] = c[class*suiteDim+j] + 2.5*rng.Float32()
		}
	}
	return x
}

// tagged gives two tags for every class instead of a label.
func (x classedRows) tagged() classedRows {
	for _, name := range x.Labels {
		x.Tags = append(x.Tags, []string{name, "also " + name})
	}
	x.Labels = nil
	return x
}

// pieces is the same source in chunks of odd sizes, which spoils a chunk when the next one is asked for.
type pieces struct{ classedRows }

func (p pieces) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		for lo, n := 0, 1; lo < p.X.Rows; n = n*3%50 + 1 {
			if ctx.Err() != nil {
				yield(vectors.Chunk{}, context.Cause(ctx))
				return
			}
			c := vectors.Chunk{First: lo, X: p.X.Slice(lo, min(lo+n, p.X.Rows))}
			c.Labels = slices.Clone(p.Labels[lo : lo+c.X.Rows])
			c.X.Data = slices.Clone(c.X.Data)
			if !yield(c, nil) {
				return
			}
			for i := range c.X.Data {
				c.X.Data[i] = float32(math.NaN())
			}
			clear(c.Labels)
			lo += c.X.Rows
		}
	}
}
