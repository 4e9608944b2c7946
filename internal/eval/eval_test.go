package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
)

// randomTruth draws one of the three kinds.
func randomTruth(rng *rand.Rand, kind, queries, base int) Truth {
	switch kind {
	case 0:
		q, b := randomClasses(rng, queries, 3), randomClasses(rng, base, 3)
		q[rng.IntN(queries)], b[rng.IntN(base)] = 7, -1 // a class without items, an item without a class
		return ByClass(q, b)
	case 1:
		rows := func(n int) ([]int, []int32) {
			start, tag := []int{0}, []int32{}
			for range n {
				for _, k := range rng.Perm(4)[:rng.IntN(5)] {
					tag = append(tag, int32(k))
				}
				start = append(start, len(tag))
			}
			return start, tag
		}
		qs, qt := rows(queries)
		bs, bt := rows(base)
		return byTags(qs, qt, bs, bt, 1+rng.IntN(2))
	}
	var list []affinity.Pair
	for range rng.IntN(2 * queries * base) {
		list = append(list, affinity.Pair{A: int32(rng.IntN(queries)), B: int32(rng.IntN(base)), Y: int8(2*rng.IntN(2) - 1)})
	}
	return byPairs(queries, base, list)
}

func TestRetrievalEqualsTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 90 {
		n, m := 1+rng.IntN(4), 1+rng.IntN(7)
		bits := []int{1, 8, 64, 70, 130}[rng.IntN(5)]
		vary := 1 + rng.IntN(4)
		queries, base := randomCodes(rng, n, bits, vary), randomCodes(rng, m, bits, vary)
		truth := randomTruth(rng, trial%3, n, m)
		k, cut, curve := []int{1, max(1, m/2), m}, 1+rng.IntN(8), 1+rng.IntN(m)
		got, err := Retrieval(context.Background(), queries, base, truth, Options{K: k, Cut: cut, CurveTo: curve})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(k)
		want := newProblem(queries, base, truth).report(slices.Compact(k), cut, curve, bits)
		equalNumbers(t, fmt.Sprintf("trial %d: %T, %d queries, %d items, %d bits", trial, truth, n, m, bits), got, want)
		if t.Failed() {
			return
		}
	}
}

// Mean over the places of a bucket, term by term.
func TestClosedFormEqualsTheSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	h := newHarmonic(200_000)
	for trial := range 300 {
		n := 1 + rng.IntN([]int{3, 40, 5000}[trial%3])
		p := rng.IntN(n + 1)
		N := rng.IntN([]int{1, 100, 190_000}[trial/3%3])
		P := rng.IntN(N + 1)
		var mean, worst, best float64
		for s := 1; s <= n; s++ {
			c := 0.0
			if n > 1 {
				c = float64(p-1) / float64(n-1)
			}
			mean += float64(p) / float64(n) * (float64(P+1) + float64(s-1)*c) / float64(N+s)
			if s <= p {
				best += float64(P+s) / float64(N+s)
				worst += float64(P+s) / float64(N+n-p+s)
			}
		}
		m, w, b := h.bucketAP(n, p, N, P)
		for i, pair := range [][2]float64{{m, mean}, {w, worst}, {b, best}} {
			if math.Abs(pair[0]-pair[1]) > 1e-9*max(1, pair[1]) {
				t.Errorf("n %d, p %d, N %d, P %d: sum %d is %v, term by term %v", n, p, N, P, i, pair[0], pair[1])
			}
		}
	}
}

func TestReportDoesNotDependOnThreads(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	queries, base := randomCodes(rng, 333, 70, 9), randomCodes(rng, 900, 70, 9)
	classes := randomClasses(rng, 333, 7)
	truth := ByClass(classes, randomClasses(rng, 900, 7))
	var first *Report
	for _, threads := range []int{1, 2, 7} {
		last := 0
		r, err := Retrieval(context.Background(), queries, base, truth, Options{Classes: classes, Threads: threads, Progress: func(done, total int) {
			if done <= last || total != 333 {
				t.Errorf("progress %d of %d after %d", done, total, last)
			}
			last = done
		}})
		if err != nil || last != 333 {
			t.Fatalf("progress ended at %d, error %v", last, err)
		}
		if first == nil {
			first = r
		}
		if !reflect.DeepEqual(r, first) {
			t.Errorf("%d threads give another report", threads)
		}
	}
}

// Hostile shapes: JSON cannot hold NaN or infinity, so encoding finds them.
func TestReportsAreFiniteAndInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for trial := range 200 {
		n, m, bits := 1+rng.IntN(5), 1+rng.IntN(60), 1+rng.IntN(20)
		queries, base := randomCodes(rng, n, bits, rng.IntN(6)), randomCodes(rng, m, bits, rng.IntN(6))
		var truth Truth
		switch trial % 5 {
		case 0:
			truth = byPairs(n, m, nil)
		case 1:
			truth = ByClass(make([]int32, n), make([]int32, m))
		default:
			truth = randomTruth(rng, trial%3, n, m)
		}
		r, err := Retrieval(context.Background(), queries, base, truth, Options{Cut: rng.IntN(3)})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		var back Report
		if err := json.Unmarshal(text, &back); err != nil || back.MAP != r.MAP {
			t.Fatalf("trial %d: read back %v, error %v", trial, back.MAP, err)
		}
		if !(0 <= r.MAPLow && r.MAPLow <= r.MAP && r.MAP <= r.MAPHigh && r.MAPHigh <= 1) {
			t.Errorf("trial %d: %v <= %v <= %v", trial, r.MAPLow, r.MAP, r.MAPHigh)
		}
	}
}

// wantWarning looks for a warning with a code that names some facts.
func wantWarning(t *testing.T, r *Report, code message.Code, facts ...string) {
	t.Helper()
	for _, doubt := range r.doubts {
		if message.Differs(doubt, code, facts...) == "" && slices.Contains(r.Warnings, doubt.Error()) {
			return
		}
	}
	t.Errorf("no warning %s that names %q; all: %q", code, facts, r.Warnings)
}

func wantNoWarning(t *testing.T, r *Report, code message.Code) {
	t.Helper()
	if slices.ContainsFunc(r.doubts, func(doubt error) bool { return message.Is(doubt, code) }) {
		t.Errorf("the warning %s is given: %q", code, r.Warnings)
	}
}

func TestWarnings(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(13, 14))
	queries, base := randomCodes(rng, 40, 16, 16), randomCodes(rng, 600, 16, 16)
	classes := randomClasses(rng, 600, 6)
	q := randomClasses(rng, 40, 6)
	q[3], q[4] = 9, 9

	judge := func(queries, base hamming.Codes, truth Truth, o Options) *Report {
		t.Helper()
		r, err := Retrieval(ctx, queries, base, truth, o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := judge(queries, base, ByClass(q, classes), Options{K: []int{5000, 10}})
	wantWarning(t, r, "queries-without-relevant", "2 of 40")
	wantWarning(t, r, "rank-left-out", "5000", "600")
	if r.Judged != 38 || len(r.Precision) != 1 {
		t.Errorf("%d judged, precision %v", r.Judged, r.Precision)
	}

	r = judge(queries, hamming.NewCodes(600, 16), ByClass(q, classes), Options{})
	wantWarning(t, r, "ties", fmt.Sprintf("%.3f", r.MAPLow), fmt.Sprintf("%.3f", r.MAPHigh))
	wantWarning(t, r, "few-codes", "1", "600")

	r = judge(queries, base, ByClass(make([]int32, 40), make([]int32, 600)), Options{})
	wantWarning(t, r, "all-relevant")
	r = judge(queries, base, ByClass(make([]int32, 40), append(make([]int32, 599), 1)), Options{})
	wantNoWarning(t, r, "all-relevant")

	r = judge(queries, base, byPairs(40, 600, []affinity.Pair{{A: 0, B: 0, Y: 1}, {A: 0, B: 1, Y: -1}}), Options{K: []int{2, 3}})
	wantWarning(t, r, "queries-without-relevant", "39 of 40")
	wantWarning(t, r, "few-ranked", "40")

	r = judge(queries, base, byPairs(40, 600, nil), Options{})
	wantWarning(t, r, "nothing-relevant")
}

func TestRefusals(t *testing.T) {
	ctx := context.Background()
	a, b := hamming.NewCodes(3, 8), hamming.NewCodes(4, 8)
	truth := ByClass(make([]int32, 3), make([]int32, 4))
	for name, c := range map[string]struct {
		queries, base hamming.Codes
		truth         Truth
		o             Options
		code          message.Code
		fact          string
	}{
		"bits":     {a, hamming.NewCodes(4, 16), truth, Options{}, "bits-mismatch", "16"},
		"queries":  {hamming.NewCodes(0, 8), b, ByClass(nil, make([]int32, 4)), Options{}, "no-queries", ""},
		"base":     {a, hamming.NewCodes(0, 8), ByClass(make([]int32, 3), nil), Options{}, "empty-base", ""},
		"rank":     {a, b, truth, Options{K: []int{0}}, "rank-out-of-range", "0"},
		"cut":      {a, b, truth, Options{Cut: -1}, "cut-out-of-range", "-1"},
		"too long": {hamming.NewCodes(3, 70_000), hamming.NewCodes(4, 70_000), truth, Options{}, "too-many-bits", "70000"},
	} {
		_, err := Retrieval(ctx, c.queries, c.base, c.truth, c.o)
		if d := message.Differs(err, c.code, c.fact); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	stop := errors.New("enough")
	ended, cancel := context.WithCancelCause(ctx)
	cancel(stop)
	if _, err := Retrieval(ended, a, b, truth, Options{}); !errors.Is(err, stop) {
		t.Errorf("cancelled: error %v", err)
	}
	defer func() {
		if p := recover(); p != truthMisfits {
			t.Errorf("recovered %v", p)
		}
	}()
	_, _ = Retrieval(ctx, b, a, truth, Options{})
}

func TestUnseen(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	queries, base := randomCodes(rng, 60, 16, 5), randomCodes(rng, 200, 16, 5)
	qc, bc := randomClasses(rng, 60, 5), randomClasses(rng, 200, 5)
	r, err := Unseen(context.Background(), queries, base, bc, []int32{4, 1, 4, 9},
		Options{Classes: qc, ClassNames: []string{"ant", "bee", "cow", "dog", "eel"}})
	if err != nil {
		t.Fatal(err)
	}
	// By definition queries of other classes are ignored.
	var list []affinity.Pair
	for q := range qc {
		for i := range bc {
			if qc[q] != 1 && qc[q] != 4 {
				continue
			}
			y := int8(-1)
			if qc[q] == bc[i] {
				y = 1
			}
			list = append(list, affinity.Pair{A: int32(q), B: int32(i), Y: y})
		}
	}
	whole, err := Retrieval(context.Background(), queries, base, byPairs(60, 200, list), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Base != 200 || !near(r.MAP, whole.MAP) || !near(r.MAPLow, whole.MAPLow) || !near(r.PRArea, whole.PRArea) || !near(r.Prior, whole.Prior) {
		t.Errorf("%d items, MAP %v, chance %v; by definition %v and %v", r.Base, r.MAP, r.Prior, whole.MAP, whole.Prior)
	}
	if !slices.Equal(r.HeldOut, []string{"bee", "eel", "9"}) || len(r.PerClass) != 2 {
		t.Errorf("held out %q, per class %+v", r.HeldOut, r.PerClass)
	}
	wantWarning(t, r, "class-without-query", "9")
	if _, err := Unseen(context.Background(), queries, base, bc, []int32{9}, Options{Classes: qc}); err == nil {
		t.Error("a class without items was judged")
	}
	if _, err := Unseen(context.Background(), queries, base, bc, nil, Options{Classes: qc}); err == nil {
		t.Error("no class was judged")
	}
}
