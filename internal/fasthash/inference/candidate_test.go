package inference

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"hashgrove/internal/fasthash/affinity"
)

// BenchmarkHardClasses infers candidates of classes that are hard to learn: after 30 bits nearly every row is a group
// of its own.
func BenchmarkHardClasses(b *testing.B) {
	for _, c := range []struct {
		rows, classes int
		apart         float64
	}{{100_000, 100, 0.4}, {100_000, 10, 0.4}, {50_000, 10, 20}} {
		b.Run(fmt.Sprintf("rows=%d/classes=%d", c.rows, c.classes), func(b *testing.B) {
			class, seen := crowd(c.rows, c.classes, c.apart)
			h := make([]int8, c.rows)
			y, err := affinity.ByClass(class)
			if err != nil {
				b.Fatal(err)
			}
			const bits, candidates = 48, 6
			fields, into := make([]float64, c.rows), rooms(candidates, c.rows)
			var infer, push, field time.Duration
			for b.Loop() {
				inf, err := New(y, bits, Options{}, 1)
				if err != nil {
					b.Fatal(err)
				}
				for range bits {
					begin := time.Now()
					if err := inf.InferCandidates(ctx, into); err != nil {
						b.Fatal(err)
					}
					infer += time.Since(begin)
					copy(h, into[candidates-1])
					begin = time.Now()
					for range candidates {
						if err := inf.Fields(ctx, h, fields); err != nil {
							b.Fatal(err)
						}
					}
					field += time.Since(begin)
					predict(seen, h)
					begin = time.Now()
					inf.Push(h)
					push += time.Since(begin)
				}
			}
			per := func(d time.Duration, calls int) float64 {
				return float64(d.Microseconds()) / 1000 / float64(b.N*bits*calls)
			}
			b.ReportMetric(per(infer, candidates), "infer-ms")
			b.ReportMetric(per(field, candidates), "fields-ms")
			b.ReportMetric(per(push, 1), "push-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// wide is the number of columns of a crowd.
const wide = 12

// crowd draws classes around centres that are about so far apart, and what is seen of each row.
func crowd(rows, classes int, apart float64) (class []int32, seen [][wide]float64) {
	r := rand.New(rand.NewPCG(1, 1))
	centre := make([][wide]float64, classes)
	for c := range centre {
		for k := range wide {
			centre[c][k] = apart * r.NormFloat64()
		}
	}
	class, seen = make([]int32, rows), make([][wide]float64, rows)
	for i := range seen {
		class[i] = int32(i % classes)
		for k := range wide {
			seen[i][k] = centre[class[i]][k] + r.NormFloat64()
		}
	}
	return class, seen
}

// predict replaces a bit by what can be seen of it: the sign along the difference of the means of its two sides.
func predict(seen [][wide]float64, h []int8) {
	var to [wide]float64
	for i, v := range h {
		for k := range wide {
			to[k] += float64(v) * seen[i][k]
		}
	}
	for i := range h {
		sum := 0.0
		for k := range wide {
			sum += to[k] * seen[i][k]
		}
		h[i] = 1
		if sum < 0 {
			h[i] = -1
		}
	}
}

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
						inf.p.clearParts()
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
