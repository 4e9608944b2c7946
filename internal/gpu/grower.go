package gpu

import (
	"context"
	"fmt"
	"slices"
	"unsafe"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/gpu/frame"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// grower is a boost.Grower: a session of a child.
type grower struct {
	child *child
	id    int
	plan  *frame.Plan

	asked int     // rounds asked for
	got   []*some // of rounds, not used up
	round boost.Round
}

// some holds some rounds.
type some struct {
	from, to int
	*frame.Rounds
}

// newGrower copies the columns to the device.
func newGrower(ctx context.Context, c *child, x *vectors.Columns, o boost.Options, threads int) (*grower, error) {
	all := boost.PlanOf(x, o, threads)
	e := &grower{child: c, id: c.nextID(), plan: &frame.Plan{Plan: *all, Drawn: all.DrawnPerRound()}}
	parts := []int64{int64(x.Rows) * int64(x.Dim()), int64(4 * len(all.Usable())), 0}
	last := [][]byte{vectors.Bytes(all.Usable())}
	if e.plan.IsLogistic {
		chance := vectors.Bytes(boost.Chances())
		parts[2] = int64(len(chance))
		last = append(last, chance)
	}
	_, err := c.call(ctx, frame.Request{Do: "open", ID: e.id, Plan: e.plan, Parts: parts}, func(yield func([]byte) bool) {
		for j := range x.Dim() {
			yield(x.Column(j))
		}
		for _, p := range last {
			yield(p)
		}
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Begin implements boost.Grower.
func (e *grower) Begin(ctx context.Context, p *boost.Problem) error {
	keys, columns := e.plan.Draw(p)
	if e.plan.Drawn == 0 {
		columns = nil
	}
	parts := [][]byte{vectors.Bytes(p.Z), vectors.Bytes(p.U), vectors.Bytes(keys), vectors.Bytes(columns)}
	e.asked, e.got = 0, nil
	_, err := e.child.call(ctx, frame.Request{Do: "begin", ID: e.id, Parts: frame.Lengths(parts...)}, slices.Values(parts))
	return err
}

// Round implements boost.Grower.
func (e *grower) Round(ctx context.Context, q int) (*boost.Round, error) {
	for len(e.got) > 0 && q >= e.got[0].to {
		e.got = e.got[1:]
	}
	if len(e.got) == 0 {
		if err := e.fetch(ctx, q); err != nil {
			return nil, err
		}
	}
	f, p := e.got[0], e.plan
	i := q - f.from
	r := boost.Round{Feature: f.Features[i*p.Splits:][:p.Splits], Bin: f.Bins[i*p.Splits:][:p.Splits]}
	if p.IsLogistic {
		r.Digits, r.Unit = f.Digits[i*frame.Nodes:][:p.Splits+1], f.Units[i]
	} else {
		words := unsafe.Slice((*uint64)(unsafe.Pointer(&f.Leaves[i*frame.Nodes/32])), frame.Nodes/64)
		r.Leaf = words[:model.LeafWords(p.Depth)]
		r.Wrong, r.Right = f.Results[2*i], f.Results[2*i+1]
	}
	e.round = r
	return &e.round, nil
}

// fetch asks for rounds, if none are on their way, and waits for the next frame of them.
func (e *grower) fetch(ctx context.Context, q int) error {
	if q >= e.asked {
		to := e.plan.Rounds
		if err := e.child.run(ctx, frame.Request{Do: "run", ID: e.id, From: q, To: to}); err != nil {
			return err
		}
		e.asked = to
	}
	f, err := e.child.rounds(ctx)
	if err != nil {
		return err
	}
	if f.from != q {
		return fmt.Errorf("the device sent round %d instead of %d", f.from, q)
	}
	e.got = append(e.got, f)
	return nil
}

// Outputs implements boost.Grower.
func (e *grower) Outputs(ctx context.Context, f *model.Ensemble, out []int8) error {
	total := int64(0)
	for _, w := range f.Weight {
		total += int64(w)
	}
	leaves := make([]uint32, 0, f.Trees()*2)
	words := (e.plan.Splits + 32) / 32
	each := model.LeafWords(f.Depth)
	for q := range f.Trees() {
		for w := range words {
			leaves = append(leaves, uint32(f.Leaf[q*each+w/2]>>(32*(w%2))))
		}
	}
	parts := [][]byte{vectors.Bytes(f.Feature), f.Bin, vectors.Bytes(leaves), vectors.Bytes(f.Weight)}
	q := frame.Request{Do: "outputs", ID: e.id, Total: total, Parts: frame.Lengths(parts...)}
	a, err := e.child.call(ctx, q, slices.Values(parts))
	if err != nil {
		return err
	}
	if len(a.parts) != 1 || len(a.parts[0]) != len(out) {
		return fmt.Errorf("the device sent %d parts of outputs", len(a.parts))
	}
	copy(vectors.Bytes(out), a.parts[0])
	return nil
}

// Close implements boost.Grower.
func (e *grower) Close() error {
	ctx := context.Background()
	_, err := e.child.call(ctx, frame.Request{Do: "close", ID: e.id}, none)
	return err
}
