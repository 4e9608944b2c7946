package inference

// Fields without pair lists: sum over all rows j of w_ij z_j, for classes and tags, where every pair is defined.
//
// In these sums a row counts itself as similar at distance 0, and so does a group; who must not count it takes the term
// away. With S = sum of z_j and V = sum of z_j c_j over all rows, T and Q the same over the rows similar to i
// (Q = c_i . sum of z_j c_j), and linear weights near (c.c + nearShift), far (c.c + farShift):
//
//	field_i = far (farShift S + c_i.V) + (near nearShift - far farShift) T + (near - far) Q
//
// For a block B of mutually similar rows, the field from outside needs only the sums of B itself:
//
//	far (farShift (S - S_B) + c_i.(V - V_B)) + (near nearShift - far farShift)(T - S_B) + (near - far)(Q - c_i.V_B)
//
// where the last two terms vanish for classes. Q is needed only when similar and dissimilar pairs weigh differently.
// A flip costs O(bits), plus one step for each similar unit (T) or group (Q).

import (
	"context"

	"hashgrove/internal/par"
)

// field maintains the fields of all groups while signs change.
type field interface {
	// reset is called when all signs are +1.
	reset(ctx context.Context) error
	// outsideFields writes the fields from outside a block of the given groups; own holds the sums over the block.
	outsideFields(groups []int32, own *sums[int64], u []int64)
	// noteFlips is called after the signs of these groups, ascending, have flipped.
	noteFlips(groups []int32)
}

// newField returns the field of q.
func newField(q *grouped) field {
	if q.gram == nil {
		return &tableField{q: q}
	}
	return &linearField{q: q}
}

// linearField is the field of KSH. T and Q are needed only where rows are similar to rows outside their block.
type linearField struct {
	q    *grouped
	all  sums[int64]
	t    []int64 // of each unit
	dots []int64 // Q of each group, or nil

	near    func(u int32) []int32
	product dotter[int64]
	part    sums[int64]
	tally   tally
}

func (f *linearField) reset(context.Context) error {
	q := f.q
	f.all.copyOf(&q.all, 1)
	if !q.apart {
		return nil
	}
	if f.near == nil {
		f.near = q.near.reader()
	}
	f.t = append(f.t[:0], q.alike...)
	f.dots = f.dots[:0]
	if q.w.near != q.w.far {
		f.dots = append(f.dots, q.inner...)
	}
	return nil
}

func (f *linearField) outsideFields(groups []int32, own *sums[int64], u []int64) {
	q, w := f.q, &f.q.w
	// c.(far V - far V_B), and for tags also -(near - far) V_B: in all far V - factor V_B.
	factor, shift := w.far, int64(0)
	if q.apart {
		factor, shift = w.near, w.near*w.nearShift-w.far*w.farShift
	}
	f.part.reset(q.p)
	f.part.s = w.far*f.all.s - factor*own.s
	for b := range f.part.set {
		f.part.set[b] = w.far*f.all.set[b] - factor*own.set[b]
	}
	f.product.load(&f.part, q.p, 1, len(groups))
	base := w.far * w.farShift * (f.all.s - own.s)
	for i, g := range groups {
		u[i] = base + f.product.dot(q.bits(g))
		if q.apart {
			u[i] += shift * (f.t[q.owner[g]] - own.s)
			if len(f.dots) > 0 {
				u[i] += (w.near - w.far) * f.dots[g]
			}
		}
	}
}

func (f *linearField) noteFlips(groups []int32) {
	q := f.q
	for sign := int8(-1); sign <= 1; sign += 2 {
		f.tally.begin(&f.all, 2*int64(sign), q.count[q.owner[groups[0]]])
		for _, g := range groups {
			if q.z[g] == sign {
				f.tally.add(q.bits(g), q.size[g])
			}
		}
		f.tally.end()
	}
	if !q.apart {
		return
	}
	for i := 0; i < len(groups); {
		unit, change := q.owner[groups[i]], int64(0)
		begin := i
		for ; i < len(groups) && q.owner[groups[i]] == unit; i++ {
			change += 2 * q.size[groups[i]] * int64(q.z[groups[i]])
		}
		for _, o := range f.near(unit) {
			f.t[o] += change
			if len(f.dots) == 0 {
				continue
			}
			for _, g := range groups[begin:i] {
				x := 2 * q.size[g] * int64(q.z[g])
				code := q.bits(g)
				for h := q.first[o]; h < q.first[o+1]; h++ {
					f.dots[h] += x * int64(q.p-2*distance(code, q.bits(h)))
				}
			}
		}
	}
}

// product implements problem.
func (q *grouped) product(ctx context.Context, w weights, x, y []float64) error {
	scaled := make([]float64, len(x))
	q.each(len(x), func(lo, hi int) {
		for g := lo; g < hi; g++ {
			scaled[g] = x[g] * float64(q.size[g])
		}
	})
	var err error
	if q.gram == nil { // the hinge
		clear(y)
		err = tableProduct(ctx, q, w, q.allGroups(), scaled, y)
	} else {
		t, dots := make([]float64, len(q.from)-1), make([]float64, len(x))
		err = nearSums(ctx, q, scaled, t)
		if err == nil && w.near != w.far {
			err = nearDots(ctx, q, scaled, dots)
		}
		var all *sums[float64]
		if err == nil {
			all, err = q.sumAll(ctx, scaled)
		}
		if err == nil {
			err = linearProduct(ctx, q, w, linearTerms[float64]{all, t, dots}, y)
		}
	}
	q.each(len(y), func(lo, hi int) {
		for g := lo; g < hi; g++ {
			y[g] += float64(float64(w.near*q.count[q.owner[g]]) * x[g])
		}
	})
	return err
}

// fields implements problem. The rows of a group have the same weights, so only the mean of h over them matters, except
// that each row must exclude itself.
func (q *grouped) fields(ctx context.Context, w weights, h []int8, rows []float64) error {
	x, y := make([]float64, len(q.size)), make([]float64, len(q.size))
	for i, g := range q.group {
		x[g] += float64(h[i]) // whole numbers: no rounding
	}
	q.each(len(x), func(lo, hi int) {
		for g := lo; g < hi; g++ {
			x[g] = float64(x[g]*float64(q.count[q.owner[g]])) / float64(q.size[g])
		}
	})
	if err := q.product(ctx, w, x, y); err != nil {
		return err
	}
	q.each(len(rows), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			g := q.group[i]
			rows[i] = y[g] + float64(float64(w.near*q.count[q.unit[i]])*(float64(h[i])-x[g]))
		}
	})
	return nil
}

// totals implements problem.
func (q *grouped) totals(ctx context.Context, w weights, y []float64) error {
	sum := make([]int64, len(y))
	var err error
	if q.gram == nil {
		err = tableProduct(ctx, q, w, q.allGroups(), q.size, sum)
	} else {
		err = linearProduct(ctx, q, w, linearTerms[int64]{&q.all, q.alike, q.inner}, sum)
	}
	q.each(len(sum), func(lo, hi int) {
		for g := lo; g < hi; g++ {
			y[g] = float64(sum[g] + w.near*q.count[q.owner[g]])
		}
	})
	return err
}

// allGroups lists all groups.
func (q *groups) allGroups() []int32 {
	all := make([]int32, len(q.size))
	for g := range all {
		all[g] = int32(g)
	}
	return all
}

// linearTerms holds the terms of fields with linear weights: the sums over all groups, T and Q.
type linearTerms[T number] struct {
	all     *sums[T]
	t, dots []T
}

// linearProduct writes the fields y for linear weights.
func linearProduct[T number](ctx context.Context, q *grouped, w weights, of linearTerms[T], y []T) error {
	var all dotter[T]
	all.load(of.all, q.p, T(w.far), len(y))
	base := T(w.far*w.farShift) * of.all.s
	shift := T(w.near*w.nearShift - w.far*w.farShift)
	return q.eachRun(ctx, len(y)*(q.p+8)/8, func(lo, hi int) {
		for g := lo; g < hi; g++ {
			y[g] = base + all.dot(q.bits(int32(g))) + T(shift*of.t[q.owner[g]]) + T(T(w.near-w.far)*of.dots[g])
		}
	})
}

// sumAll returns the sums of x over all groups. Parts of them are summed in their order, and these in theirs.
func (q *grouped) sumAll(ctx context.Context, x []float64) (*sums[float64], error) {
	const size = 2048
	parts := make([]sums[float64], (len(x)+size-1)/size)
	err := par.Blocks(ctx, q.threads, len(x), size, func(b, lo, hi int) {
		parts[b].reset(q.p)
		for g := lo; g < hi; g++ {
			parts[b].add(q.bits(int32(g)), x[g])
		}
	})
	if err != nil {
		return nil, err
	}
	for b := range parts[1:] {
		parts[0].addSums(&parts[b+1])
	}
	return &parts[0], nil
}

// Sums that do not depend on the signs, which all candidates of a bit read.

// addBit updates what the groups know of all rows by a new bit, given the halves of old groups that they are. The sum
// of c_i.c_j over the rows similar to a group changes by c_ib times the sum of the bit over these, which is cheaper
// than distances.
func (q *grouped) addBit(halves []int32) {
	last := q.p - 1
	bit, near := make([]int64, len(q.count)), make([]int64, len(q.count))
	q.eachUnit(func(u int) {
		for g := q.first[u]; g < q.first[u+1]; g++ {
			bit[u] += q.size[g] * q.sign(g, last)
		}
	})
	if last&63 == 0 {
		q.all.set = append(q.all.set, make([]int64, 64)...)
	}
	q.all.set[last] = q.all.s
	for _, v := range bit {
		q.all.set[last] += v
	}
	q.all.set[last] /= 2
	_ = nearTotals(context.Background(), q, bit, near)
	inner := make([]int64, len(halves))
	q.eachUnit(func(u int) {
		for g := q.first[u]; g < q.first[u+1]; g++ {
			inner[g] = q.inner[halves[g]/2] + q.sign(g, last)*near[u]
		}
	})
	q.inner = inner
}

// nearSums writes for every unit the sum of x over the groups of the units similar to it.
func nearSums[T number](ctx context.Context, q *grouped, x, t []T) error {
	own := make([]T, len(t))
	q.eachUnit(func(u int) {
		for _, v := range x[q.first[u]:q.first[u+1]] {
			own[u] += v
		}
	})
	return nearTotals(ctx, q, own, t)
}

// nearTotals adds to t for every unit the sum of own over the units similar to it.
func nearTotals[T number](ctx context.Context, q *grouped, own, t []T) error {
	return par.Blocks(ctx, q.threads, len(t), 256, func(_, lo, hi int) {
		near := q.near.reader()
		for u := lo; u < hi; u++ {
			for _, o := range near(int32(u)) {
				t[u] += own[o]
			}
		}
	})
}

// nearDots writes for every group c . sum of x_h c_h over the groups h of the units similar to its own.
func nearDots[T number](ctx context.Context, q *grouped, x, dots []T) error {
	return par.Blocks(ctx, q.threads, len(q.from)-1, 16, func(_, lo, hi int) {
		near := q.near.reader()
		var own sums[T]
		var product dotter[T]
		for u := lo; u < hi; u++ {
			list := near(int32(u))
			first, last := q.first[u], q.first[u+1]
			if len(list) == 1 {
				own.reset(q.p)
				for g := first; g < last; g++ {
					own.add(q.bits(g), x[g])
				}
				product.load(&own, q.p, 1, int(last-first))
				for g := first; g < last; g++ {
					dots[g] = product.dot(q.bits(g))
				}
				continue
			}
			for g := first; g < last; g++ {
				code := q.bits(g)
				var sum T
				for _, o := range list {
					for h := q.first[o]; h < q.first[o+1]; h++ {
						sum += T(x[h] * T(q.p-2*distance(code, q.bits(h))))
					}
				}
				dots[g] = sum
			}
		}
	})
}
