//go:build (linux || darwin || windows) && (amd64 || arm64)

package worker

import (
	"cmp"
	"fmt"

	"hashgrove/internal/gpu/frame"
	"hashgrove/internal/gpu/opencl"
)

// queue queues the next rounds.
func (s *session) queue(count int) error {
	for range count {
		if err := runAll(s.round); err != nil {
			return err
		}
	}
	return s.q.Flush()
}

// read waits for rounds and reads what they leave.
func (s *session) read(from, to int) (*frame.Rounds, error) {
	p, m := s.plan, &s.m
	n := to - from
	r := &frame.Rounds{Features: make([]uint32, n*p.Splits), Bins: make([]uint8, n*p.Splits)}
	if p.IsLogistic {
		r.Digits, r.Units = make([]uint8, n*frame.Nodes), make([]int32, n)
	} else {
		r.Leaves, r.Results = make([]uint64, n*frame.Nodes/64), make([]float64, 2*n)
	}
	return r, cmp.Or( // nothing is read into no values
		opencl.Read(s.q, m.features, int64(4*from*p.Splits), r.Features),
		opencl.Read(s.q, m.bins, int64(from*p.Splits), r.Bins),
		opencl.Read(s.q, m.leaves, int64(from*frame.Nodes/8), r.Leaves),
		opencl.Read(s.q, m.results, int64(16*from), r.Results),
		opencl.Read(s.q, m.digits, int64(from*frame.Nodes), r.Digits),
		opencl.Read(s.q, m.units, int64(4*from), r.Units),
	)
}

// outputs computes what an ensemble says of every row: its features, bins, leaves and weights, which have this total.
func (s *session) outputs(data [][]byte, total int64) ([]byte, error) {
	p := s.plan
	if len(data) != 4 {
		return nil, fmt.Errorf("%d arrays of an ensemble", len(data))
	}
	out := make([]byte, p.Rows)
	var all [5]opencl.Buffer
	defer func() {
		for _, b := range all {
			b.Free()
		}
	}()
	for i, values := range append(data, out) {
		var err error
		if all[i], err = s.q.Alloc(int64(len(values))); err == nil {
			err = opencl.Write(s.q, all[i], 0, values)
		}
		if err != nil {
			return nil, err
		}
	}
	k, err := s.q.Kernel("outputs", (p.Rows+items-1)/items, items, s.x, int32(p.Rows), s.job.stride, int32(p.Splits),
		int32(len(data[3])/4), all[0], all[1], all[2], all[3], total, all[4])
	if err != nil {
		return nil, err
	}
	if err := k.Run(); err != nil {
		return nil, err
	}
	return out, opencl.Read(s.q, all[4], 0, out)
}
