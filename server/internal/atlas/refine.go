package atlas

import (
	"context"

	"hashgrove/internal/par"
)

// Parameters of the refinement. They were chosen by eye and by the share of neighbours in the plane with the same
// label, on codes of Fashion-MNIST and of package descriptions; the share hardly depends on them.
const (
	negatives = 5     // other codes that repel a code, for each edge that attracts it
	softness  = 0.1   // added to the squared distance of a repelling code, so that no step is longer than a few
	gravity   = 0.003 // share of the way to the centre that a code is pulled back, so that islands do not drift away
	turns     = 8     // parts of an epoch; the codes of a part move simultaneously
)

// epochs returns the number of passes over all edges. More change little: with 64-bit codes of package descriptions,
// 0.385 of the neighbours in the plane had the same label after 100 and 0.380 after 300.
func epochs(n int) int {
	switch {
	case n <= 10_000:
		return 300
	case n <= 50_000:
		return 150
	}
	return 100
}

// refinement moves codes towards their neighbours and away from others.
//
//	epoch                                   the rate falls from 1 to 0
//		turn                                codes t, t + turns, t + 2 turns, ...
//			for each code, in parallel
//				for each edge, with probability w: a step up log q, and a step up log(1 - q) for each of some codes
//
// Within a turn a code sees the others where they were before the turn.
type refinement struct {
	graph   *graph
	y       []float32 // two for each code
	threads int
}

func (r *refinement) run(ctx context.Context, report func(float64)) error {
	n := len(r.y) / 2
	total := epochs(n)
	moved := make([]float32, 2*((n+turns-1)/turns))
	for epoch := range total {
		rate := 1 - float32(epoch)/float32(total)
		for turn := range min(turns, n) {
			members := (n - turn + turns - 1) / turns
			err := par.Blocks(ctx, r.threads, members, 256, func(_, lo, hi int) {
				for m := lo; m < hi; m++ {
					moved[2*m], moved[2*m+1] = r.step(m*turns+turn, epoch, rate)
				}
			})
			if err != nil {
				return err
			}
			for m := range members {
				i := m*turns + turn
				r.y[2*i], r.y[2*i+1] = moved[2*m], moved[2*m+1]
			}
		}
		report(float64(epoch+1) / float64(total))
	}
	return nil
}

// step returns the new position of a code in an epoch. Each code has its own linear congruential generator per epoch.
func (r *refinement) step(i, epoch int, rate float32) (x, y float32) {
	const factor, summand = 0x5851f42d4c957f2d, 0x14057b7ef767814f
	g, n := r.graph, uint64(len(r.y)/2)
	x, y = r.y[2*i], r.y[2*i+1]
	random := mix(uint64(epoch)<<32 | uint64(i))
	for e := g.start[i]; e < g.start[i+1]; e++ {
		random = random*factor + summand
		if float32(random>>40) >= g.weight[e]*(1<<24) {
			continue
		}
		j := g.to[e]
		dx, dy := x-r.y[2*j], y-r.y[2*j+1]
		pull := rate / (1 + float32(dx*dx) + float32(dy*dy))
		x -= float32(pull * dx)
		y -= float32(pull * dy)
		for range negatives {
			random = random*factor + summand
			other := random >> 32 * n >> 32
			if other == uint64(i) {
				continue
			}
			dx, dy := x-r.y[2*other], y-r.y[2*other+1]
			square := float32(dx*dx) + float32(dy*dy)
			push := rate * 2 / ((softness + square) * (1 + square))
			x += float32(push * dx)
			y += float32(push * dy)
		}
	}
	return x * (1 - float32(gravity*rate)), y * (1 - float32(gravity*rate))
}
