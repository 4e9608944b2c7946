package fasthash

import (
	"slices"
	"testing"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/message"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// TestEffortFillsInWhatIsNotSet: every effort has valid trees for data of any size, and no field that is set changes.
func TestEffortFillsInWhatIsNotSet(t *testing.T) {
	given := boost.Options{Rounds: 7, Depth: 2, NodeFeatures: 3, TrimMass: 0.5, MinNode: 9,
		RowShare: 0.9, ColumnShare: 0.8}
	for _, e := range Efforts() {
		for _, rows := range []int{0, 100, 5000, 50_000, 10_000_000} {
			o, err := Options{Effort: e}.ForData(rows)
			if err != nil || o.Effort != e || o.Trees.Rounds == 0 || o.Trees.Depth == 0 {
				t.Fatalf("%s, %d rows: %+v, %v", e, rows, o, err)
			}
			if e == Paper && (o.Bins != vectors.Linear || o.Trees.Boost != boost.AdaBoost || o.Trees.Rounds != 200 || o.Trees.Depth != 4) {
				t.Errorf("the paper has other trees or bins than %+v", o)
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
	if d := message.Differs(err, "no-such-effort", `"most"`, string(Quick), string(Normal), string(Best)); d != "" {
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
		"many rows":   {15_001, Options{}, many, columns.AutoKernel, 6},
		"medium rows": {15_000, Options{}, medium, columns.AutoKernel, 6},
		"a rate":      {1000, Options{Trees: boost.Options{Rate: 0.2}}, rate, columns.Auto, 6},
		"few rows":    {1000, Options{}, few, columns.Auto, 6},
		"tags":        {5000, Options{Similar: tags}, medium, columns.AutoKernel, 0},
		"set":         {5000, Options{LinearColumns: columns.Off, Candidates: 1}, medium, columns.Off, 1},
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
func byDefault(bits int) Trainer {
	o := Options{Bits: bits, Trees: boost.Options{Rounds: 20, Depth: 2}}
	return Trainer{o, Run{Report: new(Report)}}
}

// sizedClasses is rows of classes of the given sizes, without vectors.
func sizedClasses(sizes ...int) *supervision.Data {
	d := &supervision.Data{}
	d.Labels = &supervision.Labels{}
	for k, n := range sizes {
		d.Labels.Names = append(d.Labels.Names, string(rune('a'+k)))
		d.Labels.Class = append(d.Labels.Class, slices.Repeat([]int32{int32(k)}, n)...)
		d.Rows += n
	}
	return d
}

// TestUnequalClasses: at least half of the classes are small, and rows are few. A single small class is no reason.
func TestUnequalClasses(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		want  int
	}{
		{[]int{600, 20, 20, 15, 15, 10, 10, 8, 5, 5}, 10},
		{[]int{90, 5, 0, 10}, 3},
		{[]int{60, 10}, 2},
		{[]int{50, 10}, 0},
		{[]int{100, 100, 100, 100, 5}, 0},
		{[]int{990, 11}, 0},
		{[]int{100}, 0},
	} {
		if got := unequalClasses(sizedClasses(c.sizes...)); got != c.want {
			t.Errorf("%v: %d unequal classes, want %d", c.sizes, got, c.want)
		}
	}
}

// TestUnequalClassesHaveTheirOwnDefaults: not with the paper's settings, other learners or orders, and what is set stays.
func TestUnequalClassesHaveTheirOwnDefaults(t *testing.T) {
	for _, c := range []struct {
		name    string
		given   Options
		depth   int
		columns string
		balance bool
	}{
		{"default", Options{}, 2, columns.Kernel, true},
		{"best", Options{Effort: Best}, 2, columns.Kernel, true},
		{"paper", Options{Effort: Paper}, 4, "", false},
		{"order", Options{Order: TSH}, 4, "", false},
		{"set", Options{Trees: boost.Options{Depth: 3}, LinearColumns: columns.Off}, 3, columns.Off, true},
		{"weights", Options{Inference: inference.Options{SimilarWeight: 1, DissimilarWeight: 1}}, 2, columns.Kernel, false},
		{"pairs", Options{BalancePairs: true}, 2, columns.Kernel, false},
	} {
		o, err := c.given.fillIn(about{rows: 700, classes: 10, unequal: 10})
		if err != nil || o.Trees.Depth != c.depth || o.LinearColumns != c.columns || o.Inference.BalanceClasses != c.balance {
			t.Errorf("%s: %+v, %v", c.name, o, err)
		}
	}
}
