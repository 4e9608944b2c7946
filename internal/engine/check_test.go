package engine_test

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"hashgrove/api"
	"hashgrove/internal/engine"
	"hashgrove/internal/engine/enginetest"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/searchtest"
)

// lenient is an engine that ignores filters of searches.
type lenient struct{ *enginetest.Memory }

func (l lenient) Search(ctx context.Context, q engine.Query) ([][]index.Hit, error) {
	q.Filter = index.Filter{}
	return l.Memory.Search(ctx, q)
}

// strict is an engine that counts only distances below the radius.
type strict struct{ *enginetest.Memory }

func (s strict) Search(ctx context.Context, q engine.Query) ([][]index.Hit, error) {
	if q.Radius > 0 {
		q.Radius--
	}
	return s.Memory.Search(ctx, q)
}

// TestCheckFindsCauses gives an engine one fault at a time; the check must name that cause and no other.
func TestCheckFindsCauses(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		name   string
		break_ func(m *enginetest.Memory, b *index.Batch) engine.Engine
		want   []string
		recall float64 // of the first search at most
	}{
		{"nothing", func(m *enginetest.Memory, _ *index.Batch) engine.Engine { return m }, nil, 1},
		{"ties", func(m *enginetest.Memory, _ *index.Batch) engine.Engine {
			m.Answer = func(hits []index.Hit) []index.Hit {
				slices.SortStableFunc(hits, func(a, b index.Hit) int {
					if ranked(a) != ranked(b) {
						return ranked(a) - ranked(b)
					}
					return b.ID.Compare(a.ID)
				})
				return hits
			}
			return m
		}, []string{engine.CauseTies}, 1},
		{"approximation", func(m *enginetest.Memory, _ *index.Batch) engine.Engine {
			m.Answer = func(hits []index.Hit) []index.Hit { return hits[min(1, len(hits)):] }
			return m
		}, []string{engine.CauseApprox, engine.CauseRadius}, 0.9},
		{"distance", func(m *enginetest.Memory, _ *index.Batch) engine.Engine {
			m.Answer = func(hits []index.Hit) []index.Hit {
				for i := range hits {
					hits[i].Distance++
					hits[i].MarginDistance++
				}
				return hits
			}
			return m
		}, []string{engine.CauseDistance}, 1},
		{"order", func(m *enginetest.Memory, _ *index.Batch) engine.Engine {
			m.Answer = func(hits []index.Hit) []index.Hit {
				slices.Reverse(hits)
				return hits
			}
			return m
		}, []string{engine.CauseOrder, engine.CauseTies}, 1},
		{"filter", func(m *enginetest.Memory, _ *index.Batch) engine.Engine { return lenient{m} },
			[]string{engine.CauseFilter}, 1},
		{"radius", func(m *enginetest.Memory, _ *index.Batch) engine.Engine { return strict{m} },
			[]string{engine.CauseRadius}, 1},
		{"bit order", func(m *enginetest.Memory, b *index.Batch) engine.Engine {
			for i, w := range b.Codes.Data {
				b.Codes.Data[i] = bits.ReverseBytes64(bits.Reverse64(w))
			}
			return m
		}, []string{engine.CauseBitOrder}, 1},
		{"missing", func(m *enginetest.Memory, b *index.Batch) engine.Engine {
			b.IDs[5] = index.Text("someone else")
			return m
		}, []string{engine.CauseMissing, engine.CauseExtra}, 1},
		{"details", func(m *enginetest.Memory, b *index.Batch) engine.Engine {
			b.Labels[5], b.Tags[6], b.Attributes[7] = "other", []string{"other"}, nil
			return m
		}, []string{engine.CauseDetails}, 1},
	} {
		for _, f := range []hamming.Fingerprint{searchtest.Fingerprint, searchtest.Fingerprint.WithDetail(5)} {
			t.Run(fmt.Sprint(c.name, " ", f.Detail(64)), func(t *testing.T) {
				b, exact, m := searchtest.Items(300, 64, 3), searchtest.Items(300, 64, 3), enginetest.NewMemory()
				b.Fingerprint, exact.Fingerprint = f, f
				e := c.break_(m, b)
				if _, err := m.Prepare(ctx, engine.Space{Bits: 64, Fingerprint: f}); err != nil {
					t.Fatal(err)
				}
				if err := m.Write(ctx, b); err != nil {
					t.Fatal(err)
				}
				r := causesOf(t, e, exact, c.want)
				if r.Conforms() != (c.want == nil) || len(r.Searches) != 4 || r.Searches[0].Recall > c.recall {
					t.Errorf("%+v", r)
				}
				for _, s := range r.Searches {
					if s.Same+s.Ties+s.Differ != 30 || c.name == "ties" && (s.Recall != 1 || s.Differ > 0) {
						t.Errorf("%+v", s)
					}
				}
			})
		}
	}
}

// ranked returns the distance by which a hit is ranked.
func ranked(h index.Hit) int { return max(h.Distance, h.MarginDistance) }

// causesOf checks an engine, and the causes of what it finds.
func causesOf(t *testing.T, e engine.Engine, exact *index.Batch, causes []string) *engine.CheckReport {
	f, err := index.Parse(`price < 20`)
	if err != nil {
		t.Fatal(err)
	}
	var read, searches []int // what was told about the progress
	total := 0
	r, err := compared(t, e, exact, engine.CheckOptions{
		Queries: searchtest.Items(30, 64, 4).Codes, Radius: -1, Filters: []index.Filter{f}, Answers: 2,
		Read: func(done, of int) { read, total = append(read, done), of },
		Progress: func(done, of int) {
			if searches = append(searches, done); of != 4 {
				t.Errorf("search %d of %d", done, of)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(read) == 0 || !slices.IsSorted(read) || total < len(exact.IDs) || !slices.Equal(searches, []int{0, 1, 2, 3, 4}) {
		t.Errorf("told of %v items of %d and of the searches %v", read, total, searches)
	}
	for _, want := range causes[:min(1, len(causes))] {
		if r.Causes[want] == 0 {
			t.Errorf("%s was not found: %v", want, r.Causes)
		}
	}
	for cause := range r.Causes {
		if !slices.Contains(causes, cause) {
			t.Errorf("%s was found: %v", cause, r.Differences)
		}
	}
	checkAnswersShown(t, r)
	return r
}

func sameHit(a, b api.Hit) bool { return a.ID == b.ID && a.Distance == b.Distance }

// checkAnswersShown: of every search two answers are kept, or one where all are the same, and those that differ come first.
func checkAnswersShown(t *testing.T, r *engine.CheckReport) {
	t.Helper()
	shown := map[string][]string{}
	for _, a := range r.Answers {
		shown[a.Search] = append(shown[a.Search], a.Outcome)
		if same := slices.EqualFunc(a.Ours, a.Theirs, sameHit); same != (a.Outcome == "same") && len(a.Ours) < 20 {
			t.Errorf("%+v", a)
		}
	}
	for _, s := range r.Searches {
		var want []string
		for outcome, n := range map[string]int{"differ": s.Differ, "ties": s.Ties} {
			for range min(n, 2) {
				want = append(want, outcome)
			}
		}
		slices.Sort(want)
		if want = want[:min(2, len(want))]; len(want) < 2 && s.Same > 0 {
			want = append(want, "same")
		}
		if !slices.Equal(shown[s.Search], want) {
			t.Errorf("%s shows %v, want %v", s.Search, shown[s.Search], want)
		}
	}
}

// compared checks an engine against an index of some items.
func compared(t *testing.T, e engine.Engine, items *index.Batch, o engine.CheckOptions) (*engine.CheckReport, error) {
	t.Helper()
	x := index.New(items.Codes.Bits, items.Fingerprint, index.Config{})
	if err := x.Add(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	return engine.Check(t.Context(), e, x.Snapshot(), searchtest.Oracle{World: &searchtest.World{Items: items}}, o)
}
