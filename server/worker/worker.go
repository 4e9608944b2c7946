// Package worker serves one program in another language over a pair of pipes: it starts "hashgrove worker", sends
// requests and reads answers as frames. Python's package hashgrove works so; docs/python.md has the protocol in half a
// page.
//
//	frame.go     a JSON head and raw arrays
//	worker.go    requests in, answers out, many at a time
//	models.go    load, train, encode
//	codes.go     distances between codes that a program brings
//	indexes.go   indexes in memory or in files: requests of the HTTP API, which a service in the worker answers
//	compare.go   methods side by side
//
// What a request means is not defined here: options are those of the library, requests and answers those of package
// api, and models, codes and answers are the bytes that the command makes.
package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/message"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/search"
	"hashgrove/server"
)

// Protocol is the version of frames and operations. It changes when an older program would misunderstand an answer.
const Protocol = 3

// maxFrame bounds the bytes of a frame.
const maxFrame = 1 << 40

// Serve answers the requests of in on out until in ends. It then gives up what is still under way and returns. Requests
// that do not say how many threads to use have the given number, 0 for all cores.
func Serve(ctx context.Context, in io.Reader, out io.Writer, threads int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &workerState{out: out, threads: threads, ending: map[uint64]context.CancelFunc{},
		models: map[uint64]*hashgrove.Model{}}
	defer func() {
		if s.web != nil {
			_ = s.web.Close() // what was answered is on disk
		}
	}()
	defer s.running.Wait()
	defer cancel(errEnded)
	reader := bufio.NewReaderSize(in, 1<<16)
	for {
		head, arrays, err := readFrame(reader, maxFrame)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.take(ctx, head, arrays); err != nil {
			return err
		}
	}
}

// errEnded is why requests end when the program that asked is gone.
var errEnded = fmt.Errorf("the caller has gone away: %w", context.Canceled)

// workerState is the state of one worker.
type workerState struct {
	running sync.WaitGroup
	threads int

	writing sync.Mutex
	out     io.Writer

	mu     sync.Mutex
	ending map[uint64]context.CancelFunc // requests under way, by id
	models map[uint64]*hashgrove.Model   // by number
	web    *server.Server                // of the indexes; nil until there is one
	last   uint64                        // number given so far
}

// request is the head of a request. Its other keys are the parameters of the operation.
type request struct {
	ID     uint64   `json:"id"`
	Op     string   `json:"op"`
	Free   []uint64 `json:"free,omitempty"` // models that are no longer needed
	Arrays []Array  `json:"arrays,omitempty"`

	Params json.RawMessage `json:"params,omitempty"`
}

// answer is the head of an answer: any number with Progress, then one with Result or Error.
type answer struct {
	ID       uint64   `json:"id"`
	Progress any      `json:"progress,omitempty"`
	Result   any      `json:"result,omitempty"`
	Error    *failure `json:"error,omitempty"`
	Arrays   []Array  `json:"arrays,omitempty"`
}

// failure is an error that crosses the pipe.
type failure struct {
	Code    api.ErrorCode `json:"code"`
	Message string        `json:"message"`
	Field   string        `json:"field,omitempty"`
}

// call is a request under way.
type call struct {
	*workerState
	ctx    context.Context
	id     uint64
	params json.RawMessage
	arrays []Array
}

// operation answers a call. Results are JSON; arrays follow them raw.
type operation func(c *call) (result any, arrays []Array, err error)

// operations by name; a function, because they refer to the table's users.
func operations() map[string]operation {
	return map[string]operation{
		"hello": (*call).hello, "load": (*call).load, "train": with((*call).train), "encode": with((*call).encode),
		"shorter": with((*call).shorter), "score": with((*call).score), "compare": with((*call).compare),
		"index": with((*call).openIndex), "vectors": with((*call).setVectors), "save": with((*call).saveIndex),
		"duplicates": with((*call).duplicates), "http": with((*call).http), "nearest": with((*call).nearest),
		"counts": with((*call).counts),
	}
}

// with makes an operation of one that has parameters.
func with[P any](do func(c *call, p *P) (any, []Array, error)) operation {
	return func(c *call) (any, []Array, error) {
		p := new(P)
		if err := c.read(p); err != nil {
			return nil, nil, err
		}
		return do(c, p)
	}
}

// take starts the work on a request.
func (s *workerState) take(ctx context.Context, head []byte, arrays []Array) error {
	var r request
	d := json.NewDecoder(bytes.NewReader(head))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return message.New("bad-frame", "the head of a request: %w", err)
	}
	s.mu.Lock()
	for _, n := range r.Free {
		delete(s.models, n)
	}
	s.mu.Unlock()
	if r.Op == "cancel" { // has no answer: that of the request says whether it was in time
		s.cancel(r.Params)
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.ending[r.ID] = cancel
	s.mu.Unlock()
	c := &call{workerState: s, ctx: ctx, id: r.ID, params: r.Params, arrays: arrays}
	if r.Op == "encode" && isSmall(arrays) { // to start another thread would take longer
		c.run(r.Op)
	} else {
		s.running.Go(func() { c.run(r.Op) })
	}
	return nil
}

// isSmall reports whether the arrays of a request are a few rows.
func isSmall(arrays []Array) bool {
	return len(arrays) == 1 && len(arrays[0].Shape) == 2 && arrays[0].Shape[0] <= 4
}

// cancel ends a request, if it is still under way.
func (s *workerState) cancel(params json.RawMessage) {
	var which struct {
		Request uint64 `json:"request"`
	}
	if json.Unmarshal(params, &which) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if end := s.ending[which.Request]; end != nil {
		end()
	}
}

// run does what a request asks for and sends the answer. A mistake in the program becomes an error, so that what else
// the worker holds is not lost.
func (c *call) run(op string) {
	var a answer
	err := func() (err error) {
		defer func() {
			if trouble := recover(); trouble != nil {
				fmt.Fprintf(os.Stderr, "%v\n%s", trouble, debug.Stack())
				err = message.New("internal", "this is a mistake in the program: %v", trouble)
			}
		}()
		do, ok := operations()[op]
		if !ok {
			return api.Errorf(api.ErrUnsupported, "there is no operation %.40q", op)
		}
		a.Result, a.Arrays, err = do(c)
		return err
	}()
	c.mu.Lock()
	c.ending[c.id]()
	delete(c.ending, c.id)
	c.mu.Unlock()
	if err == nil {
		err = c.send(a)
	}
	if err != nil {
		_ = c.send(answer{Error: failureOf(err)})
	}
}

// send writes an answer. One that cannot be written has nobody waiting for it.
func (c *call) send(a answer) error {
	a.ID = c.id
	c.writing.Lock()
	defer c.writing.Unlock()
	return writeFrame(c.out, a, a.Arrays)
}

// progress tells how far a call is.
func (c *call) progress(p any) { _ = c.send(answer{Progress: p}) }

// failureOf describes an error by its code: that of package api, or that of the package it comes from.
func failureOf(err error) *failure {
	err = search.Coded(err)
	f := &failure{Code: "failed", Message: err.Error()}
	refused, option := new(api.Error), new(hashgrove.OptionError)
	switch {
	case errors.Is(err, context.Canceled):
		f.Code = "canceled"
	case errors.As(err, &refused):
		f.Code, f.Field = refused.Code, refused.Field
	case errors.Is(err, model.ErrValue):
		f.Code = "not-finite"
	case errors.Is(err, model.ErrDim):
		f.Code = api.ErrDimension
	case errors.As(err, &option):
		f.Code, f.Field = api.ErrInvalid, string(option.Code)
	case len(message.Codes(err)) > 0:
		f.Code = api.ErrorCode(message.Codes(err)[0])
	case errors.Is(err, os.ErrNotExist):
		f.Code = api.ErrNotFound
	case errors.Is(err, os.ErrExist):
		f.Code = api.ErrExists
	}
	return f
}

// read decodes the parameters of a call. A misspelt one is an error.
func (c *call) read(to any) error {
	if len(c.params) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(c.params))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return api.Errorf(api.ErrInvalid, "%s: give a value of the type %s, not a %s", wrong.Field, wrong.Type, wrong.Value)
		}
		text := strings.TrimPrefix(err.Error(), "json: ")
		if name, ok := strings.CutPrefix(text, "unknown field "); ok {
			text = "there is no option " + name
		}
		return api.Errorf(api.ErrInvalid, "%s", text)
	}
	return nil
}

// array returns an array of the call, or an error if there are fewer.
func (c *call) array(i int, what string) (*Array, error) {
	if i >= len(c.arrays) {
		return nil, message.New("bad-frame", "the frame lacks an array: %s", what)
	}
	return &c.arrays[i], nil
}

// keep gives a model a number.
func (s *workerState) keep(m *hashgrove.Model) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.models[s.last] = m
	return s.last
}

// model returns a model by its number.
func (s *workerState) model(n uint64) (*hashgrove.Model, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.models[n]; m != nil {
		return m, nil
	}
	return nil, api.Errorf(api.ErrNotFound, "this worker holds no model with the number %d", n)
}

// hello introduces the worker.
func (c *call) hello() (any, []Array, error) {
	return map[string]any{"protocol": Protocol, "version": hashgrove.Version, "methods": method.Names()}, nil, nil
}
