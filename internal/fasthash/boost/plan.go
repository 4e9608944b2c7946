package boost

import (
	"math/bits"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// Plan is what a grower elsewhere must know to grow the trees that the cores would: every number that follows from the
// options and the size of the data.
type Plan struct {
	Rows, Columns int // of the data
	Rounds, Depth int
	Splits        int      // nodes of a tree above its leaves
	Candidates    int      // columns that a node may be split by
	Drawn         int      // columns that Draw returns for a round
	Usable        []uint32 // columns that every node may be split by, unless some are drawn
	IsLazy        bool     // every node draws its own
	IsDrawn       bool     // every tree draws its own
	Least         int      // a node with no more rows of one sign is not split
	RowBits       int      // of the greatest row number

	IsTrimmed bool
	Trim      float64 // share of the mass that a tree sees
	HasShare  bool
	RowLimit  uint64 // a tree sees rows whose hash has an upper half below it

	Scale    float64 // from weights to masses
	IsCoarse bool    // the factor depends on the sum of the weights, as weightScale says
	Room     float64
	Swelled  float64

	IsLogistic bool
	Rate       int64
	Ridge      int64
	Most       int // greatest multiple of a unit
	TopMargin  int
	TopLeaf    int

	o    Options
	from uint32 // first favoured column
	team *par.Team
}

// PlanOf plans for columns and completed options.
func PlanOf(x *vectors.Columns, o Options, threads int) *Plan {
	n, team := x.Rows, par.NewTeam(threads)
	list := usable(x, team)
	p := &Plan{
		Rows: n, Columns: x.Dim(), Rounds: o.Rounds, Depth: o.Depth, Splits: model.Splits(o.Depth),
		Candidates: o.columnsPerNode(len(list)), Least: max(o.MinNode, 0), RowBits: max(bits.Len(uint(n-1)), 1),
		IsTrimmed: isShare(o.TrimMass), Trim: o.TrimMass, HasShare: isShare(o.RowShare),
		IsLogistic: o.Boost == Logistic,
		TopMargin:  topMargin, TopLeaf: topLeaf,
		Usable: list, o: o, from: o.firstFavoured(x.Dim()), team: team,
	}
	p.IsLazy = p.Candidates < o.columnsPerTree(len(list))
	p.IsDrawn = !p.IsLazy && isShare(o.ColumnShare)
	if p.IsLazy {
		p.Drawn = p.Splits * p.Candidates
	} else if p.IsDrawn {
		p.Drawn = p.Candidates
	}
	if p.HasShare {
		p.RowLimit = o.rowLimit()
	}
	if p.IsLogistic {
		p.Scale = massScale(n)
		p.Rate, p.Ridge, p.Most = o.rate(), o.ridge(n), 1<<o.LeafBits-1
		return p
	}
	p.IsCoarse = n > coarseRows
	p.Room, p.Swelled = weightRoom(n), swell*float64(n)
	p.Scale = weightScale(n, p.Swelled)
	return p
}

// Draw makes the draws of all rounds of a problem: the keys of the rows, and the columns of each tree or, if they are
// drawn by nodes, of each node in heap order.
func (p *Plan) Draw(problem *Problem) (keys []uint64, columns []uint32) {
	each := p.Drawn
	keys, columns = make([]uint64, p.Rounds), make([]uint32, p.Rounds*each)
	const block = 16 // rounds in a turn: each has memory of its own
	p.team.Blocks(p.Rounds, block, func(_, lo, hi int) {
		d := newDraws(len(p.Usable))
		d.favoured = p.from
		offered := make([]uint32, p.o.columnsPerTree(len(p.Usable)))
		for q := lo; q < hi; q++ {
			id := problem.stream(q)
			keys[q] = rowKey(problem.Seed, id)
			if each == 0 {
				continue
			}
			d.stream(problem.Seed, id|columnStream)
			d.columns(p.Usable, offered)
			out := columns[q*each:][:each]
			if p.IsDrawn {
				copy(out, offered)
				continue
			}
			for at := range p.Splits {
				d.stream(problem.Seed, id+uint64(at))
				d.columns(offered, out[at*p.Candidates:][:p.Candidates])
			}
		}
	})
	return keys, columns
}

// Chances returns p by margin, from -TopMargin to TopMargin, for logistic boosting.
func Chances() []float32 {
	chance := make([]float32, 2*topMargin+1)
	for i := range chance {
		chance[i] = float32(1 / (1 + portable.Exp(float64(i-topMargin)/scoreUnit)))
	}
	return chance
}
