// Package workshop lets people try codes on their own data: they upload a table, an npy file or a zip of pictures,
// choose the label column, and get an index to search.
//
//	POST   /v1/try?name=shop.csv     upload.go      the file, checked and looked at    -> Job, "uploaded"
//	POST   /v1/try/{job}/labels      upload.go      the labels of an npy file
//	POST   /v1/try/{job}/train       training.go    one training at a time             -> Job, "training"
//	POST   /v1/try/{job}/cancel                     the file stays
//	GET    /v1/try/{job}                            progress, and in the end the collection
//	DELETE /v1/try/{job}                            the file and its collection go
//	GET    /v1/try/samples/clothes.zip sample.go     pictures to try
//
// A Workshop keeps the newest upload in a folder of its own, which Close removes.
package workshop

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	"hashgrove/server"
)

// Options say how much a workshop may use. Zero means the default.
type Options struct {
	Device string // of a training, as in hashgrove.Options

	MaxBytes    int64         // of an upload; 64 MiB
	MaxPictures int           // in a zip; 5,000
	MaxUnpacked int64         // bytes of all pictures of a zip; 256 MiB
	TimeLimit   time.Duration // of a training; 10 minutes
}

func (o Options) withDefaults() Options {
	o.MaxBytes = cmp.Or(o.MaxBytes, server.Limits{}.WithDefaults().Upload)
	o.MaxPictures = cmp.Or(o.MaxPictures, 5_000)
	o.MaxUnpacked = cmp.Or(o.MaxUnpacked, 256<<20)
	o.TimeLimit = cmp.Or(o.TimeLimit, 10*time.Minute)
	return o
}

// Workshop answers the requests of "try your own". It is safe for concurrent use.
type Workshop struct {
	options Options
	server  *server.Server // of the collections
	dir     string         // of uploads and indexes, a temporary one
	dirErr  error          // why there is none
	upload  sync.Mutex     // held by the upload that runs
	last    int            // number of the last job
	work    context.Context
	stop    context.CancelFunc

	mu  sync.Mutex
	job *job // the newest upload, or nil
}

// Mount adds a workshop to a server, as server.Options.Try.
func (o Options) Mount(s *server.Server) (stop func() error) { return New(s, o).Close }

// New adds a workshop to a server that does not answer yet. If there is no folder for uploads, they report it.
func New(s *server.Server, o Options) *Workshop {
	w := &Workshop{options: o.withDefaults(), server: s}
	w.work, w.stop = context.WithCancel(context.Background())
	w.dir, w.dirErr = os.MkdirTemp("", "hashgrove-try-")
	show := func(http.ResponseWriter, *http.Request, *job) error { return nil }
	s.MountTry(
		server.Route{Pattern: "POST /v1/try", Parameters: "name", Body: true, Answer: w.receive},
		server.Route{Pattern: "GET /v1/try/{job}", Answer: w.about(show)},
		server.Route{Pattern: "DELETE /v1/try/{job}", Answer: w.about(w.remove)},
		server.Route{Pattern: "POST /v1/try/{job}/labels", Body: true, Answer: w.about(w.receiveLabels)},
		server.Route{Pattern: "POST /v1/try/{job}/train", Body: true, Answer: w.about(w.train)},
		server.Route{Pattern: "POST /v1/try/{job}/cancel", Answer: w.about(w.cancel)},
		server.Route{Pattern: "GET /v1/try/samples/clothes.zip", Answer: sendSample},
	)
	return w
}

// about finds the job that a request names, does something about it, and shows it.
func (w *Workshop) about(
	do func(http.ResponseWriter, *http.Request, *job) error,
) func(http.ResponseWriter, *http.Request) (any, error) {
	return func(rw http.ResponseWriter, r *http.Request) (any, error) {
		w.mu.Lock()
		j := w.job
		w.mu.Unlock()
		if name := r.PathValue("job"); j == nil || j.ID != name {
			return nil, server.Problem(http.StatusNotFound, "there is no upload %.40q: only the last one is kept", name)
		}
		err := do(rw, r, j)
		return w.viewOf(j), err
	}
}

func (w *Workshop) viewOf(j *job) Job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return j.Job
}

// cancel ends the training of a job.
func (w *Workshop) cancel(_ http.ResponseWriter, r *http.Request, j *job) error {
	if w.viewOf(j).State != stateTraining {
		return server.Problem(http.StatusConflict, "%s is not in training", j.Name)
	}
	w.end(r.Context(), j)
	return r.Context().Err()
}

// end cancels the training of a job, if there is one, and waits for it to end.
func (w *Workshop) end(ctx context.Context, j *job) {
	w.mu.Lock()
	cancel, ended := j.cancel, j.ended
	w.mu.Unlock()
	if cancel == nil {
		return
	}
	cancel()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// remove cancels a job and removes everything of it.
func (w *Workshop) remove(_ http.ResponseWriter, r *http.Request, j *job) error {
	w.end(r.Context(), j)
	return w.replace(nil)
}

// inTraining is the error for what has to wait for a training.
func inTraining(j *job) error {
	return server.Problem(http.StatusTooManyRequests, "%s is in training: wait until it is done, or cancel it", j.Name)
}

// bad returns an error for unusable data or an invalid request.
func bad(format string, args ...any) error {
	return server.Problem(http.StatusBadRequest, format, args...)
}

// replace puts a job into the place of the last one, which must not be in training, and removes that one's collection
// and files.
func (w *Workshop) replace(next *job) error {
	w.mu.Lock()
	old := w.job
	if old != nil && old.cancel != nil {
		w.mu.Unlock()
		return inTraining(old)
	}
	w.job = next
	w.mu.Unlock()
	if old == nil {
		return nil
	}
	return errors.Join(w.detach(old), os.RemoveAll(old.dir))
}

// detach stops serving the collection of a job, if it has one.
func (w *Workshop) detach(j *job) error {
	w.mu.Lock()
	name := j.Collection
	j.Collection = ""
	w.mu.Unlock()
	if name == "" {
		return nil
	}
	return w.server.RemoveCollection(name)
}

// Close cancels any training, waits for it, and removes the upload and its collection.
func (w *Workshop) Close() (err error) {
	w.stop()
	w.upload.Lock() // after the last one
	defer w.upload.Unlock()
	w.mu.Lock()
	j := w.job
	w.mu.Unlock()
	if j != nil {
		w.end(context.Background(), j)
		err = w.replace(nil)
	}
	if w.dirErr == nil {
		err = errors.Join(err, os.RemoveAll(w.dir))
	}
	return err
}
