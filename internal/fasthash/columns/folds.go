package columns

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Divide divides rows into parts. Equal rows share a part, and so do a picture and its mirror image.
func Divide(ctx context.Context, d *supervision.Data, parts int, o Options) ([]uint8, error) {
	short := d.Hashes
	if short == nil {
		for c, err := range d.Chunks(ctx) {
			if err != nil {
				return nil, err
			}
			vectors.HashRows(c.X, 0, func(_ int, h vectors.RowHash) { short = append(short, h.Short()) })
		}
	}
	if err := vectors.CheckRows(len(short), d.Rows); err != nil {
		return nil, err
	}
	var class []int32
	if o.Balanced && d.Labels != nil {
		class = d.Labels.Class
	}
	part, different := divide(short, class, parts, o.Seed^'L', o.Copies)
	if different < 2*parts {
		return nil, fmt.Errorf("linear columns need %d different rows, and there are %d", 2*parts, different)
	}
	return part, nil
}

// divide divides rows into parts of about equal size by their hashes, and counts the distinct ones. Copies of a
// picture share its part. With classes, the rows of each class are spread evenly.
func divide(
	hashes []uint64, class []int32, parts int, seed uint64, copies int,
) (part []uint8, different int) {
	originals := len(hashes) / copies
	keys := make([]uint64, originals)
	for i := range keys {
		keys[i] = rand.NewPCG(seed, hashes[i]).Uint64()
	}
	order := slices.Compact(slices.Sorted(slices.Values(keys)))
	dealt := make([]uint8, len(order))
	for k, place := range byClass(order, keys, class) {
		dealt[place] = uint8(k % parts)
	}
	part = make([]uint8, len(hashes))
	for i := range part {
		place, _ := slices.BinarySearch(order, keys[i%originals])
		part[i] = dealt[place]
	}
	return part, len(order)
}

// byClass sorts places by class, that of the first row with the key, keeping the order of keys within a class. Without
// classes the order stays.
func byClass(order, keys []uint64, class []int32) []int {
	places, of := make([]int, len(order)), make([]int32, len(order))
	for k := range places {
		places[k] = k
	}
	if class == nil {
		return places
	}
	for i := len(keys) - 1; i >= 0; i-- {
		place, _ := slices.BinarySearch(order, keys[i])
		of[place] = class[i]
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(of[a], of[b]) })
	return places
}
