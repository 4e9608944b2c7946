package method

import (
	"context"
	"errors"
	"hashgrove/internal/fault"
	"hashgrove/internal/supervision"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/numeric/solve"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

func train(t *testing.T, m any, x vectors.Source) *model.Projection {
	t.Helper()
	e, err := learnFrom(context.Background(), m, x)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	return e.(*model.Projection)
}

func encode(e model.Encoder, x vectors.Matrix) hamming.Codes {
	c, err := (&model.Model{Encoder: e}).Encode(context.Background(), x, 1)
	if err != nil {
		panic(err)
	}
	return c
}

func judge(t *testing.T, queries, base hamming.Codes, truth eval.Truth) *eval.Report {
	t.Helper()
	r, err := eval.Retrieval(context.Background(), queries, base, truth, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The order that every comparison should show: nothing known, plain planes, centred planes.
func TestMethodsAgainstTheFloor(t *testing.T) {
	x, xc := methodtest.ClusterMatrix(1, 1500, 24, 8)
	q, qc := methodtest.ClusterMatrix(2, 60, 24, 8)
	truth := eval.ByClass(qc, xc)
	floor := judge(t, RandomCodes(q.Rows, 64, 1), RandomCodes(x.Rows, 64, 2), truth)
	if math.Abs(floor.MAP-floor.Prior) > 0.015 {
		t.Errorf("random codes have MAP %.3f, prior %.3f", floor.MAP, floor.Prior)
	}
	centred, sign := train(t, lsh{}, x), train(t, sign{}, x)
	plain := &model.Projection{Weight: centred.Weight, Threshold: centred.Threshold}
	if plain.Bits() != 64 || plain.Dim() != 24 || sign.Bits() != 24 || centred.Mean == nil {
		t.Errorf("%d and %d bits, mean %v", plain.Bits(), sign.Bits(), centred.Mean)
	}
	a := judge(t, encode(plain, q), encode(plain, x), truth).MAP
	b := judge(t, encode(centred, q), encode(centred, x), truth).MAP
	c := judge(t, encode(sign, q), encode(sign, x), truth).MAP
	if !(floor.MAP+0.05 < a && a+0.1 < b && b > 0.7 && c > 0.7) {
		t.Errorf("MAP of random codes %.3f, LSH %.3f, centred LSH %.3f, sign %.3f", floor.MAP, a, b, c)
	}
	// For vectors at an angle θ the share of different bits is about θ/π.
	e := train(t, lsh{Options{Bits: 4000, Seed: 3}}, vectors.Matrix{Rows: 1, Cols: 2, Data: []float32{0, 0}})
	pair := encode(e, vectors.Matrix{Rows: 2, Cols: 2, Data: []float32{1, 0, 1, 1}})
	if share := float64(hamming.Distance(pair.Row(0), pair.Row(1))) / 4000; math.Abs(share-0.25) > 0.03 {
		t.Errorf("vectors at 45 degrees differ in %.3f of the bits", share)
	}
}

func TestSeedDecides(t *testing.T) {
	x, _ := methodtest.ClusterMatrix(1, 50, 5, 3)
	long := train(t, lsh{Options{Bits: 40, Seed: 9}}, x)
	short := train(t, lsh{Options{Bits: 24, Seed: 9}}, x)
	if !reflect.DeepEqual(short.Weight, long.Weight[:24*5]) || !slices.Equal(short.Mean, long.Mean) {
		t.Error("fewer bits are not a prefix of more")
	}
	if other := train(t, lsh{Options{Bits: 24, Seed: 10}}, x); slices.Equal(other.Weight,
		short.Weight) {
		t.Error("another seed gives the same planes")
	}
	// Fixed for ever, on every machine.
	want := []float32{0.2501747, -0.2675783, 1.0848004, -1.7451057, 0.05433414}
	if got := train(t, lsh{Options{Bits: 1, Seed: 9}}, x).Weight; !slices.Equal(got, want) {
		t.Errorf("first plane %v, want %v", got, want)
	}
}

func TestRandomCodes(t *testing.T) {
	for _, bits := range []int{1, 63, 64, 65, 100} {
		many, few := RandomCodes(300, bits, 4), RandomCodes(100, bits, 4)
		if !slices.Equal(few.Data, many.Data[:len(few.Data)]) {
			t.Errorf("%d bits: fewer rows are not the first of more", bits)
		}
		if slices.Equal(few.Data, RandomCodes(100, bits, 5).Data) {
			t.Errorf("%d bits: another seed gives the same codes", bits)
		}
		if !slices.Equal(many.Prefix(bits).Data, many.Data) {
			t.Errorf("%d bits: bits are set beyond the length", bits)
		}
		for b := range bits {
			ones := 0
			for i := range many.Len() {
				if many.Bit(i, b) {
					ones++
				}
			}
			if ones < 100 || ones > 200 {
				t.Errorf("%d bits: bit %d is set in %d of 300 codes", bits, b, ones)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	x, _ := methodtest.ClusterMatrix(1, 10, 5, 2)
	empty := vectors.Matrix{Cols: 5}
	for name, c := range map[string]struct {
		m    any
		x    vectors.Source
		code fault.Code
		fact string
	}{
		"negative bits":  {lsh{Options{Bits: -1}}, x, "bits-out-of-range", "-1"},
		"many bits":      {lsh{Options{Bits: hamming.MaxBits + 1}}, x, "bits-out-of-range", "4097"},
		"no rows":        {lsh{}, empty, "no-rows", ""},
		"no rows, sign":  {sign{}, empty, "no-rows", ""},
		"no dimensions":  {lsh{}, vectors.Matrix{}, "weights-out-of-range", "0 dimensions"},
		"wide vectors":   {lsh{Options{Bits: 4096}}, vectors.Matrix{Cols: 1 << 20}, "weights-out-of-range", "1048576"},
		"too wide, sign": {sign{}, vectors.Matrix{Cols: hamming.MaxBits + 1}, "bits-out-of-range", "4097"},
	} {
		_, err := learnFrom(context.Background(), c.m, c.x)
		if d := fault.Differs(err, c.code, c.fact); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stop)
	for _, m := range []any{lsh{}, sign{}} {
		if _, err := learnFrom(ctx, m, x); !errors.Is(err, stop) {
			t.Errorf("%T cancelled: error %v", m, err)
		}
	}
}

// learnFrom trains a Method or a learner and returns its encoder.
func learnFrom(ctx context.Context, m any, src vectors.Source) (model.Encoder, error) {
	d, err := methodtest.Data(src)
	if err != nil {
		return nil, err
	}
	full := reflect.New(reflect.TypeOf(m)).Elem()
	full.Set(reflect.ValueOf(m))
	if bits := full.FieldByName("Bits"); bits.IsValid() && bits.Int() == 0 {
		bits.SetInt(64) // as New does
	}
	m = full.Interface()
	if l, ok := m.(learner); ok {
		return l.learn(ctx, d)
	}
	made, err := m.(Method).Train(ctx, d)
	if err != nil {
		return nil, err
	}
	return made.Encoder, nil
}

// mustLabelled is all rows of a source as supervised methods take them.
func mustLabelled(t *testing.T, x vectors.Source) *solve.Labelled {
	t.Helper()
	d, err := methodtest.Data(x)
	if err != nil {
		t.Fatal(err)
	}
	l, err := solve.DrawLabelled(d, -1, 1)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range methods {
		if d.Name == "" || d.Title == "" || d.Source == "" || seen[d.Name] {
			t.Errorf("%+v", d)
		}
		seen[d.Name] = true
	}
	if _, err := New("magic", Options{}); err == nil {
		t.Error("there is a method named magic")
	}
	if len(Names()) != len(methods) {
		t.Error("not every method has a name")
	}
}

// randomPairs is clusters with pairs of some rows.
func randomPairs(seed uint64, rows, cols, classes, pairs int) vectors.Source {
	x, class := methodtest.ClusterMatrix(seed, rows, cols, classes)
	rng := rand.New(rand.NewPCG(seed, 3))
	var list []supervision.Pair
	for range pairs {
		a, b := int32(rng.IntN(rows)), int32(rng.IntN(rows))
		if a == b {
			continue
		}
		p := supervision.Pair{A: a, B: b, Y: -1}
		if class[a] == class[b] {
			p.Y = 1
		}
		list = append(list, p)
	}
	return methodtest.WithPairs(x, list)
}

// sources is one source of each kind of supervision.
func sources(rows int) map[string]vectors.Source {
	return map[string]vectors.Source{
		"classes": methodtest.Classed(5, rows, 6, 4),
		"tags":    methodtest.Tagged(5, rows, 6, 4),
		"pairs":   randomPairs(5, rows, 6, 4, 6*rows),
	}
}

// A method that cannot make as many bits as asked says how many it can, and that is the truth.
func TestMostBits(t *testing.T) {
	ctx := context.Background()
	x, class := methodtest.ClusterMatrix(1, 40, 4, 3)
	d, err := methodtest.Data(vectors.WithLabels(x, methodtest.ClassNames(class)))
	if err != nil {
		t.Fatal(err)
	}
	limited := map[string]bool{"pca-itq": true, "agh": true, "agh2": true, "sth": true, "sth-kernel": true}
	for _, name := range Names() {
		o := Options{Bits: 100, Anchors: 30}
		o.FastHash.Trees.Rounds = 1
		_, err := Train(ctx, name, d, o)
		var most *BitsError
		if errors.As(err, &most) != limited[name] || !limited[name] && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if most == nil {
			continue
		}
		if most.Asked != 100 || !strings.Contains(err.Error(), "100") ||
			!strings.Contains(err.Error(), strconv.Itoa(most.Most)) {
			t.Errorf("%s: %v", name, err)
		}
		o.Bits = most.Most
		if m, err := Train(ctx, name, d, o); err != nil || m.Encoder.Bits() != most.Most {
			t.Errorf("%s: not even %d bits: %v", name, most.Most, err)
		}
		o.Bits++
		if _, err := Train(ctx, name, d, o); err == nil {
			t.Errorf("%s: %d bits are possible", name, o.Bits)
		}
	}
}
