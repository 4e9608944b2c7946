package method

import (
	"context"
	"errors"
	"hashgrove/internal/message"
	"hashgrove/internal/supervision"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
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

func TestPlanesTellAngles(t *testing.T) {
	// For vectors at an angle θ the share of different bits is about θ/π.
	e := train(t, lsh{Options{Bits: 4000, Seed: 3}}, vectors.Matrix{Rows: 1, Cols: 2, Data: []float32{0, 0}})
	pair := encode(e, vectors.Matrix{Rows: 2, Cols: 2, Data: []float32{1, 0, 1, 1}})
	if share := float64(hamming.Distance(pair.Row(0), pair.Row(1))) / 4000; math.Abs(share-0.25) > 0.03 {
		t.Errorf("vectors at 45 degrees differ in %.3f of the bits", share)
	}
}

func TestRandomCodes(t *testing.T) {
	many, few := RandomCodes(300, 65, 4), RandomCodes(100, 65, 4)
	if !slices.Equal(few.Data, many.Data[:len(few.Data)]) || slices.Equal(few.Data, RandomCodes(100, 65, 5).Data) {
		t.Error("fewer rows are not the first of more, or another seed gives the same codes")
	}
	if !slices.Equal(many.Prefix(65).Data, many.Data) {
		t.Error("bits are set beyond the length")
	}
}

// Methods that learn bit after bit give fewer bits as the first of more.
func TestFewerBitsAreAPrefix(t *testing.T) {
	src := methodtest.Classed(5, 200, 6, 4)
	for _, m := range []func(bits int) any{
		func(bits int) any { return lsh{Options{Bits: bits, Seed: 9}} },
		func(bits int) any { return splh{Options{Bits: bits, Seed: 9}} },
		func(bits int) any { return classifier{Options: Options{Bits: bits, Seed: 9}} },
	} {
		long, err := learnFrom(t.Context(), m(12), src)
		if err != nil {
			t.Fatal(err)
		}
		short, err := learnFrom(t.Context(), m(7), src)
		if err != nil || short.Fingerprint(7) != long.Fingerprint(7) {
			t.Errorf("%T: fewer bits are not the first of more: %v", m(7), err)
		}
	}
}

func TestRefusals(t *testing.T) {
	pairs, classes := randomPairs(1, 40, 5, 3, 100), methodtest.Classed(1, 40, 5, 3)
	for _, c := range []struct {
		m    any
		x    vectors.Source
		code message.Code
		fact string
	}{
		{lsh{Options{Bits: -1}}, classes, "bits-out-of-range", "-1"},
		{lsh{Options{Bits: hamming.MaxBits + 1}}, classes, "bits-out-of-range", "4097"},
		{lsh{Options{Bits: 4096}}, vectors.Matrix{Cols: 1 << 20}, "weights-out-of-range", "1048576"},
		{sign{}, vectors.Matrix{Cols: hamming.MaxBits + 1}, "bits-out-of-range", "4097"},
		{classifier{}, pairs, "only-pairs", ""},
		{sdh{}, pairs, "only-pairs", ""},
		{ccaITQ{}, pairs, "only-pairs", ""},
		{ksh{Options{Bits: 4096, Anchors: 1 << 20}}, classes, "weights-out-of-range", "1048576"},
		{ksh{Options{Anchors: -7}}, classes, "wrong-count", "-7"},
		{tsh{Learner: tshBudgeted, Options: Options{Bits: -6}}, classes, "bits-out-of-range", "-6"},
	} {
		_, err := learnFrom(t.Context(), c.m, c.x)
		if d := message.Differs(err, c.code, c.fact); d != "" {
			t.Errorf("%T: %s", c.m, d)
		}
	}
	for _, m := range []any{bre{Options: Options{Bits: 4}, Sweeps: 2}, splh{Options{Bits: 4}}, sth{Options: Options{Bits: 4}},
		ksh{Options{Bits: 8, Anchors: 10}}} {
		if _, err := learnFrom(t.Context(), m, pairs); err != nil {
			t.Errorf("%T with pairs: %v", m, err)
		}
	}
	for _, name := range Names() {
		_, err := New(name, Options{Standardize: "sometimes"})
		if d := message.Differs(err, "no-such-mode", "auto", "on", "off", `"sometimes"`); d != "" {
			t.Errorf("%s: %s", name, d)
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
	d := dataOf(t, vectors.WithLabels(x, methodtest.ClassNames(class)))
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
