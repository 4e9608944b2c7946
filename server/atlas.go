package server

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// A map lays codes out in the plane so that codes at a small Hamming distance are close to each other, as UMAP does
// (McInnes, Healy, Melville, arXiv:1802.03426, 2018) with the kernel and the sampling of LargeVis (Tang, Liu, Zhang,
// Mei, WWW 2016). Positions y climb
//
//	sum over neighbours (i,j) of log q_ij + sum over others (i,l) of log(1 - q_il),   q_ij = 1/(1 + |y_i - y_j|²).
//
// They depend on the codes alone.

// neighbourCount is the number of nearest codes that each code is drawn to.
const neighbourCount = 10

// layOut returns a position for each code. Bits of detail weigh as little as in a search.
func layOut(ctx context.Context, codes hamming.Codes, detail int) ([][2]float64, error) {
	if codes.Len() < 2 {
		return make([][2]float64, codes.Len()), ctx.Err()
	}
	near, err := neighbours(ctx, codes, detail)
	if err != nil {
		return nil, err
	}
	y := farPlane(codes.Prefix(codes.Bits - detail))
	return y, refine(ctx, near, y)
}

// neighbours finds the nearest codes of each code.
func neighbours(ctx context.Context, codes hamming.Codes, detail int) ([][]int, error) {
	k := min(neighbourCount, codes.Len()-1)
	found, err := index.FromCodes(codes).Detailed(detail).Search(ctx, codes, k+1, math.MaxInt, index.Options{})
	if err != nil {
		return nil, err
	}
	near := make([][]int, codes.Len())
	for i := range near {
		for _, h := range found[i].Hits {
			if code, _ := h.ID.Integer(); int(code) != i {
				near[i] = append(near[i], int(code))
			}
		}
	}
	return near, nil
}

// farPlane places codes by their distances to codes that are far apart, as FastMap does (Faloutsos, Lin, SIGMOD 1995):
// along each of two axes, a code lies between the two ends as it does in the space of codes.
func farPlane(codes hamming.Codes) [][2]float64 {
	rng, y := rand.New(rand.NewPCG(1, 2)), make([][2]float64, codes.Len())
	apart := make([]int, codes.Len()) // the distance of each code to the nearest end so far
	for i := range apart {
		apart[i] = codes.Bits
	}
	next := func() (distances []int, end int) {
		for i, d := range apart {
			if d > apart[end] {
				end = i
			}
		}
		for i := range apart {
			d := hamming.Distance(codes.Row(i), codes.Row(end))
			distances, apart[i] = append(distances, d), min(apart[i], d)
		}
		return distances, end
	}
	for axis := range 2 {
		from, _ := next()
		to, end := next()
		for i := range y { // codes may lie at one place; refining needs them apart
			along := float64(from[i]-to[i]) / float64(max(from[end], 1))
			y[i][axis] = 5*along + float64(1e-3*(rng.Float64()-0.5))
		}
	}
	return y
}

// Parameters of the refinement. They were chosen by eye and by the share of neighbours in the plane with the same
// label; the share hardly depends on them.
const (
	epochs    = 200   // passes over all edges
	negatives = 5     // other codes that repel a code, for each edge that attracts it
	softness  = 0.1   // added to the squared distance of a repelling code, so that no step is longer than a few
	gravity   = 0.003 // share of the way to the centre that a code is pulled back, so that islands do not drift away
)

// refine moves codes and their neighbours towards each other, and codes away from others: for each pair of neighbours a
// step up log q, and for each of some other codes a step up log(1 - q). The rate falls from 1 to 0.
func refine(ctx context.Context, near [][]int, y [][2]float64) error {
	rng := rand.New(rand.NewPCG(3, 4))
	for epoch := range epochs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rate := 1 - float64(epoch)/epochs
		for i := range y {
			at := &y[i]
			for _, j := range near[i] {
				to := &y[j]
				dx, dy := at[0]-to[0], at[1]-to[1]
				pull := rate / 2 / (1 + float64(dx*dx) + float64(dy*dy))
				at[0], at[1] = at[0]-float64(pull*dx), at[1]-float64(pull*dy)
				to[0], to[1] = to[0]+float64(pull*dx), to[1]+float64(pull*dy)
				for range negatives {
					other := y[rng.IntN(len(y))] // the code itself is at no distance and does not push
					dx, dy := at[0]-other[0], at[1]-other[1]
					square := float64(dx*dx) + float64(dy*dy)
					push := rate * 2 / ((softness + square) * (1 + square))
					at[0], at[1] = at[0]+float64(push*dx), at[1]+float64(push*dy)
				}
			}
			kept := 1 - float64(gravity*rate)
			at[0], at[1] = at[0]*kept, at[1]*kept
		}
	}
	return nil
}

// packed scales positions to 16 bits, with the same scale on both axes: the longer side runs from 0 to 65535, and the
// other is centred.
func packed(y [][2]float64) []byte {
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for _, at := range y {
		for axis, v := range at {
			low[axis], high[axis] = min(low[axis], v), max(high[axis], v)
		}
	}
	side, b := max(high[0]-low[0], high[1]-low[1], 1e-9), []byte{}
	for _, at := range y {
		for axis, v := range at {
			v = float64((v-float64((low[axis]+high[axis])/2))/side*math.MaxUint16) + math.MaxUint16/2.0
			b = binary.LittleEndian.AppendUint16(b, uint16(min(max(math.Round(v), 0), math.MaxUint16)))
		}
	}
	return b
}
