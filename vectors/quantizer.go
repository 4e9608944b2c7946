package vectors

import (
	"context"
	"errors"
	"fmt"
	"math"

	"hashgrove/internal/pages"
	"hashgrove/internal/par"
)

// Linear quantisation of features into 256 bins (Lin et al., CVPR 2014, "feature quantization"; Appel et al.,
// ICML 2013), as the released code does it.
//
// For a column with training range [min, max], widened on both sides by a thousandth of its length,
//
//	bin(x) = round((x - lo) / step), saturated to 0..255,   step = (hi - lo) / 255.
//
// Values that are bytes already keep their value: lo = 0, hi = 255. A tree goes left iff bin(x) <= b. Every
// operation of bin rises with x, so there is one float32 for each bin, the edge, such that bin(x) <= b iff
// x < edge(b): comparing raw floats and comparing bins agree on every input.

// Bins is the number of bins of a column.
const Bins = 256

// Quantizer maps every column to bytes.
type Quantizer struct {
	Lo, Hi []float32 // the widened range of each column; Lo < Hi, both finite
}

// Dim is the number of columns.
func (q Quantizer) Dim() int { return len(q.Lo) }

// Scale returns the quantiser of column j.
func (q Quantizer) Scale(j int) Scale {
	lo, hi := float64(q.Lo[j]), float64(q.Hi[j])
	return Scale{lo, (Bins - 1) / (hi - lo)}
}

// Check reports a quantiser that training could not have left.
func (q Quantizer) Check() error {
	if len(q.Lo) != len(q.Hi) {
		return fmt.Errorf("quantiser with %d lower and %d upper bounds", len(q.Lo), len(q.Hi))
	}
	for j := range q.Lo {
		lo, hi := q.Lo[j], q.Hi[j]
		if !(lo < hi) || math.IsInf(float64(lo), 0) || math.IsInf(float64(hi), 0) {
			return fmt.Errorf("quantiser of column %d has the range %v to %v", j, lo, hi)
		}
	}
	return nil
}

// Scale quantises one column.
type Scale struct{ lo, perUnit float64 }

// Bin returns the bin of x. NaN falls into bin 0; callers refuse it before.
func (s Scale) Bin(x float32) uint8 {
	// The conversion keeps the compiler from fusing product and sum, which would round differently
	// from machine to machine.
	t := float64((float64(x)-s.lo)*s.perUnit) + 0.5
	if t >= Bins-1 {
		return Bins - 1
	}
	if t >= 1 {
		return uint8(t)
	}
	return 0
}

// Edge returns the least x whose bin is above b, and +Inf for the last bin: Bin(x) <= b iff x < Edge(b).
func (s Scale) Edge(b uint8) float32 {
	if b == Bins-1 {
		return float32(math.Inf(1))
	}
	// Binary search over the float32 in their order: below stays at or under b, above stays over it.
	below, above := order(-math.MaxFloat32), order(math.MaxFloat32)
	for above-below > 1 {
		middle := below + (above-below)/2
		if s.Bin(inOrder(middle)) > b {
			above = middle
		} else {
			below = middle
		}
	}
	return inOrder(above)
}

// order numbers the float32 from the least to the greatest.
func order(x float32) int64 {
	if bits := math.Float32bits(x); bits>>31 == 0 {
		return int64(bits)
	} else {
		return -1 - int64(bits&^(1<<31))
	}
}

// inOrder is the inverse of order.
func inOrder(i int64) float32 {
	if i >= 0 {
		return math.Float32frombits(uint32(i))
	}
	return math.Float32frombits(uint32(-1-i) | 1<<31)
}

// Ranges is what a quantiser must know of the training data.
type Ranges struct {
	Rows     int
	Min, Max []float32 // least and greatest value of each column
	Bytes    bool      // every value is a whole number from 0 to 255
}

// NewRanges is the Ranges of no rows yet.
func NewRanges(dim int) *Ranges {
	r := &Ranges{Min: make([]float32, dim), Max: make([]float32, dim), Bytes: true}
	for j := range dim {
		r.Min[j], r.Max[j] = float32(math.Inf(1)), float32(math.Inf(-1))
	}
	return r
}

// Add takes rows into account.
func (r *Ranges) Add(x Matrix) {
	lo, hi := r.Min, r.Max
	bytes := r.Bytes
	for i := range x.Rows {
		row := x.Row(i)
		for j, v := range row {
			if v < lo[j] {
				lo[j] = v
			}
			if v > hi[j] {
				hi[j] = v
			}
		}
		if bytes {
			for _, v := range row {
				if !(v >= 0 && v <= 255) || v != float32(uint8(v)) {
					bytes = false
					break
				}
			}
		}
	}
	r.Rows += x.Rows
	r.Bytes = bytes
}

// Constant lists the columns with one value only.
func (r *Ranges) Constant() []int {
	var list []int
	for j := range r.Min {
		if r.Min[j] == r.Max[j] {
			list = append(list, j)
		}
	}
	return list
}

// RangesOf reads a source once.
func RangesOf(ctx context.Context, src Source) (*Ranges, error) {
	r := NewRanges(src.Dim())
	for c, err := range src.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		r.Add(c.X)
	}
	return r, nil
}

// Quantizer returns the quantiser for data of these ranges.
func (r *Ranges) Quantizer() (Quantizer, error) {
	if r.Rows == 0 {
		return Quantizer{}, errors.New("no rows to take the range of")
	}
	q := Quantizer{make([]float32, len(r.Min)), make([]float32, len(r.Max))}
	for j := range q.Lo {
		if r.Bytes {
			q.Lo[j], q.Hi[j] = 0, Bins-1
			continue
		}
		lo, hi := float64(r.Min[j]), float64(r.Max[j])
		widen := (hi - lo) / 1000
		q.Lo[j] = widened(lo-widen, r.Min[j], -math.MaxFloat32)
		q.Hi[j] = widened(hi+widen, r.Max[j], math.MaxFloat32)
	}
	return q, q.Check()
}

// widened rounds to float32, at least one float32 beyond the value, at most the limit.
func widened(to float64, value, limit float32) float32 {
	w := float32(to)
	if math.IsInf(float64(w), 0) {
		w = limit
	}
	if w == value {
		w = math.Nextafter32(value, limit)
	}
	return w
}

// Columns holds the training vectors as the learners want them: one byte per value, column after column.
// It is all that training keeps of the vectors.
type Columns struct {
	Quantizer
	Rows int
	data []uint8 // column j is data[j*Rows : (j+1)*Rows]
}

// NewColumns returns columns of the given number of rows, all values in bin 0.
func NewColumns(rows int, q Quantizer) *Columns {
	return &Columns{q, rows, pages.Make[uint8](rows * q.Dim())}
}

// Column lends the bins of column j, one per row.
func (c *Columns) Column(j int) []uint8 { return c.data[j*c.Rows : (j+1)*c.Rows : (j+1)*c.Rows] }

// Set quantises x into the rows from first on.
func (c *Columns) Set(ctx context.Context, threads, first int, x Matrix) error {
	if x.Cols != c.Dim() || first < 0 || first+x.Rows > c.Rows {
		panic("vectors: Columns.Set outside of the columns")
	}
	// A few columns at a time, so that the cache lines of x that are read stay near until all their
	// values are used, while every write goes to one of few lines.
	const width = 16
	return par.Blocks(ctx, threads, x.Cols, width, func(_, lo, hi int) {
		var scales [width]Scale
		for j := lo; j < hi; j++ {
			scales[j-lo] = c.Scale(j)
		}
		for i := range x.Rows {
			row := x.Data[i*x.Cols+lo : i*x.Cols+hi]
			at := lo*c.Rows + first + i
			for j, v := range row {
				c.data[at] = scales[j].Bin(v)
				at += c.Rows
			}
		}
	})
}

// Take copies the given rows.
func (c *Columns) Take(ctx context.Context, threads int, rows []int32) (*Columns, error) {
	out := NewColumns(len(rows), c.Quantizer)
	return out, par.For(ctx, threads, c.Dim(), func(j int) {
		from, to := c.Column(j), out.Column(j)
		for k, i := range rows {
			to[k] = from[i]
		}
	})
}

// Quantize reads a source of the given number of rows once, into columns.
func Quantize(ctx context.Context, src Source, rows int, q Quantizer, threads int) (*Columns, error) {
	if src.Dim() != q.Dim() {
		return nil, fmt.Errorf("vectors have %d dimensions, the quantiser %d", src.Dim(), q.Dim())
	}
	c := NewColumns(rows, q)
	n := 0
	for chunk, err := range src.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		if n += chunk.X.Rows; n > rows {
			break
		}
		if err := c.Set(ctx, threads, chunk.First, chunk.X); err != nil {
			return nil, err
		}
	}
	return c, CheckRows(n, rows)
}
