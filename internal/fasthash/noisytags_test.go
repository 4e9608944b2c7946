package fasthash

import (
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// noisyRows returns rows with one of ten tags that the vector shows and two of some that it does not.
func noisyRows(t *testing.T, seed uint64, n, noise int) *supervision.Data {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	const dim = 12
	centre := rand.New(rand.NewPCG(1, 2))
	var centres [10][dim]float64
	for c := range centres {
		for j := range dim {
			centres[c][j] = centre.NormFloat64()
		}
	}
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	x := vectors.Matrix{Rows: n, Cols: dim}
	tags := make([][]string, n)
	for i := range tags {
		c := rng.IntN(10)
		for j := range dim {
			x.Data = append(x.Data, float32(centres[c][j]+0.7*rng.NormFloat64()))
		}
		drawn := rng.Perm(noise)
		tags[i] = []string{names[c], string(rune('A' + drawn[0])), string(rune('A' + drawn[1]))}
	}
	d, err := supervision.Scan(t.Context(), vectors.Table{X: x, Tags: tags}, supervision.ScanOptions{Hashes: true})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Tags that no vector shows are left out, and as many of the others make rows similar as tell best.
func TestUnseenTagsAreNotLearnedFrom(t *testing.T) {
	for _, noise := range []int{3, 4, 8} {
		d := noisyRows(t, uint64(noise), 1200, noise)
		var report Report
		m, err := Trainer{Options{Bits: 8, Effort: Quick, Learner: Trees, Trees: boost.Options{Rounds: 20}},
			Run{Report: &report}}.Train(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(report.Unseen)
		var want []string
		for k := range noise {
			want = append(want, string(rune('A'+k)))
		}
		if !slices.Equal(report.Unseen, want) {
			t.Errorf("%d tags of noise: %q were not learned from", noise, report.Unseen)
		}
		fresh := noisyRows(t, 100, 300, noise)
		codes, err := m.EncodeAll(t.Context(), fresh, 0)
		if err != nil {
			t.Fatal(err)
		}
		only, _, err := withoutTags(fresh, want)
		if err != nil || only.MinShared != 1 {
			t.Fatalf("without %q, rows are similar from %d shared tags on; error %v", want, only.MinShared, err)
		}
		fresh.Supervision = only.Supervision
		r, err := columns.Judge(t.Context(), fresh, fresh, codes, codes, 0)
		if err != nil || r.MAP < 0.5 {
			t.Errorf("%d tags of noise: rows with the same tag that vectors show are found as %+v, error %v", noise, r, err)
		}
	}
}

// Tags that the vectors show, as here the copies of one column by which the data differ, all stay.
func TestSeenTagsStay(t *testing.T) {
	d := noisyRows(t, 1, 1200, 4)
	d.Tags = &supervision.Tags{Names: []string{"low", "high", "all"}, Start: []int{0}}
	for i := range d.Rows {
		side := int32(0)
		if d.Source.(vectors.Table).X.Row(i)[0] > 0 {
			side = 1
		}
		d.Tags.Tag = append(d.Tags.Tag, side, 2)
		d.Tags.Start = append(d.Tags.Start, len(d.Tags.Tag))
	}
	var report Report
	_, err := Trainer{Options{Bits: 2, Effort: Quick, Learner: Trees, Trees: boost.Options{Rounds: 5}},
		Run{Report: &report}}.Train(t.Context(), d)
	if err != nil || len(report.Unseen) > 0 {
		t.Errorf("%q were not learned from; error %v", report.Unseen, err)
	}
}
