package method

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

// unequalRows are clusters of eight columns whose units differ, and four columns of noise in the given unit.
func unequalRows(seed uint64, rows int, noise float32) (vectors.Matrix, []int32) {
	told, class := methodtest.ClusterMatrix(seed, rows, 8, 3)
	rng := rand.New(rand.NewPCG(seed, 8))
	x := vectors.Matrix{Rows: rows, Cols: 12, Data: make([]float32, rows*12)}
	for i := range rows {
		copy(x.Row(i), told.Row(i))
		for j := 8; j < 12; j++ {
			x.Row(i)[j] = noise * float32(rng.NormFloat64())
		}
	}
	return x, class
}

func dataOf(t *testing.T, src vectors.Source) *supervision.Data {
	t.Helper()
	d, err := methodtest.Data(src)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Columns are standardised where that is better for what is known of the rows, and only there.
func TestScaleIsDecidedByTheRows(t *testing.T) {
	loud, class := unequalRows(1, 300, 1e4)             // noise hides the classes: standardise
	quiet, _ := unequalRows(1, 300, 1e-4)               // noise would be heard: do not
	alike, _ := methodtest.ClusterMatrix(1, 300, 12, 3) // nothing to decide
	names := methodtest.ClassNames(class)
	tags := make([][]string, len(names))
	var pairs []supervision.Pair
	for i, name := range names {
		tags[i] = []string{name, "t" + name}
		for j := range 60 {
			y := int8(-1)
			if other := (i + 1 + 4*j) % len(names); class[other] == class[i] {
				y = 1
			}
			pairs = append(pairs, supervision.Pair{A: int32(i), B: int32((i + 1 + 4*j) % len(names)), Y: y})
		}
	}
	for name, c := range map[string]struct {
		src    vectors.Source
		mode   string
		scaled bool
		why    string
	}{
		"loud":          {vectors.WithLabels(loud, names), "", true, "columns standardised: "},
		"loud, off":     {vectors.WithLabels(loud, names), StandardizeOff, false, ""},
		"loud, tags":    {vectors.Table{X: loud, Tags: tags}, "", true, "columns standardised: "},
		"loud, pairs":   {methodtest.WithPairs(loud, pairs), "", true, "columns standardised: "},
		"loud, unknown": {loud, "", false, ""},
		"unknown, on":   {loud, StandardizeOn, true, "as asked"},
		"quiet":         {vectors.WithLabels(quiet, names), "", false, "columns as they are: "},
		"alike":         {vectors.WithLabels(alike, names), "", false, ""},
		"few":           {vectors.WithLabels(loud.Slice(0, 30), names[:30]), "", false, "too few"},
	} {
		d := dataOf(t, c.src)
		var first Scale
		for _, threads := range []int{1, 2} {
			s, err := ScaleOf(context.Background(), d, Options{Standardize: c.mode, Threads: threads})
			if err != nil {
				t.Fatal(name, err)
			}
			if (s.Map != nil) != c.scaled || !strings.Contains(s.Reason, c.why) || (s.Reason == "") != (c.why == "") {
				t.Errorf("%s: standardised %v, %q", name, s.Map != nil, s.Reason)
			}
			if threads > 1 && s.Reason != first.Reason {
				t.Errorf("%s: on two threads %q, on one %q", name, s.Reason, first.Reason)
			}
			first = s
		}
	}
}

// The definition: a model of standardised columns gives the codes that the method without gives standardised rows.
func TestStandardisedModelEqualsTheMethodOnStandardisedRows(t *testing.T) {
	ctx := context.Background()
	x, class := unequalRows(1, 150, 1e4)
	q, _ := unequalRows(2, 60, 1e4)
	names := methodtest.ClassNames(class)
	d := dataOf(t, vectors.WithLabels(x, names))
	s, err := ScaleOf(ctx, d, Options{Standardize: StandardizeOn})
	if err != nil {
		t.Fatal(err)
	}
	through := func(x vectors.Matrix) vectors.Matrix {
		y, err := model.Transform(ctx, 1, x, s.Map)
		if err != nil {
			t.Fatal(err)
		}
		return y
	}
	standard := dataOf(t, vectors.WithLabels(through(x), names))
	for _, about := range methods {
		if about.ScaleFree {
			continue
		}
		o := Options{Bits: 8, Anchors: 40}
		o.Standardize = StandardizeOff
		want, err := Train(ctx, about.Name, standard, o)
		if err != nil {
			t.Fatal(about.Name, err)
		}
		raw, err := Train(ctx, about.Name, d, o)
		if err != nil {
			t.Fatal(about.Name, err)
		}
		o.Standardize = StandardizeOn
		got, err := Train(ctx, about.Name, d, o)
		if err != nil {
			t.Fatal(about.Name, err)
		}
		codes := encode(got.Encoder, q).Data
		if !slices.Equal(codes, encode(want.Encoder, through(q)).Data) {
			t.Errorf("%s: other codes than of standardised rows", about.Name)
		}
		if slices.Equal(codes, encode(raw.Encoder, q).Data) {
			t.Errorf("%s: the same codes as of rows as they are", about.Name)
		}
		if got.Info.Scale != s.Reason || s.Reason == "" || raw.Info.Scale != "" {
			t.Errorf("%s: the models say %q and %q", about.Name, got.Info.Scale, raw.Info.Scale)
		}
	}
}

// Methods said to be free of scale give the same codes in any units, and methods without labels give others.
func TestFreeOfScale(t *testing.T) {
	ctx := context.Background()
	x, class := methodtest.ClusterMatrix(1, 200, 8, 3)
	names := methodtest.ClassNames(class)
	other := vectors.Matrix{Rows: x.Rows, Cols: x.Cols, Data: slices.Clone(x.Data)}
	for i := range other.Data {
		if j := i % 8; j%2 == 1 {
			other.Data[i] *= 1 << 12 // exact: bins stay what they were
		}
	}
	for _, about := range methods {
		o := Options{Bits: 8, Anchors: 40, Standardize: StandardizeOff}
		o.FastHash.Trees.Rounds = 3
		if strings.HasPrefix(about.Name, "classifier") {
			o.Standardize = "" // it standardises by itself
		}
		var codes [2][]uint64
		for k, m := range []vectors.Matrix{x, other} {
			made, err := Train(ctx, about.Name, dataOf(t, vectors.WithLabels(m, names)), o)
			if err != nil {
				t.Fatal(about.Name, err)
			}
			codes[k] = encode(made.Encoder, m).Data
		}
		differ := 0
		for i, c := range codes[0] {
			if c != codes[1][i] {
				differ++
			}
		}
		plain := !about.ScaleFree && !about.Supervised // classes would make up for it
		if about.ScaleFree && differ > len(class)/10 || plain && differ < len(class)/10 {
			t.Errorf("%s: free of scale %v, and %d of %d codes differ", about.Name, about.ScaleFree, differ, len(class))
		}
	}
}
