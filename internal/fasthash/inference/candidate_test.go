package inference

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/fasthash/affinity"
)

// rooms makes room for candidates.
func rooms(candidates, rows int) [][]int8 {
	into := make([][]int8, candidates)
	for c := range into {
		into[c] = make([]int8, rows)
	}
	return into
}

// Candidates are the same inferred together, on any number of threads, as one by one; so is the number of parts.
func TestCandidatesTogetherEqualOneByOne(t *testing.T) {
	const rows, candidates = 250, 5
	all := kinds(t, rand.New(rand.NewPCG(4, 4)), rows)
	for _, kind := range kindNames {
		for name, o := range map[string]Options{"plain": {}, "hinge": {Loss: Hinge}, "weighted": {SimilarWeight: 3},
			"balanced": {BalanceClasses: true}, "icm": {Method: ICM}, "spectral": {Method: Spectral}} {
			if o.BalanceClasses && kind != "classes" && kind != "sampled" || o.Method == Spectral && kind == "pairs" {
				continue // impossible, or slow
			}
			t.Run(kind+"/"+name, func(t *testing.T) {
				o.noMerge, o.side = true, rows // all rows, side by side
				var want [][]int8
				parts := 0
				for _, threads := range []int{1, 2, 4} {
					o.Threads = threads
					inf, _ := pushSome(t, rand.New(rand.NewPCG(4, 4)), all[kind], o, 9)
					if q, ok := inf.p.(*grouped); ok {
						q.cut.most = 2
					}
					if want == nil {
						for c := range candidates {
							z, err := inf.InferCandidate(ctx, c)
							if err != nil {
								t.Fatal(err)
							}
							want = append(want, slices.Clone(z))
						}
						parts = inf.Parts()
						inf.parts.Store(0)
					}
					got := rooms(candidates, rows)
					if err := inf.InferCandidates(ctx, got); err != nil {
						t.Fatal(err)
					}
					if !slices.EqualFunc(got, want, slices.Equal) || inf.Parts() != parts {
						t.Errorf("on %d threads other candidates, or %d parts instead of %d", threads, inf.Parts(), parts)
					}
					if side := threads > 1 && inf.opt.Method == BlockGC; side != (inf.side != nil) {
						t.Errorf("on %d threads the candidates are inferred side by side: %v", threads, !side)
					}
				}
				if parts == 0 && o.Method == "" && (kind == "classes" || kind == "tags" && name == "weighted") {
					t.Error("no block was cut in parts: the test shows little")
				}
			})
		}
	}
}

// Candidates end when they are told to, and there are none of more bits than a code has.
func TestCandidatesTogetherEnd(t *testing.T) {
	class := make([]int32, worthSide)
	for i := range class {
		class[i] = int32(i % 2)
	}
	y, err := affinity.ByClass(class)
	if err != nil {
		t.Fatal(err)
	}
	inf, err := New(y, 1, Options{Threads: 2, noMerge: true}, 1)
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("enough")
	over, cancel := context.WithCancelCause(ctx)
	cancel(stop)
	into := rooms(3, len(class))
	if err := inf.InferCandidates(over, into); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
	if err := inf.InferCandidates(ctx, into); err != nil {
		t.Error(err)
	}
	inf.Push(into[0])
	if err := inf.InferCandidates(ctx, into); err == nil {
		t.Error("a second bit of one is inferred")
	}
}
