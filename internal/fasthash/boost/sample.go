package boost

import (
	"math"
	"math/rand/v2"
)

// Sampling per tree (Friedman: Stochastic gradient boosting, 2002): every tree sees a freshly drawn share of the rows
// and of the columns. It makes trees differ and saves time. The sample only chooses splits: tree weights and leaf
// values come from all training rows.
//
//	drawRows      each row by itself, with the probability RowShare    O(n)
//	drawColumns   ColumnShare of the usable columns, rounded up; the nodes draw from these           O(columns)
//
// Whether a row is drawn depends on a hash of the seed, the tree and the row, so threads do not matter.

// Streams of a tree beside those of its nodes, which have the numbers below model.Splits(model.MaxDepth).
const (
	rowStream    = 1<<9 - 1
	columnStream = 1<<9 - 2
)

// drawn holds what the next tree may see.
type drawn struct {
	rows    []uint64 // a bit for each row; nil when all are seen
	columns []uint32
}

// isShare reports whether less than all is asked for.
func isShare(share float64) bool { return share > 0 && share < 1 }

// columnsPerTree returns the number of usable columns that a tree may see.
func (o Options) columnsPerTree(usable int) int {
	if !isShare(o.ColumnShare) {
		return usable
	}
	return int(math.Ceil(o.ColumnShare * float64(usable)))
}

// columnsPerNode returns the number of these that a node may be split by.
func (o Options) columnsPerNode(usable int) int {
	offered := o.columnsPerTree(usable)
	switch {
	case o.NodeFeatures > 0:
		return min(o.NodeFeatures, offered)
	case o.NodeFeatures == 0 && offered > fewColumns:
		return lazyColumns
	}
	return offered
}

// firstFavoured returns the first favoured column of dim.
func (o Options) firstFavoured(dim int) uint32 { return uint32(max(dim-max(o.Favoured, 0), 0)) }

func newDrawn(n int, o Options, usable []uint32) drawn {
	l := drawn{columns: usable}
	if isShare(o.RowShare) {
		l.rows = make([]uint64, (n+63)/64)
	}
	if isShare(o.ColumnShare) {
		l.columns = make([]uint32, o.columnsPerTree(len(usable)))
	}
	return l
}

// draw draws what the tree of a stream may see.
func (t *cores) draw(seed, id uint64) {
	if isShare(t.o.RowShare) {
		t.drawRows(rowKey(seed, id))
	}
	if isShare(t.o.ColumnShare) {
		t.draws.stream(seed, id|columnStream)
		t.draws.columns(t.usable, t.drawn.columns)
		// The root's histograms are of other columns.
		clear(t.kept.root)
		clear(t.kept.held)
	}
}

// rowKey returns the key by which the rows of a tree are drawn.
func rowKey(seed, id uint64) uint64 { return rand.NewPCG(seed, id|rowStream).Uint64() }

// rowLimit is the bound for the upper half of a row's hash, below which it is drawn.
func (o Options) rowLimit() uint64 { return uint64(o.RowShare * (1 << 32)) }

// drawRows draws the rows by a key.
func (t *cores) drawRows(key uint64) {
	limit := t.o.rowLimit()
	t.team.Blocks(t.n, trimBlock, func(_, lo, hi int) {
		for first := lo; first < hi; first += 64 {
			word := uint64(0)
			for r := first; r < min(first+64, hi); r++ {
				if mixed(key+uint64(r))>>32 < limit {
					word |= 1 << (r % 64)
				}
			}
			t.drawn.rows[first/64] = word
		}
	})
}

// mixed scatters the bits of a number (the finaliser of SplitMix64: Steele, Lea and Flood, OOPSLA 2014).
func mixed(v uint64) uint64 {
	v *= 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// sees reports whether the next tree sees a row, once trim has found the least key.
func (t *cores) sees(row int) bool {
	return t.key(row) >= t.least && t.isOffered(row)
}

// isOffered reports whether the next tree sees a row unless it is trimmed.
func (t *cores) isOffered(row int) bool {
	return t.drawn.rows == nil || t.drawn.rows[row/64]>>(row%64)&1 == 1
}
