package fasthash

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fault"
	"hashgrove/internal/supervision"
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
	_, err = Options{Effort: "most"}.WithDefaults()
	if d := fault.Differs(err, "no-such-effort", `"most"`, string(Quick), string(Normal), string(Best)); d != "" {
		t.Error(d)
	}
}

// TestDefaultIsTheMeasuredChoice: what training does if nothing is said, for few rows and for many. Tags have no
// candidates, and neither Two-Step Hashing nor hyperplanes have any of the further means.
func TestDefaultIsTheMeasuredChoice(t *testing.T) {
	medium := boost.Options{Boost: boost.Logistic, Rounds: 200, Depth: 4, Rate: 0.5, ColumnShare: 0.5}
	many := boost.Options{Boost: boost.Logistic, Rounds: 200, Depth: 6, Rate: 0.5, ColumnShare: 0.5}
	few := boost.Options{Boost: boost.AdaBoost, Rounds: 200, Depth: 4, RowShare: 0.5, ColumnShare: 0.5}
	rate := boost.Options{Boost: boost.Logistic, Rounds: 200, Depth: 4, Rate: 0.2}
	tags := Similarity{From: supervision.ByTags}
	for name, c := range map[string]struct {
		rows   int
		given  Options
		trees  boost.Options
		linear string
		number int
	}{
		"many rows":   {15_001, Options{}, many, KernelAuto, 6},
		"medium rows": {15_000, Options{}, medium, KernelAuto, 6},
		"a rate":      {1000, Options{Trees: boost.Options{Rate: 0.2}}, rate, LinearAuto, 6},
		"few rows":    {1000, Options{}, few, LinearAuto, 6},
		"tags":        {5000, Options{Similar: tags}, medium, KernelAuto, 0},
		"set":         {5000, Options{LinearColumns: LinearOff, Candidates: 1}, medium, LinearOff, 1},
		"tsh":         {5000, Options{Order: TSH}, medium, "", 0},
		"linear":      {5000, Options{Learner: Linear}, medium, "", 0},
	} {
		want, err := c.trees.WithDefaults()
		if err != nil {
			t.Fatal(err)
		}
		o, err := c.given.ForData(c.rows)
		if err != nil || o.Trees != want || o.LinearColumns != c.linear || o.Candidates != c.number || o.Bins != "" {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
}

// byDefault is the default effort, but for the number of trees.
func byDefault(bits int) Method {
	o := Options{Bits: bits, Trees: boost.Options{Rounds: 20, Depth: 2}}
	return Method{o, Run{Report: new(Report)}}
}

// TestDefaultResumesAndGrows: with all that the default effort adds, a model is the same, byte for byte, whether it is
// made at once, resumed or grown. A model of the paper's settings can be grown with it, and keeps its bits.
func TestDefaultResumesAndGrows(t *testing.T) {
	for rows, added := range map[int]bool{300: true, 600: true, fewRows + 100: true} { // columns were tried, and help
		if testing.Short() && rows > fewRows {
			continue // kernels take seconds
		}
		d := slantedData(t, rows, 5)
		m := byDefault(4)
		whole := mustTrain(t, m, d)
		if o := m.Report.Options; o.Candidates != 6 || m.Report.linear != "tried" || whole.Info.Linear != m.Report.Linear ||
			(whole.Info.Added != nil) != added || added == strings.HasPrefix(whole.Info.Linear, "no ") {
			t.Fatalf("%d rows: %d candidates, columns %q: %s", rows, o.Candidates, whole.Info.Added, whole.Info.Linear)
		}
		want := bytesOf(t, whole)
		mustResume(t, m, d, want)
		m = byDefault(4)
		m.Grow = mustTrain(t, byDefault(2), d)
		if got := bytesOf(t, mustTrain(t, m, d)); !bytes.Equal(got, want) {
			t.Errorf("%d rows: grown on the same rows it is another model", rows)
		}
		m.Grow = mustTrain(t, quick(2), d) // of the effort paper
		made := mustTrain(t, m, d)
		if made.Prefix(2).Fingerprint() != m.Grow.Fingerprint() || len(made.Info.Runs) != 2 || made.Info.Added != nil ||
			m.Report.linear != "grown-without" || made.Info.Linear != m.Report.Linear {
			t.Errorf("%d rows: grown from the paper's settings: %+v", rows, made.Info)
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
