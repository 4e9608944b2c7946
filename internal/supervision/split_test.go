package supervision

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/message"
)

func setHeldOut(keep []bool) int {
	n := 0
	for _, k := range keep {
		if !k {
			n++
		}
	}
	return n
}

func TestHoldOut(t *testing.T) {
	for _, c := range []struct {
		n     int
		share float64
		want  int
	}{{100, 0.1, 10}, {100, 0, 0}, {3, 0.5, 2}, {1, 0.9, 0}, {0, 0.5, 0}, {10, 0.99, 9}} {
		keep := (&Data{Rows: c.n}).HoldOut(c.share, 1)
		if len(keep) != c.n || setHeldOut(keep) != c.want {
			t.Errorf("%+v: %d of %d held out", c, setHeldOut(keep), len(keep))
		}
		if !slices.Equal(keep, (&Data{Rows: c.n}).HoldOut(c.share, 1)) {
			t.Errorf("%+v: not the same the second time", c)
		}
	}
	if slices.Equal((&Data{Rows: 100}).HoldOut(0.5, 1), (&Data{Rows: 100}).HoldOut(0.5, 2)) {
		t.Error("the seed does not matter")
	}
	// Every row has the same chance.
	times := make([]int, 10)
	for seed := range uint64(2000) {
		for i, k := range (&Data{Rows: 10}).HoldOut(0.3, seed) {
			if !k {
				times[i]++
			}
		}
	}
	for i, n := range times {
		if n < 500 || n > 700 {
			t.Errorf("row %d was held out %d times of 2000, expected about 600", i, n)
		}
	}
}

func TestHoldOutIsStratified(t *testing.T) {
	var names []string
	for class, n := range []int{50, 25, 4, 1, 1} {
		for range n {
			names = append(names, fmt.Sprint(class))
		}
	}
	l := setLabels(names...)
	keep := l.HoldOut(0.2, 7)
	held := make([]int, len(l.Names))
	for i, k := range keep {
		if !k {
			held[l.Class[i]]++
		}
	}
	if !slices.Equal(held, []int{10, 5, 1, 0, 0}) {
		t.Errorf("held out per class %v", held)
	}
	defer func() {
		if recover() == nil {
			t.Error("a share of 1 was taken")
		}
	}()
	l.HoldOut(1, 7)
}

func TestOnly(t *testing.T) {
	keep := []bool{false, true, true}
	tags := setTags([]string{"a", "b"}, nil, []string{"b", "c"}).Only(keep)
	if tags.Rows() != 2 || len(tags.Row(0)) != 0 || !slices.Equal(tags.Row(1), []int32{1, 2}) || len(tags.Names) != 3 {
		t.Errorf("%+v", tags)
	}
}

func TestWithout(t *testing.T) {
	l := setLabels("cat", "dog", "cat", "owl")
	keep, err := l.Without([]string{"cat", "owl"})
	if err != nil || !slices.Equal(keep, []bool{false, true, false, false}) {
		t.Errorf("%v, %v", keep, err)
	}
	_, err = l.Without([]string{"cow"})
	if d := message.Differs(err, "no-such-class", `"cow"`, "cat", "dog", "owl"); d != "" {
		t.Error(d)
	}
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprint(i))
	}
	_, err = setLabels(many...).Without([]string{"x"})
	if d := message.Differs(err, "no-such-class", `"x"`, "18", "19", "10 more"); d != "" || strings.Contains(err.Error(), "20") {
		t.Errorf("%v: %s", err, d)
	}
}

// TestSplitKeepsCopiesTogether: of a row held back no copy is learned from, and the copies of no row are held back.
func TestSplitKeepsCopiesTogether(t *testing.T) {
	const pictures = 60
	for _, copies := range []int{1, 2, 5} {
		class := make([]int32, pictures*copies)
		for i := range class {
			class[i] = int32(i % pictures % 3)
		}
		d := &Data{Rows: len(class), Supervision: Supervision{Labels: &Labels{Class: class, Names: []string{"a", "b", "c"}}}}
		learn, held, err := d.Split(0.2, 1, copies)
		if err != nil {
			t.Fatal(err)
		}
		back := 0
		for i := range class {
			if learn[i] != learn[i%pictures] || held[i] && i >= pictures {
				t.Errorf("%d copies: row %d is apart from its picture", copies, i)
			}
			if i < pictures && learn[i] == held[i] {
				t.Errorf("%d copies: picture %d is in both parts or in none", copies, i)
			}
			if held[i] {
				back++
			}
		}
		if back != pictures/5 {
			t.Errorf("%d copies: %d rows are held back", copies, back)
		}
	}
}
