package server

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"hashgrove/internal/index"
)

// TestSearchAnswersAreJSON compares answers written by hand with those of package json.
func TestSearchAnswersAreJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	texts := []string{"", "plain", `"quoted" \ <b>&`, "line\nfeed", "umlaut ä", "\u2028", string([]byte{0xff, 'x'}), "~", "\x7f"}
	text := func() string { return texts[r.IntN(len(texts))] }
	for range 500 {
		a := &searchAnswer{
			Collection: text(), Fingerprint: text(), Items: r.IntN(1 << 30), Bits: 64, Rank: text(),
			Seconds: r.Float64() / float64(r.IntN(1<<20)+1), Results: make([]queryAnswer, r.IntN(3)),
		}
		for i := range a.Results {
			q := &a.Results[i]
			*q = queryAnswer{Query: text(), Label: text(), Code: text(), Hits: make([]hitAnswer, r.IntN(4)), Tied: r.IntN(3),
				TiedHits: r.IntN(2), Compared: r.IntN(2)}
			if r.IntN(3) == 0 {
				q.Plan = index.Plan{{Method: index.Scan, Items: 3, Reason: text()}}
				q.Why = &explanation{Query: text(), ID: index.Int(4), Bits: []explained{{Bit: 1}}}
			}
			for j := range q.Hits {
				h := &q.Hits[j]
				*h = hitAnswer{ID: index.Int(r.Int64() - 1<<62), Distance: r.IntN(64), Label: text()}
				if r.IntN(2) == 0 {
					h.ID = index.Text("x" + text())
					margin, score := r.IntN(999), r.NormFloat64()*1e-9
					h.MarginDistance, h.Score = &margin, &score
				}
				for range r.IntN(3) {
					h.Tags = append(h.Tags, text())
				}
				if r.IntN(2) == 0 {
					h.Attributes = map[string]index.Value{"a" + text(): index.String(text()), "n": index.Number(r.NormFloat64())}
				}
			}
		}
		got, err := a.appendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := json.Marshal(a); err != nil || string(got) != string(want) {
			t.Fatalf("%v\ngot  %s\nwant %s", err, got, want)
		}
	}
}
