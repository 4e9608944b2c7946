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
