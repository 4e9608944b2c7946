package index

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
)

// groupsOf is the definition: a list that is gone through.
func groupsOf(n []Item) (codes []string, groups []Group) {
	byCode := map[string][]Item{}
	for _, it := range n {
		key := fmt.Sprint(it.Code)
		byCode[key] = append(byCode[key], it)
	}
	first := map[string]Group{}
	for key, items := range byCode {
		slices.SortFunc(items, func(a, b Item) int { return a.ID.Compare(b.ID) })
		g := Group{ID: items[0].ID, Items: len(items)}
		votes := map[string]int{}
		for _, it := range items {
			if it.Label != "" {
				votes[it.Label]++
			}
		}
		for _, label := range slices.Sorted(maps.Keys(votes)) {
			if g.Label == "" || votes[label] > votes[g.Label] {
				g.Label = label
			}
		}
		first[key] = g
		codes = append(codes, key)
	}
	slices.SortFunc(codes, func(a, b string) int { return first[a].ID.Compare(first[b].ID) })
	for _, key := range codes {
		groups = append(groups, first[key])
	}
	return codes, groups
}

func rowsOf(c hamming.Codes) (rows []string) {
	for i := range c.Len() {
		rows = append(rows, fmt.Sprint(c.Row(i)))
	}
	return rows
}

// TestGroupsEqualThePlainList changes indexes of several layouts at random; the groups must be those of the list.
func TestGroupsEqualThePlainList(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 15))
		width := []int{8, 64, 70}[seed]
		centres := randomCodes([]int{6, 1, 6}[seed], width, seed)
		layouts := []*Index{
			New(width, hamming.Fingerprint{}, Config{Tables: -1}), New(width, hamming.Fingerprint{}, Config{Tables: 2}),
		}
		for range 30 {
			change(t, rng, centres, layouts)
			codes, groups := groupsOf(itemsOf(t, layouts[0]))
			for _, x := range layouts {
				gotCodes, got, all := x.Snapshot().Groups(1 << 20)
				if !all || !slices.Equal(rowsOf(gotCodes), codes) || !reflect.DeepEqual(got, append([]Group{}, groups...)) {
					t.Fatalf("seed %d: %d groups, all %v, want %d", seed, len(got), all, len(groups))
				}
			}
		}
	}
}

// TestGroupsOfASample checks that a sample is of the size asked for, with whole groups, and that it hardly changes when
// few items do.
func TestGroupsOfASample(t *testing.T) {
	x, rng := New(64, hamming.Fingerprint{}, Config{Tables: -1}), rand.New(rand.NewPCG(3, 4))
	add := func(from, n int) {
		b := NewBatch(64)
		for i := range n {
			b.Append(Item{ID: Int(int64(from + i)), Code: []uint64{rng.Uint64() >> 50}, Label: "a"})
		}
		if err := x.Add(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	add(0, 20000)
	allCodes, allGroups, all := x.Snapshot().Groups(1 << 20)
	if !all {
		t.Fatal("not all")
	}
	whole := map[string]Group{}
	for i, row := range rowsOf(allCodes) {
		whole[row] = allGroups[i]
	}
	codes, groups, all := x.Snapshot().Groups(1000)
	if all || len(groups) != 1000 || codes.Len() != 1000 {
		t.Fatalf("%d groups, all %v", len(groups), all)
	}
	for i, row := range rowsOf(codes) {
		if whole[row] != groups[i] {
			t.Fatalf("group %d: %v, want %v", i, groups[i], whole[row])
		}
	}
	add(20000, 200) // of which some segments overlap
	again, _, _ := x.Snapshot().Groups(1000)
	before, stayed := rowsOf(codes), 0
	for _, row := range rowsOf(again) {
		if slices.Contains(before, row) {
			stayed++
		}
	}
	if again.Len() != 1000 || stayed < 970 {
		t.Errorf("%d codes, of which %d were in the sample before", again.Len(), stayed)
	}
}

// Codes that repeat in a snapshot that never merged them are one group all the same.
func TestGroupsOfCodesAsTheyCome(t *testing.T) {
	codes := hamming.NewCodes(0, 8)
	codes.Append([]byte{3, 7, 3, 3, 9})
	got, groups, all := FromCodes(codes).Groups(10)
	want := []Group{{ID: Int(0), Items: 3}, {ID: Int(1), Items: 1}, {ID: Int(4), Items: 1}}
	if !all || got.Len() != 3 || !reflect.DeepEqual(groups, want) {
		t.Errorf("%v %v", rowsOf(got), groups)
	}
	if got, groups, all := FromCodes(hamming.NewCodes(0, 8)).Groups(10); !all || got.Len() != 0 || len(groups) != 0 {
		t.Errorf("of nothing: %v %v %v", got, groups, all)
	}
}
