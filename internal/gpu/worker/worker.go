//go:build (linux || darwin || windows) && (amd64 || arm64)

// Package worker is the other side of package gpu: it holds the device, in the process hashgrove-gpu.
//
//	worker.go    answers requests
//	session.go   columns on the device, and the kernels of a round
//	layout.go    what both sides know of the device's memory
//	rounds.go    what rounds leave
//	round.cl     the outline of the kernels, and what they share
//	rows.cl      masses, and the rows that a tree sees
//	splits.cl    histograms and splits
//	leaves.cl    leaves, and what they say
package worker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"hashgrove/internal/gpu/frame"
	"hashgrove/internal/gpu/opencl"
	"hashgrove/internal/vectors"
)

// worker is the child's side: it answers requests until its input ends.
type worker struct {
	q        *opencl.Queue
	r        *bufio.Reader
	w        *bufio.Writer
	sessions map[int]*session
}

// Work answers the requests of a training. With anyDevice a processor that has OpenCL will do, for tests.
func Work(in io.Reader, out io.Writer, anyDevice bool) error {
	began := time.Now()
	w := &worker{
		r: bufio.NewReaderSize(in, frame.PipeBytes), w: bufio.NewWriterSize(out, frame.PipeBytes),
		sessions: map[int]*session{},
	}
	d, err := Find(anyDevice)
	if err == nil {
		w.q, err = opencl.NewQueue(d, source, compilerOptions(d))
	}
	if err != nil {
		return errors.Join(err, frame.Write(w.w, frame.Answer{Error: err.Error()}))
	}
	hello := frame.About{Name: d.Name, Driver: d.Driver, IsGPU: d.IsGPU, Memory: d.Memory,
		Seconds: time.Since(began).Seconds()}
	if err := frame.Write(w.w, frame.Answer{Hello: &hello}); err != nil {
		return err
	}
	for {
		var q frame.Request
		if err := frame.ReadHead(w.r, &q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := w.do(&q); err != nil {
			return errors.Join(err, frame.Write(w.w, frame.Answer{Error: err.Error()}))
		}
	}
}

// Find returns the first device that can run the kernels, GPUs first.
func Find(anyDevice bool) (opencl.Device, error) {
	if err := opencl.Load(); err != nil {
		return opencl.Device{}, err
	}
	all, err := opencl.Devices()
	if err != nil {
		return opencl.Device{}, err
	}
	reason := "OpenCL finds none on this machine"
	for _, d := range all {
		switch {
		case !d.IsGPU && !anyDevice:
		case !d.Double:
			reason = d.Name + " has no double precision"
		case d.Group < items:
			reason = fmt.Sprintf("%s runs groups of %d, and %d are needed", d.Name, d.Group, items)
		case d.Local < 44<<10:
			reason = fmt.Sprintf("%s has %d KB of local memory, and 44 are needed", d.Name, d.Local>>10)
		default:
			return d, nil
		}
	}
	return opencl.Device{}, errors.New(reason)
}

// do answers one request. An error ends the child.
func (w *worker) do(q *frame.Request) error {
	if q.Do == "open" {
		all := int64(0)
		for _, n := range q.Parts {
			all += n
		}
		input := &io.LimitedReader{R: w.r, N: all}
		s, err := newSession(w.q, q.Plan, input, q.Parts)
		if err != nil { // too large, perhaps: other sessions go on
			if _, err := io.Copy(io.Discard, input); err != nil {
				return err
			}
			return w.say(frame.Answer{Refused: err.Error()})
		}
		w.sessions[q.ID] = s
		return w.say(frame.Answer{})
	}
	s := w.sessions[q.ID]
	if s == nil {
		return fmt.Errorf("there is no session %d", q.ID)
	}
	switch q.Do {
	case "begin":
		if err := s.start(w.r, q.Parts); err != nil {
			return err
		}
		return w.say(frame.Answer{})
	case "run":
		return w.run(s, q.From, q.To)
	case "outputs":
		return w.outputs(s, q)
	case "close":
		s.free()
		delete(w.sessions, q.ID)
		return w.say(frame.Answer{})
	}
	return fmt.Errorf("an unknown request %q", q.Do)
}

func (w *worker) say(a frame.Answer, parts ...[]byte) error {
	a.Parts = frame.Lengths(parts...)
	return frame.Write(w.w, a, parts...)
}

// frameSeconds is about how long the rounds of a frame take, so that the training sees that the device is alive.
const frameSeconds = 0.2

// run runs rounds. While it reads some, the next ones are queued already.
func (w *worker) run(s *session, from, to int) error {
	if from != s.ready || to > s.plan.Rounds || from >= to {
		return fmt.Errorf("rounds %d to %d of %d asked for, %d are done", from, to, s.plan.Rounds, s.ready)
	}
	queued, many := from, 1
	var ends []int
	more := func() error {
		n := min(many, to-queued)
		if n == 0 {
			return nil
		}
		queued += n
		ends = append(ends, queued)
		return s.queue(n)
	}
	if err := more(); err != nil {
		return err
	}
	for s.ready < to {
		began := time.Now()
		if err := more(); err != nil {
			return err
		}
		end := ends[0]
		ends = ends[1:]
		r, err := s.read(s.ready, end)
		if err != nil {
			return err
		}
		if err := w.say(frame.Answer{From: s.ready, To: end}, r.Parts()...); err != nil {
			return err
		}
		s.ready = end
		if time.Since(began).Seconds() < frameSeconds/2 {
			many = min(2*many, 64)
		}
	}
	return nil
}

// outputs reads an ensemble and answers with its outputs.
func (w *worker) outputs(s *session, q *frame.Request) error {
	if len(q.Parts) != 4 {
		return fmt.Errorf("%d parts of an ensemble", len(q.Parts))
	}
	features, err := frame.ReadPart[uint32](w.r, q.Parts[0])
	if err != nil {
		return err
	}
	bins, err := frame.ReadPart[uint8](w.r, q.Parts[1])
	if err != nil {
		return err
	}
	leaves, err := frame.ReadPart[uint32](w.r, q.Parts[2])
	if err != nil {
		return err
	}
	weights, err := frame.ReadPart[int32](w.r, q.Parts[3])
	if err != nil {
		return err
	}
	out, err := s.outputs(features, bins, leaves, weights, q.Total)
	if err != nil {
		return err
	}
	return w.say(frame.Answer{}, vectors.Bytes(out))
}
