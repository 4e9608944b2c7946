package supervision

import (
	"testing"

	"hashgrove/vectors"
)

func TestTrainable(t *testing.T) {
	x := vectors.Matrix{Cols: 2}
	for _, c := range []struct {
		d    Data
		want string
	}{
		{Data{Source: x, Rows: 1}, "only 1 row: at least two are needed to learn from"},
		{Data{Source: x, Rows: 2, Constant: []int{0, 1}}, "every column is constant: all rows would get the same code"},
		{Data{Source: x, Rows: 2}, "no labels, tags or pairs: nothing says which rows are similar"},
		{Data{Source: x, Rows: 2, Supervision: Supervision{Labels: setLabels("cat", "cat")}}, `all rows have the label "cat": at least two classes are needed to learn from`},
		{Data{Source: x, Rows: 2, Supervision: Supervision{Labels: setLabels("1", "2")}}, `every row has a label of its own, so no two rows are similar: is it the right label ("1" in the first row)?`},
		{Data{Source: x, Rows: 2, Supervision: Supervision{Tags: setTags(nil, nil)}}, "no row has a tag: is it the right column or file?"},
		{Data{Source: x, Rows: 2, Supervision: Supervision{Tags: setTags([]string{"a"}, []string{"a"})}}, "all rows have the same tags: at least two sets of tags are needed to learn from"},
		{Data{Source: x, Rows: 2, Supervision: Supervision{Pairs: []Pair{{A: 0, B: 1, Y: 1}}}},
			"no pair is dissimilar, so all rows would get the same code: mark such pairs with dissimilar or -1 (0 means unknown)"},
		{Data{Source: x, Rows: 3, Supervision: Supervision{Labels: setLabels("a", "b", "a")}}, "no error"},
		{Data{Source: x, Rows: 2, Supervision: Supervision{Tags: setTags([]string{"a"}, nil)}}, "no error"},
		{Data{Source: x, Rows: 2, Supervision: Supervision{Pairs: []Pair{{A: 0, B: 1, Y: -1}}, Labels: setLabels("cat", "cat")}}, "no error"},
	} {
		got := "no error"
		if err := c.d.Trainable(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
