// Package workshop lets people try codes on their own data: they upload a table, an npy file or a zip of pictures,
// choose the label column, and get a trained model, a comparison with sign codes and float search, and an index to
// search.
//
//	POST   /v1/try?name=shop.csv        upload.go    the file, checked and looked at        -> Job, "uploaded"
//	POST   /v1/try/{job}/labels         upload.go    the labels of an npy file
//	POST   /v1/try/{job}/train          training.go  one training at a time                 -> Job, "training"
//	POST   /v1/try/{job}/cancel                      the file stays
//	GET    /v1/try, /v1/try/{job}                    progress, and in the end the comparison
//	DELETE /v1/try/{job}                             the file and its collection go
//	GET    /v1/try/samples/{name}       sample.go    files to try
//
// A Workshop is an http.Handler. It keeps the newest few jobs in a folder of its own, which Close removes. All it
// knows of the server are two functions: one serves a finished index, the other stops serving it.
package workshop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"hashgrove/internal/section"
	"hashgrove/internal/strict"
)

// Options say where a workshop works and how much it may use. Zero means the default.
type Options struct {
	Dir string // folder for uploads and indexes, made if need be; "" means a temporary one

	// Attach serves a finished index, and Detach stops serving it; nil does nothing.
	Attach func(ctx context.Context, c Collection) error
	Detach func(name string) error

	Threads int    // of a training; 0 means all cores
	Device  string // of a training, as in train.Options

	MaxBytes    int64         // of an upload; 64 MiB
	MaxRows     int           // of a table or an npy file; 100,000
	MaxColumns  int           // 4,096
	MaxValues   int           // rows times columns; 20 million
	MaxPictures int           // in a zip; 5,000
	MaxUnpacked int64         // bytes of all pictures of a zip; 256 MiB
	MaxPixels   int           // of a picture; 40 million
	TimeLimit   time.Duration // of a training; 10 minutes
	Keep        int           // jobs; 3, and at least 2
}

// Collection is a finished index.
type Collection struct {
	Name     string // such as try-1
	Path     string // of the index
	Vectors  string // file with the vectors of the items, or ""
	Pictures string // folder with the pictures of the items, or ""
	Report   string // HTML file with the whole comparison
}

func (o Options) withDefaults() Options {
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	o.MaxRows = cmp.Or(o.MaxRows, 100_000)
	o.MaxColumns = cmp.Or(o.MaxColumns, 4_096)
	o.MaxValues = cmp.Or(o.MaxValues, 20_000_000)
	o.MaxPictures = cmp.Or(o.MaxPictures, 5_000)
	o.MaxUnpacked = cmp.Or(o.MaxUnpacked, 256<<20)
	o.MaxPixels = cmp.Or(o.MaxPixels, 40_000_000)
	o.TimeLimit = cmp.Or(o.TimeLimit, 10*time.Minute)
	o.Keep = max(cmp.Or(o.Keep, 3), 2) // one may be in training
	if o.Attach == nil {
		o.Attach = func(context.Context, Collection) error { return nil }
	}
	if o.Detach == nil {
		o.Detach = func(string) error { return nil }
	}
	return o
}

// Workshop is the handler of /v1/try and everything below. It is safe for concurrent use.
type Workshop struct {
	options Options
	mux     *http.ServeMux
	dirErr  error // why there is no folder
	// removeDir removes the folder; nil unless it is a temporary one.
	removeDir func() error
	upload    chan struct{}
	work      context.Context // of all trainings
	stop      context.CancelFunc
	failed    func(error) // sees what a request or a training fails with, in tests

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
	for pattern, h := range map[string]func(http.ResponseWriter, *http.Request) (any, error){
		"GET /v1/try":                       plainly(w.list, false),
		"POST /v1/try":                      w.receive,
		"GET /v1/try/{job}":                 plainly(w.withJob(w.show), false),
		"DELETE /v1/try/{job}":              plainly(w.withJob(w.remove), false),
		"POST /v1/try/{job}/labels":         plainly(w.withJob(w.receiveLabels), true),
		"POST /v1/try/{job}/train":          plainly(w.withJob(w.train), true),
		"POST /v1/try/{job}/cancel":         plainly(w.withJob(w.cancel), false),
		"GET /v1/try/{job}/files/model.hgm": plainly(w.withJob(w.sendModel), false),
		"GET /v1/try/samples/{name}":        plainly(w.sample, false),
	} {
		w.mux.HandleFunc(pattern, func(rw http.ResponseWriter, r *http.Request) {
			v, err := h(rw, r)
			switch {
			case err != nil:
				w.writeProblem(rw, err)
			case v != nil:
				status := http.StatusOK
				if r.Method == http.MethodPost {
					status = http.StatusAccepted
				}
				writeJSON(rw, status, v)
			}
		})
	}
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
func (w *Workshop) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if _, pattern := w.mux.Handler(r); pattern == "" {
		w.writeProblem(rw, problem(http.StatusNotFound, "no-such-path",
			"there is nothing at %s %.100q: see /openapi.json", r.Method,
			r.URL.Path))
		return
	}
	w.mux.ServeHTTP(rw, r)
}

// withJob finds the job that a request names.
func (w *Workshop) withJob(
	h func(http.ResponseWriter, *http.Request, *job) (any, error),
) func(http.ResponseWriter, *http.Request) (any, error) {
	return func(rw http.ResponseWriter, r *http.Request) (any, error) {
		w.mu.Lock()
		var found *job
		for _, j := range w.jobs {
			if strconv.Itoa(j.number) == r.PathValue("job") {
				found = j
			}
		}
		n, err := strconv.Atoi(r.PathValue("job"))
		gone := err == nil && n > 0 && n <= w.next
		w.mu.Unlock()
		switch {
		case found != nil:
			return h(rw, r, found)
		case gone:
			return nil, problem(http.StatusNotFound, "no-such-upload",
				"there is no upload %.40q any more: only the last %d are kept", r.PathValue("job"), w.options.Keep)
		}
		return nil, problem(http.StatusNotFound, "no-such-upload", "there is no upload %.40q", r.PathValue("job"))
	}
}

func (w *Workshop) list(http.ResponseWriter, *http.Request) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	views := make([]Job, 0, len(w.jobs))
	for _, j := range w.jobs {
		views = append(views, j.view())
	}
	return map[string][]Job{"jobs": views}, nil
}

func (w *Workshop) show(_ http.ResponseWriter, _ *http.Request, j *job) (any, error) {
	return w.viewOf(j), nil
}

func (w *Workshop) viewOf(j *job) Job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return j.view()
}

// cancel ends the training of a job and waits until it has.
func (w *Workshop) cancel(_ http.ResponseWriter, r *http.Request, j *job) (any, error) {
	if !w.end(r.Context(), j) {
		return nil, problem(http.StatusConflict, "not-in-training", "%s is not in training", j.name)
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
	if j.cancel != nil {
		w.mu.Unlock()
		return problem(http.StatusConflict, "in-training", "%s is still in training", j.name)
	}
	there := false
	for i, other := range w.jobs {
		if other == j {
			w.jobs, there = append(w.jobs[:i:i], w.jobs[i+1:]...), true
			break
		}
	}
	w.mu.Unlock()
	if !there {
		return nil
	}
	return errors.Join(w.detach(j), os.RemoveAll(j.dir))
}

// detach stops serving the collection of a job, if it has one.
func (w *Workshop) detach(j *job) error {
	w.mu.Lock()
	name := j.collection
	j.collection = ""
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

// readJSON reads a small JSON body wholly, or refuses it. No body means all defaults.
func readJSON(rw http.ResponseWriter, r *http.Request, v any) error {
	b, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, 1<<20))
	if err == nil && len(b) > 0 {
		err = strict.Decode(b, v, strict.Options{List: mostNames})
	}
	if err != nil {
		return bad("bad-request", "the request is not what is expected here (%w): see /openapi.json", err)
	}
	return nil
}

// mostNames is the longest list of names that a request may have.
const mostNames = 10_000

// parameters returns the parameters of an address, which must be some of those named, each once.
func parameters(r *http.Request, names ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, bad("bad-address", "the parameters in the address cannot be read: %w", err)
	}
	for name, list := range values {
		switch {
		case !slices.Contains(names, name):
			return nil, bad("unknown-parameter", "unknown parameter %.40q: known here are %s", name,
				cmp.Or(strings.Join(names, ", "), "none"))
		case len(list) > 1:
			return nil, bad("repeated-parameter", "the parameter %.40q occurs twice in the address", name)
		case !utf8.ValidString(list[0]):
			return nil, bad("not-utf8", "the parameter %.40q is not UTF-8", name)
		}
	}
	return values, nil
}

// plainly refuses parameters, and a body unless the request may have one, rather than leave them unread.
func plainly(
	h func(http.ResponseWriter, *http.Request) (any, error), hasBody bool,
) func(http.ResponseWriter, *http.Request) (any, error) {
	return func(rw http.ResponseWriter, r *http.Request) (any, error) {
		if _, err := parameters(r); err != nil {
			return nil, err
		}
		if !hasBody && r.ContentLength != 0 {
			return nil, bad("unexpected-body", "a %s request here has no body: it would have no effect", r.Method)
		}
		return h(rw, r)
	}
}

// sizeText writes a number of bytes for people.
func sizeText(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
