package supervision

import (
	"strings"
	"testing"

	"hashgrove/internal/message"
	"hashgrove/internal/vectors"
)

func TestTrainable(t *testing.T) {
	x := vectors.Matrix{Cols: 2}
	for _, c := range []struct {
		d     Data
		code  message.Code // "" where there is no error
		facts string
	}{
		{Data{Source: x, Rows: 1}, "too-few", "1"},
		{Data{Source: x, Rows: 2, Constant: []int{0, 1}}, "constant-columns", ""},
		{Data{Source: x, Rows: 2, Supervision: Supervision{Labels: setLabels("cat", "cat")}}, "one-class", `"cat"`},
		{Data{Source: x, Rows: 2, Supervision: Supervision{Labels: setLabels("1", "2")}}, "distinct-labels", `"1"`},
		{Data{Source: x, Rows: 2, Supervision: Supervision{Tags: setTags(nil, nil)}}, "no-tags", ""},
		{Data{Source: x, Rows: 2, Supervision: Supervision{Tags: setTags([]string{"a"}, []string{"a"})}}, "same-tags", ""},
		{Data{Source: x, Rows: 2, Supervision: Supervision{Pairs: []Pair{{A: 0, B: 1, Y: 1}}}},
			"no-dissimilar-pair", "dissimilar -1 0"},
		{Data{Source: x, Rows: 3, Supervision: Supervision{Labels: setLabels("a", "b", "a")}}, "", ""},
		{Data{Source: x, Rows: 2, Supervision: Supervision{Tags: setTags([]string{"a"}, nil)}}, "", ""},
		{Data{Source: x, Rows: 2, Supervision: Supervision{Pairs: []Pair{{A: 0, B: 1, Y: -1}}, Labels: setLabels("cat", "cat")}}, "", ""},
	} {
		err := c.d.Trainable()
		if c.code == "" {
			if err != nil {
				t.Error(err)
			}
		} else if d := message.Differs(err, c.code, strings.Fields(c.facts)...); d != "" {
			t.Error(d)
		}
	}
	if err := (&Data{Source: x, Rows: 2}).Trainable(); err != ErrNone {
		t.Errorf("nothing says which rows are similar: %v", err)
	}
}
