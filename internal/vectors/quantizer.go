package vectors

import (
	"context"
	"fmt"
	"math"
	"sort"

	"hashgrove/internal/message"
	"hashgrove/internal/par"
)

// Linear quantisation of features into 256 bins (Lin et al., CVPR 2014, "feature quantization"; Appel et al., ICML
// 2013), as in the released code.
//
// For a column with training range [min, max], widened on both sides by a thousandth of its length,
//
//	bin(x) = round((x - lo) / step), saturated to 0..255,   step = (hi - lo) / 255.
//
// Bytes keep their value: lo = 0, hi = 255. A column may have its own edges instead (see binning.go): its bin is then
// the number of edges that are not above x. If values may be missing, NaN has bin 0 to itself, and numbers use bins 1
// and up.
//
// A tree goes left iff bin(x) <= b. Every step of bin is monotonic in x, so each bin has one float32 edge such that
// bin(x) <= b iff x < edge(b): comparing raw floats and comparing bins agree for every number.

// Bins is the number of bins of a column.
const Bins = 256

// Quantizer maps the values of every column to bytes.
type Quantizer struct {
	Lo, Hi  []float32   // the widened range of each column; Lo < Hi, both finite
	Edges   [][]float32 // nil, or for each column nil or its own edges, rising: at least one, at most MaxEdges
	Missing bool        // NaN means missing and has bin 0; numbers use bins 1 and up
}

// Dim returns the number of columns.
func (q Quantizer) Dim() int { return len(q.Lo) }

// Plain reports whether all columns have linear bins and no missing values, so that Lo and Hi describe it completely.
func (q Quantizer) Plain() bool { return q.Edges == nil && !q.Missing }

// MaxEdges returns the largest number of edges of any column.
func (q Quantizer) MaxEdges() int {
	if q.Missing {
		return Bins - 2
	}
	return Bins - 1
}

// Scale returns the scale of column j.
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

// Check returns an error if training could not have produced this quantiser.
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
			return fmt.Errorf("quantiser of column %d has %d edges, outside the range 1 to %d", j, len(edges), q.MaxEdges())
		}
		for i, e := range edges {
			if e-e != 0 || i > 0 && !(edges[i-1] < e) {
				return fmt.Errorf("quantiser of column %d has the edge %v at place %d: edges must be finite and ascending", j, e, i)
			}
		}
	}
	return nil
}

// Scale quantises one column.
type Scale struct {
	lo, perUnit float64
	other       bool      // lo and perUnit are not enough
	first       uint8     // bin of the smallest numbers; lower ones are for NaN
	edges       []float32 // nil for linear bins
}

// Bin returns the bin of x. NaN falls into bin 0; callers reject it first unless values may be missing.
func (s Scale) Bin(x float32) uint8 {
	switch {
	case !s.other:
		return s.linear(x)
	case x != x:
		return 0
	case s.edges == nil:
		return max(s.first, s.linear(x))
	}
	return s.first + uint8(sort.Search(len(s.edges), func(i int) bool { return s.edges[i] > x }))
}

// Searcher is a Scale prepared for many values.
type Searcher struct {
	Scale
	keys *[Bins]int32 // of the edges, padded with the greatest int32; nil without edges
}

// Searcher prepares the scale for many values, which takes a kilobyte for a column with edges.
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

// key returns an integer that orders like x, treating -0 as 0.
func key(x float32) int32 {
	b := int32(math.Float32bits(x + 0))
	return b ^ b>>31&math.MaxInt32
}

// Bin returns the same as Scale.Bin: the number of edges up to x, found without unpredictable branches.
func (s *Searcher) Bin(x float32) uint8 {
	if s.keys == nil || x != x {
		return s.Scale.Bin(x)
	}
	// Step forward if the key is not below the edge. at stays below 256, so no bounds are checked.
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

// linear returns the linear bin of x.
func (s *Scale) linear(x float32) uint8 {
	// The conversion prevents the compiler from fusing product and sum, which would round differently between machines.
	t := float64((float64(x)-s.lo)*s.perUnit) + 0.5
	if t >= Bins-1 {
		return Bins - 1
	}
	if t >= 1 {
		return uint8(t)
	}
	return 0
}

// Edge returns the least x whose bin is above b, or +Inf for the last bin: for numbers, Bin(x) <= b iff x < Edge(b). If
// values may be missing, all numbers are above bin 0, and its edge is -Inf.
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
	// Binary search over all float32 in order: below stays at or under b, above stays over it.
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

// order numbers the float32 values from least to greatest.
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

// Columns holds training vectors the way learners read them: one byte per value, column by column. Training keeps
// nothing else of the vectors.
type Columns struct {
	Quantizer
	Rows  int
	data  []uint8 // column j is data[j*Rows : (j+1)*Rows]
	spill *Spill
}

// NewColumns returns columns with the given number of rows and all values in bin 0.
func NewColumns(rows int, q Quantizer) *Columns {
	return &Columns{q, rows, par.MakeLarge[uint8](rows * q.Dim()), nil}
}

// Spill returns the spill that holds the columns, which should also hold other arrays of all rows; nil means memory.
func (c *Columns) Spill() *Spill { return c.spill }

// Column returns the bins of column j, one per row, without copying them.
func (c *Columns) Column(j int) []uint8 { return c.data[j*c.Rows : (j+1)*c.Rows : (j+1)*c.Rows] }

// Set quantises x into the rows starting at first.
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
	scales []Searcher // of all columns; nil if they are plain
}

func newSetter(c *Columns, threads int) setter {
	s := setter{c, par.NewTeam(threads), nil}
	for j := 0; !c.Plain() && j < c.Dim(); j++ {
		s.scales = append(s.scales, c.Scale(j).Searcher())
	}
	return s
}

// set quantises x into the rows starting at first.
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

// A tile is a block of columns and rows quantised in one go: four adjacent cache lines of a row, so that the processor
// prefetches them, and few enough columns that every write goes to one of a few lines.
const tileColumns, tileRows = 64, 128

// setTile quantises columns lo to hi of x into the rows starting at first.
func (s setter) setTile(x Matrix, first, lo, hi int) {
	plain := s.Plain() // lets linear be inlined
	var scales [tileColumns]Searcher
	if plain { // faster to compute than to load
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

// Take returns a copy of the given rows.
func (c *Columns) Take(ctx context.Context, threads int, rows []int32) (*Columns, error) {
	out := NewColumns(len(rows), c.Quantizer)
	return out, par.For(ctx, threads, c.Dim(), func(j int) {
		from, to := c.Column(j), out.Column(j)
		for k, i := range rows {
			to[k] = from[i]
		}
	})
}

// Quantize reads a source with the given number of rows once and quantises it.
func Quantize(ctx context.Context, src Source, rows int, q Quantizer, threads int) (*Columns, error) {
	return QuantizeIn(ctx, nil, src, rows, q, threads)
}

// QuantizeIn is Quantize with the columns in a spill.
func QuantizeIn(
	ctx context.Context, m *Spill, src Source, rows int, q Quantizer, threads int,
) (_ *Columns, err error) {
	if src.Dim() != q.Dim() {
		return nil, fmt.Errorf("vectors have %d dimensions, the quantiser %d", src.Dim(), q.Dim())
	}
	c := &Columns{q, rows, nil, m}
	if d := q.Dim(); d > 0 && rows > math.MaxInt/d {
		return nil, message.New("too-many-values",
			"%d rows of %d columns are more than a process of this machine can address", rows, d)
	} else if m == nil {
		c = NewColumns(rows, q)
	} else if c.data, err = Alloc[uint8](m, rows*d); err != nil {
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
