// Package workshop lets people try codes on their own data: they upload a table, an npy file or a zip of pictures,
// choose the label column, and get an index to search.
//
//	POST   /v1/try?name=shop.csv     upload.go      the file, checked and looked at    -> Job, "uploaded"
//	POST   /v1/try/{job}/labels      upload.go      the labels of an npy file
//	POST   /v1/try/{job}/train       training.go    one training at a time             -> Job, "training"
//	POST   /v1/try/{job}/cancel                     the file stays
//	GET    /v1/try, /v1/try/{job}                   progress, and in the end the collection
//	DELETE /v1/try/{job}                            the file and its collection go
//	GET    /v1/try/samples/clothes.zip sample.go     pictures to try
//
// A Workshop is an http.Handler. It keeps the newest few jobs in a folder of its own, which Close removes. All it
// knows of the server are two functions: one serves a finished index, the other stops serving it.
package workshop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"hashgrove/internal/section"
)

// Options say where a workshop works and how much it may use. Zero means the default.
type Options struct {
	Dir string // folder for uploads and indexes, made if need be; "" means a temporary one

	// Attach serves a finished index, and Detach stops serving it; nil does nothing.
	Attach func(ctx context.Context, c Collection) error
	Detach func(name string) error

	Threads int    // of a training; 0 means all cores
	Device  string // of a training, as in hashgrove.Options

	MaxBytes    int64         // of an upload; 64 MiB
	MaxPictures int           // in a zip; 5,000
	MaxUnpacked int64         // bytes of all pictures of a zip; 256 MiB
	TimeLimit   time.Duration // of a training; 10 minutes
}

// Collection is a finished index.
type Collection struct {
	Name     string // such as try-1
	Path     string // of the index
	Vectors  string // file with the vectors of the items
	Pictures string // archive with the pictures of the items, or ""
}

func (o Options) withDefaults() Options {
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	o.MaxPictures = cmp.Or(o.MaxPictures, 5_000)
	o.MaxUnpacked = cmp.Or(o.MaxUnpacked, 256<<20)
	o.TimeLimit = cmp.Or(o.TimeLimit, 10*time.Minute)
	if o.Attach == nil {
		o.Attach = func(context.Context, Collection) error { return nil }
	}
	if o.Detach == nil {
		o.Detach = func(string) error { return nil }
	}
	return o
}

// mostJobs is the number of uploads that are kept; one of them may be in training.
const mostJobs = 3

// Workshop is the handler of /v1/try and everything below. It is safe for concurrent use.
type Workshop struct {
	options   Options
	mux       *http.ServeMux
	dirErr    error         // why there is no folder
	removeDir func() error  // nil unless the folder is a temporary one
	upload    chan struct{} // held by the upload that runs
	work      context.Context
	stop      context.CancelFunc

	mu   sync.Mutex
	next int    // number of the next job
	jobs []*job // the oldest first
	busy *job   // the one that is in training
}

// folderPattern matches the folders of jobs, which a killed workshop leaves behind.
var folderPattern = regexp.MustCompile(`^hashgrove-job-[0-9]+$`)

// New makes a workshop and removes what an earlier one left in the folder. If the folder cannot be used, uploads report
// it.
func New(o Options) *Workshop {
	w := &Workshop{options: o.withDefaults(), mux: http.NewServeMux(), upload: make(chan struct{}, 1)}
	w.work, w.stop = context.WithCancel(context.Background())
	w.dirErr = w.prepareFolder()
	for pattern, h := range map[string]handler{
		"GET /v1/try":               bare(w.list),
		"POST /v1/try":              w.receive,
		"GET /v1/try/{job}":         bare(w.withJob(w.show)),
		"DELETE /v1/try/{job}":      bare(w.withJob(w.remove)),
		"POST /v1/try/{job}/labels": plain(w.withJob(w.receiveLabels)),
		"POST /v1/try/{job}/train":  plain(w.withJob(w.train)),
		"POST /v1/try/{job}/cancel": bare(w.withJob(w.cancel)),
		"/v1/try/":                  noPath,
	} {
		w.mux.HandleFunc(pattern, func(rw http.ResponseWriter, r *http.Request) {
			v, err := h(rw, r)
			switch {
			case err != nil:
				writeProblem(rw, err)
			case r.Method == http.MethodPost:
				writeJSON(rw, http.StatusAccepted, v)
			default:
				writeJSON(rw, http.StatusOK, v)
			}
		})
	}
	w.mux.HandleFunc("GET /v1/try/samples/clothes.zip", sendSample)
	return w
}

// prepareFolder makes the folder, or cleans the one that is there.
func (w *Workshop) prepareFolder() (err error) {
	if w.options.Dir == "" {
		w.options.Dir, w.removeDir, err = section.TempFolder("hashgrove-try-")
		return err
	}
	if err := os.MkdirAll(w.options.Dir, 0o700); err != nil {
		return err
	}
	left, err := os.ReadDir(w.options.Dir)
	for _, e := range left {
		if e.IsDir() && folderPattern.MatchString(e.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(w.options.Dir, e.Name())))
		}
	}
	return err
}

// ServeHTTP implements http.Handler.
func (w *Workshop) ServeHTTP(rw http.ResponseWriter, r *http.Request) { w.mux.ServeHTTP(rw, r) }

// withJob finds the job that a request names.
func (w *Workshop) withJob(h func(http.ResponseWriter, *http.Request, *job) (any, error)) handler {
	return func(rw http.ResponseWriter, r *http.Request) (any, error) {
		name := r.PathValue("job")
		w.mu.Lock()
		at := slices.IndexFunc(w.jobs, func(j *job) bool { return strconv.Itoa(j.number) == name })
		var found *job
		if at >= 0 {
			found = w.jobs[at]
		}
		w.mu.Unlock()
		if found == nil {
			return nil, problem(http.StatusNotFound, "there is no upload %.40q: only the last %d are kept", name, mostJobs)
		}
		return h(rw, r, found)
	}
}

func (w *Workshop) list(http.ResponseWriter, *http.Request) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	views := make([]Job, 0, len(w.jobs))
	for _, j := range w.jobs {
		views = append(views, j.Job)
	}
	return map[string][]Job{"jobs": views}, nil
}

func (w *Workshop) show(_ http.ResponseWriter, _ *http.Request, j *job) (any, error) {
	return w.viewOf(j), nil
}

func (w *Workshop) viewOf(j *job) Job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return j.Job
}

// cancel ends the training of a job and waits until it has.
func (w *Workshop) cancel(_ http.ResponseWriter, r *http.Request, j *job) (any, error) {
	if !w.end(r.Context(), j) {
		return nil, problem(http.StatusConflict, "%s is not in training", j.Name)
	}
	return w.viewOf(j), r.Context().Err()
}

// end cancels the training of a job and waits for it to end. It returns false if there is none.
func (w *Workshop) end(ctx context.Context, j *job) bool {
	w.mu.Lock()
	cancel, ended := j.cancel, j.ended
	w.mu.Unlock()
	if cancel == nil {
		return false
	}
	cancel()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return true
}

// remove cancels a job and removes everything of it.
func (w *Workshop) remove(_ http.ResponseWriter, r *http.Request, j *job) (any, error) {
	w.end(r.Context(), j)
	last := w.viewOf(j)
	last.Collection = ""
	return last, w.discard(j)
}

// discard forgets a job that is not in training and removes its collection and files.
func (w *Workshop) discard(j *job) error {
	w.mu.Lock()
	at := slices.Index(w.jobs, j)
	if j.cancel != nil {
		w.mu.Unlock()
		return problem(http.StatusConflict, "%s is still in training", j.Name)
	}
	if at >= 0 {
		w.jobs = slices.Delete(w.jobs, at, at+1)
	}
	w.mu.Unlock()
	if at < 0 {
		return nil
	}
	return errors.Join(w.detach(j), os.RemoveAll(j.dir))
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
	return w.options.Detach(name)
}

// Close cancels any training, waits for it, and removes all uploads and their collections.
func (w *Workshop) Close() error {
	w.stop()
	w.upload <- struct{}{} // the last one
	defer func() { <-w.upload }()
	var errs []error
	for {
		w.mu.Lock()
		if len(w.jobs) == 0 {
			w.mu.Unlock()
			break
		}
		j := w.jobs[0]
		w.mu.Unlock()
		w.end(context.Background(), j)
		errs = append(errs, w.discard(j))
	}
	if w.removeDir != nil {
		errs = append(errs, w.removeDir())
		w.removeDir = nil
	}
	return errors.Join(errs...)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("workshop: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // if the client has gone, there is nobody to tell
}
