// Package atlas draws a map of a collection: it lays distinct codes of an index out in the plane so that codes at a
// small Hamming distance are close to each other, as UMAP does (McInnes, Healy, Melville, arXiv:1802.03426, 2018) with
// the kernel and the sampling of LargeVis (Tang, Liu, Zhang, Mei, WWW 2016). Positions y start from the first two
// principal components of the codes and climb
//
//	sum over neighbours (i,j) of w_ij log q_ij + sum over others (i,l) of log(1 - q_il),   q_ij = 1/(1 + |y_i - y_j|²).
//
// The result depends on the items alone.
package atlas

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// MaxPoints is the largest number of points on a map: as many as people can tell apart, and few enough that drawing
// takes less than a second.
const MaxPoints = 4_000

// neighbourCount is k, the number of nearest codes that each code is connected to.
const neighbourCount = 15

// Map is a layout of codes. Point i stands for the items of Groups[i].
type Map struct {
	Groups []index.Group
	X, Y   []uint16 // the longer side runs from 0 to 65535, and the other is centred
	All    bool     // every distinct code has a point; else the points are a fair sample
}

// edge leads to a near code.
type edge struct {
	to     int
	weight float64 // 0 to 1
}

// Make lays out the codes of a snapshot.
func Make(ctx context.Context, s *index.Snapshot) (*Map, error) {
	codes, groups, all := s.Groups(MaxPoints)
	y := make([][2]float64, codes.Len())
	if codes.Len() > 1 {
		near, err := neighbours(ctx, codes, s.Detail())
		if err != nil {
			return nil, err
		}
		y = principalPlane(codes.Prefix(codes.Bits - s.Detail()))
		if err := refine(ctx, joined(near), y); err != nil {
			return nil, err
		}
	}
	m := &Map{Groups: groups, All: all}
	m.setPositions(y)
	return m, ctx.Err()
}

// neighbours finds the k nearest codes j of each code i and weighs them by
//
//	p_ij = exp(-(d_ij - d_i)/s_i),    sum over j of p_ij = log2 k,
//
// where d_i is the distance of the nearest one: how surely j is a neighbour of i, however sparse the region. Bits of
// detail weigh as little as in a search.
func neighbours(ctx context.Context, codes hamming.Codes, detail int) ([][]edge, error) {
	k := min(neighbourCount, codes.Len()-1)
	found, err := index.FromCodes(codes).Detailed(detail).SearchBatch(ctx, codes, k+1, index.Options{})
	if err != nil {
		return nil, err
	}
	near := make([][]edge, codes.Len())
	for i := range near {
		var distances []float64
		for _, h := range found[i].Hits {
			d := h.Distance
			if detail > 0 {
				d = h.MarginDistance
			}
			if code, _ := h.ID.Integer(); int(code) != i {
				near[i], distances = append(near[i], edge{to: int(code)}), append(distances, float64(d))
			}
		}
		for r, p := range memberships(distances) {
			near[i][r].weight = p
		}
	}
	return near, nil
}

// memberships returns p for increasing distances.
func memberships(distances []float64) []float64 {
	p := make([]float64, len(distances))
	sum := func(s float64) (total float64) {
		for r, d := range distances {
			p[r] = math.Exp((distances[0] - d) / s)
			total += p[r]
		}
		return total
	}
	// The sum grows with s, starting at the number of codes at the first distance. Distances are integers: below 1/16
	// nothing changes any more.
	low, high := 1.0/16, float64(1<<20)
	for range 40 {
		if s := math.Sqrt(low * high); sum(s) < math.Log2(float64(len(p))+1) {
			low = s
		} else {
			high = s
		}
	}
	sum(high)
	return p
}

// joined returns the edges in both directions. One direction is enough, so the weight is p_ij + p_ji - p_ij p_ji.
func joined(near [][]edge) [][]edge {
	both := make([][]edge, len(near))
	for i, list := range near {
		for _, e := range list {
			back := slices.IndexFunc(near[e.to], func(b edge) bool { return b.to == i })
			if back >= 0 && e.to < i {
				continue // the other direction has brought both
			}
			w := e.weight
			if back >= 0 {
				w += float64((1 - w) * near[e.to][back].weight)
			}
			both[i], both[e.to] = append(both[i], edge{e.to, w}), append(both[e.to], edge{i, w})
		}
	}
	return both
}

// principalPlane projects the codes, as rows of -1 and +1, onto their first two principal components, scaled so that
// the longer side is about ten: the distance at which codes without neighbours still affect each other. Since
// |c_i - c_j|² is four times the Hamming distance, that is the classical scaling of the distances.
func principalPlane(codes hamming.Codes) [][2]float64 {
	n, width := codes.Len(), min(codes.Bits, 512)
	x, mean := make([]float64, n*width), make([]float64, width)
	for i := range n {
		for j := range width {
			x[i*width+j] = -1
			if codes.Bit(i, j) {
				x[i*width+j] = 1
			}
			mean[j] += x[i*width+j] / float64(n)
		}
	}
	rng, y, spread := rand.New(rand.NewPCG(1, 2)), make([][2]float64, n), 0.0
	u, v := make([]float64, width), make([]float64, width)
	for j := range width {
		u[j], v[j] = rng.Float64()-0.5, rng.Float64()-0.5
	}
	for range 30 { // orthogonal iteration
		orthogonalise(u, v)
		nextU, nextV := make([]float64, width), make([]float64, width)
		for i := range y {
			y[i] = [2]float64{}
			for j, value := range x[i*width : (i+1)*width] {
				y[i][0] += float64((value - mean[j]) * u[j])
				y[i][1] += float64((value - mean[j]) * v[j])
			}
			for j, value := range x[i*width : (i+1)*width] {
				nextU[j] += float64((value - mean[j]) * y[i][0])
				nextV[j] += float64((value - mean[j]) * y[i][1])
			}
		}
		u, v = nextU, nextV
	}
	for i := range y {
		spread = max(spread, math.Abs(y[i][0]), math.Abs(y[i][1]))
	}
	for i := range y {
		for axis := range 2 { // codes may have the same projection; refining needs them apart
			y[i][axis] = y[i][axis]*5/max(spread, 1e-9) + float64(1e-3*(rng.Float64()-0.5))
		}
	}
	return y
}

// orthogonalise makes u a unit vector, and v one that is orthogonal to it; zero vectors stay.
func orthogonalise(u, v []float64) {
	unit := func(x []float64) {
		length := 0.0
		for _, a := range x {
			length = math.Hypot(length, a)
		}
		for i := range x {
			x[i] /= max(length, 1e-300)
		}
	}
	unit(u)
	along := 0.0
	for i := range u {
		along += float64(u[i] * v[i])
	}
	for i := range v {
		v[i] -= float64(along * u[i])
	}
	unit(v)
}

// Parameters of the refinement. They were chosen by eye and by the share of neighbours in the plane with the same
// label; the share hardly depends on them.
const (
	epochs    = 200   // passes over all edges
	negatives = 5     // other codes that repel a code, for each edge that attracts it
	softness  = 0.1   // added to the squared distance of a repelling code, so that no step is longer than a few
	gravity   = 0.003 // share of the way to the centre that a code is pulled back, so that islands do not drift away
)

// refine moves codes towards their neighbours and away from others: for each edge, with probability w, a step up
// log q, and a step up log(1 - q) for each of some other codes. The rate falls from 1 to 0.
func refine(ctx context.Context, near [][]edge, y [][2]float64) error {
	rng := rand.New(rand.NewPCG(3, 4))
	for epoch := range epochs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rate := 1 - float64(epoch)/epochs
		for i := range y {
			at := &y[i]
			for _, e := range near[i] {
				if rng.Float64() >= e.weight {
					continue
				}
				dx, dy := at[0]-y[e.to][0], at[1]-y[e.to][1]
				pull := rate / (1 + float64(dx*dx) + float64(dy*dy))
				at[0], at[1] = at[0]-float64(pull*dx), at[1]-float64(pull*dy)
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

// setPositions scales positions to 16 bits, with the same scale on both axes.
func (m *Map) setPositions(y [][2]float64) {
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for _, at := range y {
		for axis, v := range at {
			low[axis], high[axis] = min(low[axis], v), max(high[axis], v)
		}
	}
	side := max(high[0]-low[0], high[1]-low[1], 1e-9)
	scaled := func(v float64, axis int) uint16 {
		v = float64((v-float64((low[axis]+high[axis])/2))/side*math.MaxUint16) + math.MaxUint16/2.0
		return uint16(min(max(math.Round(v), 0), math.MaxUint16))
	}
	for _, at := range y {
		m.X, m.Y = append(m.X, scaled(at[0], 0)), append(m.Y, scaled(at[1], 1))
	}
}
