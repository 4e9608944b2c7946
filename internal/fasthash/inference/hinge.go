package inference

// Fields of the hinge, for classes and tags. Its dissimilar weights are not linear in the distance, so sums do not
// help: the fields of all groups are kept, and a flip costs one popcount and one look-up for each group. All groups
// count as dissimilar at first, those of the same unit as similar; then other similar units are corrected.
//
// Cost of a bit: G² popcounts for G groups, and G for each flip.

import (
	"context"
	"math/bits"
	"slices"
)

// tableField is the field of the hinge.
type tableField struct {
	q *grouped
	f []int64 // of each group, with the group's own term

	product dotter[int64]
	x       []int64
}

func (f *tableField) reset(ctx context.Context) error {
	q := f.q
	f.f = append(f.f[:0], make([]int64, len(q.size))...)
	return tableProduct(ctx, q, q.w, q.allGroups(), q.size, f.f)
}

func (f *tableField) outsideFields(groups []int32, own *sums[int64], u []int64) {
	q, w := f.q, &f.q.w
	f.product.load(own, q.p, w.near, len(groups))
	for i, g := range groups {
		u[i] = f.f[g] - w.near*w.nearShift*own.s - f.product.dot(q.bits(g))
	}
}

func (f *tableField) noteFlips(groups []int32) {
	q := f.q
	f.x = f.x[:0]
	for _, g := range groups {
		f.x = append(f.x, 2*q.size[g]*int64(q.z[g]))
	}
	_ = tableProduct(context.Background(), q, q.w, groups, f.x, f.f)
}

// tableProduct adds to the fields y of all groups the contribution w x of the given groups, ascending, with x by place
// in the list.
func tableProduct[T number](ctx context.Context, q *grouped, w weights, groups []int32, x, y []T) error {
	sim, dis := make([]T, len(w.sim)), make([]T, len(w.dis))
	for d := range sim {
		sim[d], dis[d] = T(w.sim[d]), T(w.dis[d])
	}
	code := make([]uint64, 0, len(groups)*q.words)
	for _, g := range groups {
		code = append(code, q.bits(g)...)
	}
	// All groups as dissimilar, except those of the same unit.
	err := q.eachRun(ctx, len(q.size)*len(groups)*max(q.words, 1), func(lo, hi int) {
		for g := lo; g < hi; g++ {
			own := q.bits(int32(g))
			unit := q.owner[g]
			from, _ := slices.BinarySearch(groups, q.first[unit])
			to, _ := slices.BinarySearch(groups, q.first[unit+1])
			sum := tableSum(own, code[:from*q.words], x[:from], dis)
			sum += tableSum(own, code[from*q.words:to*q.words], x[from:to], sim)
			sum += tableSum(own, code[to*q.words:], x[to:], dis)
			y[g] += sum
		}
	})
	if err != nil || q.near.tags == nil {
		return err
	}
	for d := range sim {
		sim[d] -= dis[d]
	}
	near := q.near.reader()
	for i, h := range groups {
		own := q.bits(h)
		for _, o := range near(q.owner[h]) {
			if o == q.owner[h] {
				continue
			}
			for g := q.first[o]; g < q.first[o+1]; g++ {
				y[g] += T(x[i] * sim[distance(own, q.bits(g))])
			}
		}
	}
	return nil
}

// tableSum returns the sum of x by the table's value at the distance of each code from own.
func tableSum[T number](own, code []uint64, x, table []T) T {
	var sum T
	words := len(own)
	if words == 1 { // most codes, and half the time
		code = code[:len(x)]
		for i, v := range x {
			sum += T(v * table[bits.OnesCount64(own[0]^code[i])])
		}
		return sum
	}
	for i, v := range x {
		sum += T(v * table[distance(own, code[i*words:][:words])])
	}
	return sum
}
