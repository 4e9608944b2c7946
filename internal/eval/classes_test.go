package eval

import (
	"context"
	"math/rand/v2"
	"testing"
)

// A class counts once in the macro average, however many queries it has, and precision stops at the items that exist.
func TestSmallAndUnequalClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	queries, base := randomCodes(rng, 40, 16, 6), randomCodes(rng, 400, 16, 6)
	qc, bc := make([]int32, 40), make([]int32, 400)
	for i := range qc {
		qc[i] = []int32{0, 0, 0, 0, 0, 0, 1, 1, 2, -1}[i%10] // class 2 has no items
	}
	for i := range bc {
		if i%50 == 0 {
			bc[i] = 1 // eight items; the others are of class 0
		}
	}
	r, err := Retrieval(context.Background(), queries, base, ByClass(qc, bc), Options{Classes: qc})
	if err != nil {
		t.Fatal(err)
	}

	p := newProblem(queries, base, ByClass(qc, bc))
	var mean, reach [2]float64
	var count [2]int
	for q, c := range qc {
		if c < 0 || c > 1 {
			continue
		}
		wanted := []int{100, 8}[c]
		// Expected over ties: an item counts by the share of the first places that its distance holds.
		for i := range bc {
			nearer, tied := 0, 0
			for _, d := range p.distance[q] {
				if d < p.distance[q][i] {
					nearer++
				} else if d == p.distance[q][i] {
					tied++
				}
			}
			if p.mark[q][i] == Relevant {
				reach[c] += min(1, max(0, float64(wanted-nearer)/float64(tied))) / float64(wanted)
			}
		}
		count[c]++
	}
	for _, row := range r.PerClass {
		if row.Number == 2 {
			continue
		}
		c := row.Number
		mean[c] = row.MAP
		if !near(row.ReachablePrecision, reach[c]/float64(count[c])) {
			t.Errorf("class %d: reachable precision %v, by definition %v", c, row.ReachablePrecision, reach[c]/float64(count[c]))
		}
	}
	if want := (mean[0] + mean[1]) / 2; !near(r.MacroMAP, want) || near(r.MacroMAP, r.MAP) {
		t.Errorf("macro MAP %v, by definition %v, MAP %v", r.MacroMAP, want, r.MAP)
	}
	if want := (reach[0] + reach[1]) / float64(count[0]+count[1]); !near(r.ReachablePrecision, want) {
		t.Errorf("reachable precision %v, by definition %v", r.ReachablePrecision, want)
	}
	var row Row
	if r.Fill(&row); row.Precision != r.ReachablePrecision {
		t.Errorf("row has %v", row.Precision)
	}
	if r, err = Retrieval(context.Background(), queries, base, ByClass(qc, bc), Options{}); err != nil || r.MacroMAP != 0 {
		t.Errorf("macro MAP %v without classes, error %v", r.MacroMAP, err)
	}
}

func TestWeakClasses(t *testing.T) {
	table := []Class{
		{Name: "none", Queries: 50, Base: 0, MAP: 0},    // nothing could be found
		{Name: "chance", Queries: 4, Base: 9, MAP: 0.1}, // too few queries
		{Name: "weak", Queries: 5, Base: 9, MAP: 0.4},
		{Name: "fair", Queries: 50, Base: 9, MAP: 0.5},
		{Name: "good", Queries: 50, Base: 9, MAP: 0.9},
		{Name: "best", Queries: 50, Base: 9, MAP: 1},
	}
	// Three quarters of the mean are 0.435.
	if weak := weakClasses(table, 0.58); len(weak) != 1 || weak[0] != "weak" {
		t.Errorf("weak classes %q", weak)
	}
}
