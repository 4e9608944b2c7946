package boost

import (
	"context"

	"hashgrove/internal/model"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// cores is the grower on the cores of this machine.
type cores struct {
	x      *vectors.Columns
	o      Options
	team   *par.Team
	n      int
	usable []uint32 // columns with more than one bin

	z     []uint64     // of the problem; past the last row all bits are 0, here and in said
	u     []float64    // weights, summing to n at first, to swell*n at most
	total float64      // of the weights, after multiplying by the factors of the last tree
	mass  []int32      // the same as integers
	said  []uint64     // output of the last tree, in the form of z; AdaBoost alone has it
	vs    [][2]float64 // V- and V+ of each block of rows
	paths [][]uint8    // the columns tested by the last tree

	problem      Problem
	round        Round
	last         []uint64 // output of the last tree; at first z
	right, wrong float64  // factors of the last tree for the rows it gets right, and wrong

	drawn drawn
	trimmer
	grower
	scorer
}

// predictBlock is the number of rows in one turn of a loop over all rows, a multiple of 64. V+ and V- are summed over
// such blocks, so it must not depend on the number of threads.
const predictBlock = 4096

// newCores prepares to learn from x. The weights and signs of all problems lie in u and z.
func newCores(x *vectors.Columns, o Options, threads int, z []uint64, u []float64) (t *cores, err error) {
	n := x.Rows
	t = &cores{
		x: x, o: o, team: par.NewTeam(threads), n: n, z: z, u: u,
		vs: make([][2]float64, (n+predictBlock-1)/predictBlock), paths: make([][]uint8, model.Splits(o.Depth)),
	}
	t.usable = usable(x, t.team)
	t.drawn = newDrawn(n, o, t.usable)
	m := x.Spill()
	if t.mass, err = vectors.AllocHot[int32](m, n); err != nil {
		return nil, err
	}
	t.trimmer = newTrimmer(n, trimRows(n, t.team.Size()))
	if err := t.newGrower(); err != nil {
		return nil, err
	}
	t.draws.favoured = o.firstFavoured(x.Dim())
	if o.Boost == Logistic {
		return t, t.newScorer()
	}
	t.said, err = vectors.AllocHot[uint64](m, len(z))
	return t, err
}

// usable lists the columns with more than one bin.
func usable(x *vectors.Columns, team *par.Team) (list []uint32) {
	constant := make([]bool, x.Dim())
	team.For(x.Dim(), func(j int) {
		column := x.Column(j)
		i := 1
		for i < x.Rows && column[i] == column[0] {
			i++
		}
		constant[j] = i == x.Rows
	})
	for j, c := range constant {
		if !c {
			list = append(list, uint32(j))
		}
	}
	return list
}

// Begin implements Grower.
func (t *cores) Begin(_ context.Context, p *Problem) error {
	t.problem, t.z, t.u = *p, p.Z, p.U
	t.last, t.right, t.wrong = t.z, 1, 1
	t.total = float64(t.n)
	clear(t.score)
	return nil
}

// Round implements Grower.
func (t *cores) Round(_ context.Context, q int) (*Round, error) {
	if t.o.Boost == Logistic {
		t.weigh()
	} else {
		t.updateMasses(t.last, t.right, t.wrong)
	}
	id := t.problem.stream(q)
	t.draw(t.problem.Seed, id)
	t.trim()
	t.grow(t.problem.Seed, id)
	t.round = Round{Feature: t.tree.feature, Bin: t.tree.bin, Leaf: t.tree.leaf}
	if t.o.Boost == Logistic {
		t.settle()
		t.round.Digits, t.round.Unit = t.digits, t.unit
		return &t.round, nil
	}
	vRight, vWrong := t.predict()
	_, t.right, t.wrong = treeWeight(vRight, vWrong, t.n)
	t.total = float64(vRight*t.right) + float64(vWrong*t.wrong)
	t.last = t.said
	t.round.Right, t.round.Wrong = vRight, vWrong
	return &t.round, nil
}

// Close implements Grower.
func (t *cores) Close() error { return nil }
