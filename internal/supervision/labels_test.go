package supervision

import (
	"reflect"
	"slices"
	"testing"
)

func setLabels(names ...string) *Labels {
	b := &labelling{}
	for _, name := range names {
		_ = b.add(nil, name) // in memory there is always room
	}
	return b.Labels()
}

func setTags(rows ...[]string) *Tags {
	b := &tagging{}
	for _, row := range rows {
		b.Add(row)
	}
	return b.Tags()
}

func TestClassesAreNumberedInOrder(t *testing.T) {
	for _, c := range []struct {
		labels, names []string
		class         []int32
	}{
		{[]string{"b", "a", "b"}, []string{"a", "b"}, []int32{1, 0, 1}},
		{[]string{"10", "9", "-1", "0.5"}, []string{"-1", "0.5", "9", "10"}, []int32{3, 2, 0, 1}},
		{[]string{"10", "9", "x"}, []string{"10", "9", "x"}, []int32{0, 1, 2}},
		{[]string{"7", "007"}, []string{"007", "7"}, []int32{1, 0}},
		{[]string{"inf", "1"}, []string{"1", "inf"}, []int32{1, 0}},
	} {
		l := setLabels(c.labels...)
		if !slices.Equal(l.Names, c.names) || !slices.Equal(l.Class, c.class) {
			t.Errorf("%q: %q %v, want %q %v", c.labels, l.Names, l.Class, c.names, c.class)
		}
	}
}

func TestCanonicalLabel(t *testing.T) {
	for in, want := range map[string]string{
		"3": "3", "3.0": "3", "3.000000000000000000e+00": "3", "-0.0": "0", "-2.0": "-2", "3.5": "3.5", "1.5e1": "15",
		"007": "007", "1e5": "1e5", " cat ": "cat", "": "", "NaN": "", "nan": "", "nano": "nano", "v1.0": "v1.0", ".": ".",
		"1.0.0": "1.0.0", "90071992547409930.0": "90071992547409930.0",
	} {
		if got := CanonicalLabel(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTagsAreSortedSets(t *testing.T) {
	tags := setTags([]string{"sea", "sky", "sea"}, nil, []string{" boat ", "", "sea"})
	want := &Tags{Start: []int{0, 2, 2, 4}, Tag: []int32{1, 2, 0, 1}, Names: []string{"boat", "sea", "sky"}}
	if !reflect.DeepEqual(tags, want) {
		t.Errorf("%+v, want %+v", tags, want)
	}
}

func TestHistogram(t *testing.T) {
	want := []Count{{"b", 2}, {"a", 1}, {"c", 1}}
	if got := setLabels("c", "b", "a", "b").Histogram(); !slices.Equal(got, want) {
		t.Errorf("labels: %v, want %v", got, want)
	}
	if got := setTags([]string{"c", "b"}, []string{"b", "a"}).Histogram(); !slices.Equal(got, want) {
		t.Errorf("tags: %v, want %v", got, want)
	}
}
