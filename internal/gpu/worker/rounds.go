//go:build (linux || darwin || windows) && (amd64 || arm64)

package worker

import (
	"cmp"

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
		r.Leaves, r.Results = make([]uint32, n*frame.Nodes/32), make([]float64, 2*n)
	}
	return r, cmp.Or( // nothing is read into no values
		opencl.Read(s.q, m.features, int64(4*from*p.Splits), r.Features),
		opencl.Read(s.q, m.bins, int64(from*p.Splits), r.Bins),
		opencl.Read(s.q, m.leaves, int64(4*from*frame.Nodes/32), r.Leaves),
		opencl.Read(s.q, m.results, int64(16*from), r.Results),
		opencl.Read(s.q, m.digits, int64(from*frame.Nodes), r.Digits),
		opencl.Read(s.q, m.units, int64(4*from), r.Units),
	)
}

// outputs computes what an ensemble says of every row.
func (s *session) outputs(
	features []uint32, bins []uint8, leaves []uint32, weights []int32, total int64,
) ([]int8, error) {
	p := s.plan
	var all [5]opencl.Buffer
	defer func() {
		for _, b := range all {
			b.Free()
		}
	}()
	var err error
	for i, bytes := range []int{4 * len(features), len(bins), 4 * len(leaves), 4 * len(weights), p.Rows} {
		if all[i], err = s.q.Alloc(int64(bytes)); err != nil {
			return nil, err
		}
	}
	err = cmp.Or(opencl.Write(s.q, all[0], 0, features), opencl.Write(s.q, all[1], 0, bins),
		opencl.Write(s.q, all[2], 0, leaves), opencl.Write(s.q, all[3], 0, weights))
	if err != nil {
		return nil, err
	}
	k, err := s.q.Kernel("outputs", (p.Rows+items-1)/items, items, s.x, int32(p.Rows), s.job.stride, int32(p.Splits),
		int32(len(weights)), all[0], all[1], all[2], all[3], total, all[4])
	if err != nil {
		return nil, err
	}
	if err := k.Run(); err != nil {
		return nil, err
	}
	out := make([]int8, p.Rows)
	return out, opencl.Read(s.q, all[4], 0, out)
}
