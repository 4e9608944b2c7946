package server

import (
	"context"
	"net/http"
	"reflect"
	"runtime"
	"time"
)

// Limits bound what requests can use. Zero means the default.
type Limits struct {
	Header int   // bytes of request headers; 32 KiB
	Body   int64 // bytes of a request body; 64 MiB
	Bodies int64 // bytes of all bodies at a time; 256 MiB
	Upload int64 // bytes of an upload to train on; 64 MiB

	Searches int           // at a time; twice the cores, at least 4
	Waiting  int           // requests that may wait for a search slot; 256
	Wait     time.Duration // longest wait for a slot; 5 s

	K           int   // hits per query; 1,000
	Batch       int   // queries, vectors or items per request; 10,000
	Hits        int   // hits per request, over all queries; 100,000
	Explained   int   // queries per request whose first hit is explained; 100
	Compared    int64 // values of vectors that a request's reranking compares; 10 billion
	Page        int   // items per page of a list; 1,000
	FilterBytes int   // length of a filter; 4,096
	FilterDepth int   // nesting depth of a filter; 32
	Pixels      int   // of a picture; 40 million

	ReadTime  time.Duration // for a whole request; 60 s
	WriteTime time.Duration // for a whole response; 60 s
	IdleTime  time.Duration // between requests on a connection; 2 min
	StopTime  time.Duration // for requests to finish when the service stops; 20 s

	Connections int // at a time; 20,000
	Created     int // collections created over HTTP; 1,000
}

// WithDefaults fills in the defaults.
func (l Limits) WithDefaults() Limits {
	usual := Limits{
		Header: 32 << 10, Body: 64 << 20, Bodies: 256 << 20, Upload: 64 << 20,
		Searches: max(4, 2*runtime.GOMAXPROCS(0)), Waiting: 256, Wait: 5 * time.Second,
		K: 1_000, Batch: 10_000, Hits: 100_000, Explained: 100, Compared: 10_000_000_000, Page: 1_000,
		FilterBytes: 4 << 10, FilterDepth: 32, Pixels: 40_000_000,
		ReadTime: time.Minute, WriteTime: time.Minute, IdleTime: 2 * time.Minute, StopTime: 20 * time.Second,
		Connections: 20_000, Created: 1_000,
	}
	given, all := reflect.ValueOf(l), reflect.ValueOf(&usual).Elem()
	for i := range all.NumField() {
		if !given.Field(i).IsZero() {
			all.Field(i).Set(given.Field(i))
		}
	}
	return usual
}

// gate admits a number of searches at a time and lets some more wait briefly.
type gate struct {
	slots   chan struct{}
	waiting chan struct{}
	wait    time.Duration
}

func newGate(slots, waiting int, wait time.Duration) *gate {
	return &gate{make(chan struct{}, slots), make(chan struct{}, waiting), wait}
}

// enter waits for a free slot; leave frees it.
func (g *gate) enter(ctx context.Context) error {
	select {
	case g.slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case g.waiting <- struct{}{}:
		defer func() { <-g.waiting }()
	default:
		return busy("too many searches are waiting")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, g.wait, busy("the searches before this one took too long"))
	defer cancel()
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *gate) leave() { <-g.slots }

// busy is the error that asks the client to retry later.
func busy(why string) error {
	return problem(http.StatusTooManyRequests, "%s: try again in a moment", why)
}
