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
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"time"

	"hashgrove/internal/gpu/frame"
	"hashgrove/internal/gpu/opencl"
)

// worker is the child's side: it answers requests until its input ends.
type worker struct {
	q        *opencl.Queue
	to       *gob.Encoder
	sessions map[int]*session
}

// Work answers the requests of a training. With anyDevice a processor that has OpenCL will do, for tests.
func Work(in io.Reader, out io.Writer, anyDevice bool) error {
	w := &worker{to: gob.NewEncoder(out), sessions: map[int]*session{}}
	d, err := Find(anyDevice)
	if err == nil {
		w.q, err = opencl.NewQueue(d, source, compilerOptions(d))
	}
	if err == nil {
		err = w.to.Encode(frame.Answer{Hello: d.Name})
	}
	for from := gob.NewDecoder(in); err == nil; {
		var q frame.Request
		if err := from.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		err = w.do(&q)
	}
	return errors.Join(err, w.to.Encode(frame.Answer{Error: err.Error()}))
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
	s := w.sessions[q.ID]
	var a frame.Answer
	var err error
	switch {
	case q.Do == "open" && q.Plan != nil:
		s = &session{q: w.q, plan: q.Plan}
		if err = s.open(); err == nil {
			w.sessions[q.ID] = s
		}
	case s == nil:
		return fmt.Errorf("there is no session %d", q.ID)
	case q.Do == "columns":
		err = s.write(q.From, q.Data)
	case q.Do == "begin":
		if err := s.start(q.Data); err != nil {
			return err
		}
	case q.Do == "run":
		return w.run(s, q.From, q.To)
	case q.Do == "close":
		s.free()
		delete(w.sessions, q.ID)
	default:
		return fmt.Errorf("an unknown request %q", q.Do)
	}
	if err != nil { // too large, perhaps: other sessions go on
		s.free()
		delete(w.sessions, q.ID)
		a.Refused = err.Error()
	}
	return w.to.Encode(a)
}

// answerSeconds is about how long the rounds of an answer take, so that the training sees that the device is alive.
const answerSeconds = 0.2

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
		if err := w.to.Encode(frame.Answer{From: s.ready, To: end, Rounds: r}); err != nil {
			return err
		}
		s.ready = end
		if time.Since(began).Seconds() < answerSeconds/2 {
			many = min(2*many, 64)
		}
	}
	return nil
}
