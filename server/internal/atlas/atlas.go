// Package atlas draws a map of a collection: it lays the distinct codes of an index out in the plane so that codes at a
// small Hamming distance are close to each other.
//
// Sources: the neighbour graph and its refinement follow UMAP (McInnes, Healy, Melville, "UMAP: Uniform Manifold
// Approximation and Projection for Dimension Reduction", arXiv:1802.03426, 2018) with the kernel and the sampling of
// LargeVis (Tang, Liu, Zhang, Mei, "Visualizing Large-scale and High-dimensional Data", WWW 2016). The start is
// classical scaling (Torgerson, Psychometrika 1952).
//
// With codes c in {-1,+1}^bits, |c_i - c_j|² is four times the Hamming distance, so the first two principal components
// of the codes are the classical scaling of the distances. From there the positions y climb
//
//	sum over neighbours (i,j) of w_ij log q_ij + sum over others (i,l) of log(1 - q_il),   q_ij = 1/(1 + |y_i - y_j|²),
//
// where the weights w come from the k nearest codes of each code (graph.go).
//
//	groups       the distinct codes, or a fair sample of them        O(items)
//	neighbours   the k nearest of each code, exact, by scans         O(n² words)
//	principal    two components                                       O(n bits²/64)
//	refine       sampled gradient steps                               O(n k epochs)
//
// The result depends on the codes alone, not on the number of threads: all codes of a block see the positions from
// before the block, and every code has a random stream of its own.
package atlas

import (
	"context"
	"fmt"
	"math"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// MaxPoints is the largest number of points on a map, for codes of up to 128 bits.
const MaxPoints = 100_000

// Options configure a map. The zero value is the default.
type Options struct {
	Points   int                 // at most; 0 means MaxPoints, or fewer if long codes would take much longer
	Threads  int                 // 0 means all cores; never changes the result
	Progress func(share float64) // called now and then with the share done, by one goroutine at a time; may be nil
}

// Map is a layout of codes. Point i stands for the items of Groups[i].
type Map struct {
	Groups []index.Group
	X, Y   []uint16 // the longer side runs from 0 to 65535, and the other is centred
	All    bool     // every distinct code has a point; else the points are a fair sample
}

// Make lays out the codes of a snapshot. It checks ctx many times per second.
func Make(ctx context.Context, s *index.Snapshot, o Options) (*Map, error) {
	most := o.Points
	if most <= 0 {
		most = pointsFor(s.Bits())
	}
	codes, groups, all := s.Groups(most)
	y, err := layout(ctx, codes, s.Detail(), o)
	if err != nil {
		return nil, fmt.Errorf("drawing the map was stopped: %w", err)
	}
	m := &Map{Groups: groups, All: all, X: make([]uint16, len(groups)), Y: make([]uint16, len(groups))}
	m.setPositions(y)
	return m, nil
}

// pointsFor returns the largest number of points for codes of some bits. Comparing all pairs takes n² words.
func pointsFor(bits int) int {
	words := (bits + 63) / 64
	return int(MaxPoints * math.Sqrt(min(1, 2/float64(words))))
}

// layout returns the positions of distinct codes, two numbers each. The last bits, detail of them, are detail: they
// weigh as little as in a search, and the start leaves them out.
func layout(ctx context.Context, codes hamming.Codes, detail int, o Options) ([]float32, error) {
	report := o.Progress
	if report == nil {
		report = func(float64) {}
	}
	n := codes.Len()
	if n < 2 {
		return make([]float32, 2*n), ctx.Err()
	}
	const scanned = 0.3 // approximate share of the work before the refinement
	g, err := neighbourGraph(ctx, codes, detail, o.Threads, func(share float64) { report(share * scanned) })
	if err != nil {
		return nil, err
	}
	y, err := principalPlane(ctx, codes.Prefix(codes.Bits-detail), o.Threads)
	if err != nil {
		return nil, err
	}
	r := refinement{graph: g, y: y, threads: o.Threads}
	return y, r.run(ctx, func(share float64) { report(scanned + float64(share*(1-scanned))) })
}

// setPositions scales positions to 16 bits, with the same scale on both axes.
func (m *Map) setPositions(y []float32) {
	if len(y) == 0 {
		return
	}
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for i, v := range y {
		low[i&1], high[i&1] = min(low[i&1], float64(v)), max(high[i&1], float64(v))
	}
	scale := 0.0
	if side := max(high[0]-low[0], high[1]-low[1]); side > 0 {
		scale = math.MaxUint16 / side
	}
	for i := range m.X {
		for axis, to := range [2][]uint16{m.X, m.Y} {
			v := float64((float64(y[2*i+axis])-float64((low[axis]+high[axis])/2))*scale) + math.MaxUint16/2.0
			to[i] = uint16(min(max(math.Round(v), 0), math.MaxUint16))
		}
	}
}
