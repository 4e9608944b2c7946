package vectors

import (
	"context"
	"fmt"
	"math"
	"slices"

	"hashgrove/internal/fault"
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
// Values that are bytes already keep their value: lo = 0, hi = 255. A column may have edges of its own instead
// (binning.go says when): its bin is the number of edges that are not above x. Where values may be missing, NaN has
// bin 0 to itself, and numbers have the bins from 1 on.
//
// A tree goes left iff bin(x) <= b. Every operation of bin rises with x, so there is one float32 for each bin, the
// edge, such that bin(x) <= b iff x < edge(b): comparing raw floats and comparing bins agree on every number.

// Bins is the number of bins of a column.
const Bins = 256

// Quantizer maps every column to bytes.
type Quantizer struct {
	Lo, Hi  []float32   // the widened range of each column; Lo < Hi, both finite
	Edges   [][]float32 // nil, or for each column nil or its own edges, rising: at least one, at most MaxEdges
	Missing bool        // NaN is a missing value, in bin 0, and numbers are in the bins from 1 on
}

// Dim is the number of columns.
func (q Quantizer) Dim() int { return len(q.Lo) }

// Plain reports whether all columns have linear bins and none may lack values, so that Lo and Hi say everything.
func (q Quantizer) Plain() bool { return q.Edges == nil && !q.Missing }

// MaxEdges is the greatest number of edges of a column.
func (q Quantizer) MaxEdges() int {
	if q.Missing {
		return Bins - 2
	}
	return Bins - 1
}

// Scale returns the quantiser of column j.
func (q Quantizer) Scale(j int) Scale {
	lo, hi := float64(q.Lo[j]), float64(q.Hi[j])
	s := Scale{lo: lo, perUnit: (Bins - 1) / (hi - lo)}
	if q.Plain() {
		return s
	}
	s.other = true
	if q.Edges != nil {
		s.edges = q.Edges[j]
	}
	if q.Missing {
		s.first = 1
	}
	return s
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
	if q.Edges == nil {
		return nil
	}
	if len(q.Edges) != len(q.Lo) {
		return fmt.Errorf("quantiser of %d columns with edges for %d", len(q.Lo), len(q.Edges))
	}
	for j, edges := range q.Edges {
		if edges != nil && len(edges) == 0 || len(edges) > q.MaxEdges() {
			return fmt.Errorf("quantiser of column %d has %d edges, outside of 1 to %d", j, len(edges), q.MaxEdges())
		}
		for i, e := range edges {
			if e-e != 0 || i > 0 && !(edges[i-1] < e) {
				return fmt.Errorf("quantiser of column %d has the edge %v at place %d: edges are finite and rise", j, e, i)
			}
		}
	}
	return nil
}

// Scale quantises one column.
type Scale struct {
	lo, perUnit float64
	other       bool      // more than lo and perUnit counts
	first       uint8     // bin of the least numbers; those below it are for NaN
	edges       []float32 // nil for linear bins
}

// Bin returns the bin of x. NaN falls into bin 0; callers refuse it before, unless values may be missing.
func (s Scale) Bin(x float32) uint8 {
	switch {
	case !s.other:
		return s.linear(x)
	case x != x:
		return 0
	case s.edges == nil:
		return max(s.first, s.linear(x))
	}
	at, _ := slices.BinarySearchFunc(s.edges, x, func(edge, x float32) int {
		if edge <= x {
			return -1
		}
		return 1
	})
	return s.first + uint8(at)
}

// Searcher is a Scale made ready for many values.
type Searcher struct {
	Scale
	keys *[Bins]int32 // of the edges, then the greatest int32; nil without edges
}

// Searcher returns the scale made ready for many values, which takes a kilobyte for a column with edges.
func (s Scale) Searcher() Searcher {
	if s.edges == nil {
		return Searcher{Scale: s}
	}
	keys := new([Bins]int32)
	for i := range keys {
		if keys[i] = math.MaxInt32; i < len(s.edges) {
			keys[i] = key(s.edges[i])
		}
	}
	return Searcher{s, keys}
}

// key is an integer that orders as the float32 do: that of x, or of 0 for -0.
func key(x float32) int32 {
	b := int32(math.Float32bits(x + 0))
	return b ^ b>>31&math.MaxInt32
}

// Bin is Scale.Bin: the number of edges up to x, found without a branch that a processor could guess wrong.
func (s *Searcher) Bin(x float32) uint8 {
	if s.keys == nil || x != x {
		return s.Scale.Bin(x)
	}
	// A step counts where the key is not below the edge. At stays below 256, so no index is checked.
	k, keys := int64(key(x)), s.keys
	at := 128 &^ uint8((k-int64(keys[127]))>>63)
	at += 64 &^ uint8((k-int64(keys[at+63]))>>63)
	at += 32 &^ uint8((k-int64(keys[at+31]))>>63)
	at += 16 &^ uint8((k-int64(keys[at+15]))>>63)
	at += 8 &^ uint8((k-int64(keys[at+7]))>>63)
	at += 4 &^ uint8((k-int64(keys[at+3]))>>63)
	at += 2 &^ uint8((k-int64(keys[at+1]))>>63)
	at += 1 &^ uint8((k-int64(keys[at]))>>63)
	return s.first + at
}

// linear is the linear bin of x.
func (s *Scale) linear(x float32) uint8 {
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

// Edge returns the least x whose bin is above b, and +Inf for the last bin: of numbers, Bin(x) <= b iff x < Edge(b).
// Where values may be missing all numbers are above bin 0, and its edge is -Inf.
func (s Scale) Edge(b uint8) float32 {
	if b < s.first {
		return float32(math.Inf(-1))
	}
	if s.edges != nil && int(b-s.first) < len(s.edges) {
		return s.edges[b-s.first]
	}
	if s.edges != nil || b == Bins-1 {
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

// Columns holds the training vectors as the learners want them: one byte per value, column after column.
// It is all that training keeps of the vectors.
type Columns struct {
	Quantizer
	Rows  int
	data  []uint8 // column j is data[j*Rows : (j+1)*Rows]
	spill *Spill
}

// NewColumns returns columns of the given number of rows, all values in bin 0.
func NewColumns(rows int, q Quantizer) *Columns {
	return &Columns{q, rows, pages.Make[uint8](rows * q.Dim()), nil}
}

// newColumnsIn is NewColumns in a spill, which may be nil.
func newColumnsIn(m *Spill, rows int, q Quantizer) (*Columns, error) {
	if m == nil {
		return NewColumns(rows, q), nil
	}
	if d := q.Dim(); d > 0 && rows > math.MaxInt/d {
		return nil, fault.New("too-many-values",
			"%d rows of %d columns are more than a process of this machine can address", rows, d)
	}
	data, err := Alloc[uint8](m, rows*q.Dim())
	if err != nil {
		return nil, err
	}
	return &Columns{q, rows, data, m}, nil
}

// Spill is where the columns lie, and what is computed with all rows of them should; nil means memory.
func (c *Columns) Spill() *Spill { return c.spill }

// Fetch begins to read rows lo to hi of a column that will be needed soon, where it lies in a file.
func (c *Columns) Fetch(j, lo, hi int) {
	if hi = min(hi, c.Rows); c.spill != nil && lo < hi {
		pages.Fetch(c.Column(j)[lo:hi])
	}
}

// Column lends the bins of column j, one per row.
func (c *Columns) Column(j int) []uint8 { return c.data[j*c.Rows : (j+1)*c.Rows : (j+1)*c.Rows] }

// Set quantises x into the rows from first on.
func (c *Columns) Set(ctx context.Context, threads, first int, x Matrix) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	newSetter(c, threads).set(first, x)
	return nil
}

// setter quantises rows into columns.
type setter struct {
	*Columns
	team   *par.Team
	scales []Searcher // of all columns; nil where those are plain
}

func newSetter(c *Columns, threads int) setter {
	s := setter{c, par.NewTeam(threads), nil}
	for j := 0; !c.Plain() && j < c.Dim(); j++ {
		s.scales = append(s.scales, c.Scale(j).Searcher())
	}
	return s
}

// set quantises x into the rows from first on.
func (s setter) set(first int, x Matrix) {
	if x.Cols != s.Dim() || first < 0 || first+x.Rows > s.Rows {
		panic("vectors: Columns.Set outside of the columns")
	}
	across := (x.Cols + tileColumns - 1) / tileColumns
	down := (x.Rows + tileRows - 1) / tileRows
	s.team.For(across*down, func(turn int) {
		lo, top := turn%across*tileColumns, turn/across*tileRows
		s.setTile(x.Slice(top, min(top+tileRows, x.Rows)), first+top, lo, min(lo+tileColumns, x.Cols))
	})
}

// A tile is some columns of some rows, which are quantised in one turn: four cache lines of a row are next to each
// other, so that the machine fetches them ahead, and every write goes to one of few lines.
const tileColumns, tileRows = 64, 128

// setTile quantises the columns lo to hi of x into the rows from first on.
func (s setter) setTile(x Matrix, first, lo, hi int) {
	plain := s.Plain() // then linear is inlined
	var scales [tileColumns]Searcher
	if plain { // quicker made than fetched
		for j := lo; j < hi; j++ {
			scales[j-lo] = Searcher{Scale: s.Scale(j)}
		}
	} else {
		copy(scales[:], s.scales[lo:hi])
	}
	data, step := s.data, s.Rows
	for i := range x.Rows {
		row := x.Data[i*x.Cols+lo : i*x.Cols+hi]
		at := lo*step + first + i
		for j, v := range row {
			if plain {
				data[at] = scales[j].linear(v)
			} else {
				data[at] = scales[j].Bin(v)
			}
			at += step
		}
	}
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
	return QuantizeIn(ctx, nil, src, rows, q, threads)
}

// QuantizeIn is Quantize into a Spill.
func QuantizeIn(
	ctx context.Context, m *Spill, src Source, rows int, q Quantizer, threads int,
) (*Columns, error) {
	if src.Dim() != q.Dim() {
		return nil, fmt.Errorf("vectors have %d dimensions, the quantiser %d", src.Dim(), q.Dim())
	}
	c, err := newColumnsIn(m, rows, q)
	if err != nil {
		return nil, err
	}
	setter := newSetter(c, threads)
	n := 0
	for chunk, err := range src.Chunks(ctx) {
		if err != nil {
			return nil, err
		}
		if n += chunk.X.Rows; n > rows {
			break
		}
		setter.set(chunk.First, chunk.X)
	}
	return c, CheckRows(n, rows)
}
