package gpu

import (
	"context"
	"fmt"
	"slices"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/gpu/frame"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// grower is a boost.Grower: a session of a child.
type grower struct {
	child *child
	id    int
	plan  *boost.Plan

	asked int           // rounds asked for
	got   *frame.Answer // of rounds, the last
	round boost.Round
}

// chunkBytes is how much of the columns is sent at once.
const chunkBytes = 32 << 20

// newGrower copies the columns to the device.
func newGrower(ctx context.Context, c *child, x *vectors.Columns, o boost.Options, threads int) (*grower, error) {
	e := &grower{child: c, id: int(c.ids.Add(1)), plan: boost.PlanOf(x, o, threads)}
	if err := e.call(ctx, frame.Request{Do: "open", Plan: e.plan}); err != nil {
		return nil, err
	}
	columns := make([][]byte, x.Dim())
	for j := range columns {
		columns[j] = x.Column(j)
	}
	first := 0
	for some := range slices.Chunk(columns, max(chunkBytes/x.Rows, 1)) {
		if err := e.call(ctx, frame.Request{Do: "columns", From: first, To: first, Data: some}); err != nil {
			return nil, err
		}
		first += len(some)
	}
	return e, nil
}

// call sends a request of which only an error matters.
func (e *grower) call(ctx context.Context, q frame.Request) error {
	q.ID = e.id
	_, err := e.child.call(ctx, q)
	return err
}

// Begin implements boost.Grower.
func (e *grower) Begin(ctx context.Context, p *boost.Problem) error {
	keys, columns := e.plan.Draw(p)
	e.asked, e.got = 0, nil
	return e.call(ctx, frame.Request{Do: "begin",
		Data: [][]byte{vectors.Bytes(p.Z), vectors.Bytes(p.U), vectors.Bytes(keys), vectors.Bytes(columns)}})
}

// Round implements boost.Grower.
func (e *grower) Round(ctx context.Context, q int) (*boost.Round, error) {
	if e.got == nil || q >= e.got.To {
		if err := e.fetch(ctx, q); err != nil {
			return nil, err
		}
	}
	f, p := e.got.Rounds, e.plan
	i := q - e.got.From
	r := boost.Round{Feature: f.Features[i*p.Splits:][:p.Splits], Bin: f.Bins[i*p.Splits:][:p.Splits]}
	if p.IsLogistic {
		r.Digits, r.Unit = f.Digits[i*frame.Nodes:][:p.Splits+1], f.Units[i]
	} else {
		r.Leaf = f.Leaves[i*frame.Nodes/64:][:model.LeafWords(p.Depth)]
		r.Wrong, r.Right = f.Results[2*i], f.Results[2*i+1]
	}
	e.round = r
	return &e.round, nil
}

// fetch asks for all rounds, if none are on their way, and waits for the next of them.
func (e *grower) fetch(ctx context.Context, q int) (err error) {
	if q >= e.asked {
		e.asked = e.plan.Rounds
		e.got, err = e.child.call(ctx, frame.Request{Do: "run", ID: e.id, From: q, To: e.asked})
	} else {
		e.got, err = e.child.rounds(ctx)
	}
	if err == nil && e.got.From != q {
		err = fmt.Errorf("the device sent round %d instead of %d", e.got.From, q)
	}
	return err
}

// Close implements boost.Grower.
func (e *grower) Close() error { return e.call(context.Background(), frame.Request{Do: "close"}) }
