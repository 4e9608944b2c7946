package metamorphic

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"hashgrove/internal/index"
	"hashgrove/internal/store"
)

// survey compares counts and lists.
func (r *runner) survey(ctx context.Context, where string) error {
	f, err := index.Parse(where)
	if err != nil {
		return err
	}
	list, fine := r.oracle.matching(f)
	var first *index.Snapshot
	return r.each(func(x layout) error {
		if file, ok := x.(*file); ok {
			if err := listed(ctx, file, f, list, fine); err != nil {
				return err
			}
			if file.onDisk {
				return nil
			}
		}
		s, ok := x.(interface{ Snapshot() *index.Snapshot })
		if !ok {
			return nil
		}
		if first == nil {
			first = s.Snapshot()
		}
		r.questions++
		return sameSurvey(s.Snapshot(), first, f)
	})
}

// sameSurvey compares all counts of two snapshots of the same items.
func sameSurvey(a, b *index.Snapshot, f index.Filter) error {
	for _, most := range []int{3, math.MaxInt32} {
		codes, groups, all := a.Groups(most)
		otherCodes, otherGroups, otherAll := b.Groups(most)
		if !slices.Equal(codes.Data, otherCodes.Data) || !slices.Equal(groups, otherGroups) || all != otherAll {
			return fmt.Errorf("at most %d groups: %v, want %v", most, groups, otherGroups)
		}
		if x, y := a.Labelled(most), b.Labelled(most); !reflect.DeepEqual(x, y) {
			return fmt.Errorf("at most %d items with labels: %v, want %v", most, x, y)
		}
	}
	if x, y := a.Attributes(), b.Attributes(); !slices.Equal(x, y) {
		return fmt.Errorf("attributes %v, want %v", x, y)
	}
	for _, name := range strings.Fields("label tag price kind made size nothing") {
		if x, y := a.Facet(name, f, 3, 4), b.Facet(name, f, 3, 4); !reflect.DeepEqual(x, y) {
			return fmt.Errorf("facet %+v, want %+v", x, y)
		}
	}
	return nil
}

// listed checks that a file lists the matching items in order of their ids.
func listed(ctx context.Context, x *file, f index.Filter, want []index.Item, fine bool) error {
	var got []index.Item
	err := x.Each(ctx, store.Pass{Filter: f}, func(b *index.Batch) error {
		for i := range b.IDs {
			it := b.Item(i)
			it.Code, it.Tags = slices.Clone(it.Code), slices.Compact(slices.Sorted(slices.Values(it.Tags)))
			got = append(got, it)
		}
		return nil
	})
	if refused(err) {
		return onlyIf(fine, err)
	}
	if err == nil && (!fine || !slices.EqualFunc(got, want, sameItem)) {
		err = fmt.Errorf("%q lists %d items, want %d, refused %t", f, len(got), len(want), !fine)
	}
	return err
}
