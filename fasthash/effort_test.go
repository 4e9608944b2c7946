package fasthash

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"hashgrove/boost"
	"hashgrove/supervision"
	"hashgrove/vectors"
)

// TestEffortFillsInWhatIsNotSet: every effort has valid trees for data of any size, and no field that is set changes.
func TestEffortFillsInWhatIsNotSet(t *testing.T) {
	given := boost.Options{Rounds: 7, Depth: 2, NodeFeatures: 3, TrimMass: 0.5, MinNode: 9, NodeRows: 11,
		RowShare: 0.9, ColumnShare: 0.8, EarlyStop: -1}
	for _, e := range Efforts() {
		for _, rows := range []int{0, 100, 5000, 50_000, 10_000_000} {
			o, err := Options{Effort: e}.ForData(rows)
			if err != nil || o.Effort != e || o.Trees.Rounds == 0 || o.Trees.Depth == 0 {
				t.Fatalf("%s, %d rows: %+v, %v", e, rows, o, err)
			}
			if e == Paper && (o.Trees.Boost != boost.AdaBoost || o.Trees.Rounds != 200 || o.Trees.Depth != 4) {
				t.Errorf("the paper has other trees than %+v", o.Trees)
			}
			for _, algorithm := range []boost.Algorithm{boost.AdaBoost, boost.Logistic} {
				set := given
				if set.Boost = algorithm; algorithm == boost.Logistic {
					set.Rate, set.Ridge, set.LeafBits = 0.7, 2, 3
				}
				o, err := Options{Effort: e, Trees: set}.ForData(rows)
				if err != nil || o.Trees != set {
					t.Errorf("%s, %d rows: %+v, %v; want %+v", e, rows, o.Trees, err, set)
				}
			}
		}
	}
}

// TestEffortDoesNotMixAlgorithms: whoever asks for AdaBoost gets the paper's trees, whatever the effort boosts with.
func TestEffortDoesNotMixAlgorithms(t *testing.T) {
	o, err := Options{Effort: Best, Trees: boost.Options{Boost: boost.AdaBoost}}.ForData(5000)
	paper, _ := Options{Effort: Paper}.ForData(5000)
	if err != nil || o.Trees != paper.Trees {
		t.Errorf("%+v, %v; want %+v", o.Trees, err, paper.Trees)
	}
}

func TestEffortIsNormalUnlessSaid(t *testing.T) {
	o, err := Options{}.ForData(1000)
	if err != nil || o.Effort != Normal {
		t.Errorf("%q, %v", o.Effort, err)
	}
	if _, err := (Options{Effort: "most"}).WithDefaults(); err == nil || !strings.Contains(err.Error(), "quick, normal") {
		t.Errorf("an unknown effort: %v", err)
	}
}

// TestEffortWithin: a limit that nothing exceeds gives the greatest effort, one that all exceed the least.
func TestEffortWithin(t *testing.T) {
	x := vectors.Matrix{Rows: 60, Cols: 3, Data: make([]float32, 180)}
	for i := range x.Data {
		x.Data[i] = float32(i * 7 % 31)
	}
	d, err := supervision.Scan(context.Background(), x, supervision.ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[time.Duration]Effort{24 * time.Hour: Best, time.Nanosecond: Quick} {
		e, took, err := Options{Bits: 2, Threads: 1}.EffortWithin(t.Context(), x, d, limit)
		if err != nil || e != want || took <= 0 {
			t.Errorf("within %v: %s, %v, %v; want %s", limit, e, took, err, want)
		}
	}
}

// TestTableOfEffortsIsComplete: each effort ends with a line for data of any size.
func TestTableOfEffortsIsComplete(t *testing.T) {
	for _, e := range Efforts() {
		if !slices.ContainsFunc(efforts, func(l effortLine) bool {
			return l.effort == e && l.rows == anySize
		}) {
			t.Errorf("%s does not say what to do with data of any size", e)
		}
	}
}
