package method

// targets is one or more numbers below classes for each row.
type Targets struct {
	Classes int
	start   []int // row i has of[start[i]:start[i+1]]
	of      []int32
	Several bool // any number of them: each is a question of its own
}

func (t Targets) Row(i int) []int32 { return t.of[t.start[i]:t.start[i+1]] }

// counts is the number of rows of each class or tag.
func (t Targets) Counts() []float64 {
	n := make([]float64, t.Classes)
	for _, c := range t.of {
		n[c]++
	}
	return n
}

// rows is the number of rows.
func (t Targets) Rows() int { return len(t.start) - 1 }

// targets is what the labels or tags of the rows say; labels come first.
func (l *Labelled) Targets() (Targets, bool) {
	switch {
	case l.Labels != nil:
		t := Targets{Classes: len(l.Labels.Names), start: make([]int, l.Rows+1), of: l.Labels.Class}
		for i := range t.start {
			t.start[i] = i
		}
		return t, true
	case l.Tags != nil:
		return Targets{len(l.Tags.Names), l.Tags.Start, l.Tags.Tag, true}, true
	}
	return Targets{}, false
}
