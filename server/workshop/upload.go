package workshop

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hashgrove/internal/dataset"
	"hashgrove/internal/message"
	"hashgrove/server"
)

const (
	mostLabels  = 8 << 20          // bytes of a file of labels
	grace       = 30 * time.Second // allowed for an upload of any size
	slowest     = 64 << 10         // bytes per second required after that, on average
	lookTime    = 5 * time.Minute  // for looking at an upload
	defaultBits = 32
)

// receive takes an upload, one at a time, because each may take as much disk as is allowed.
func (w *Workshop) receive(rw http.ResponseWriter, r *http.Request) (any, error) {
	if w.dirErr != nil {
		return nil, fmt.Errorf("there is no folder for uploads: %w", w.dirErr)
	}
	if !w.upload.TryLock() {
		return nil, server.Problem(http.StatusTooManyRequests, "another upload is under way: try again in a moment")
	}
	defer w.upload.Unlock()
	if w.work.Err() != nil {
		return nil, server.Problem(http.StatusServiceUnavailable, "the service is stopping")
	}
	w.last++
	id := strconv.Itoa(w.last)
	j := &job{dir: filepath.Join(w.dir, "hashgrove-job-"+id)}
	j.Job = Job{ID: id, Name: uploadName(r.URL.Query().Get("name")), Bits: defaultBits, State: stateUploaded}
	if err := os.Mkdir(j.dir, 0o700); err != nil {
		return nil, err
	}
	err := save(rw, r, j.data(), w.options.MaxBytes)
	if err == nil {
		err = w.inspect(r.Context(), j)
	}
	if err == nil {
		err = w.replace(j)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(j.dir))
	}
	return w.viewOf(j), nil
}

// uploadName returns the readable name of a file: its last part, without what does not print. It is never a path.
func uploadName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == "/" {
		return "the upload"
	}
	return message.Printable(fmt.Sprintf("%.100s", name))
}

// save streams the body of a request into a new file.
func save(rw http.ResponseWriter, r *http.Request, to string, most int64) (err error) {
	if r.ContentLength > most {
		return &http.MaxBytesError{Limit: most}
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	conn := http.NewResponseController(rw)
	until := func(limit time.Duration) {
		_ = conn.SetReadDeadline(time.Now().Add(limit)) // an expired deadline would cancel the request
		_ = conn.SetWriteDeadline(time.Now().Add(limit + grace))
	}
	size := r.ContentLength
	if size < 0 {
		size = most
	}
	until(grace + time.Duration(size)*time.Second/slowest)
	n, err := io.Copy(f, http.MaxBytesReader(rw, r.Body, most))
	until(lookTime)
	if err == nil && n == 0 {
		return bad("the upload is empty: send the file as the body of the request")
	}
	return err
}

// receiveLabels takes the labels of an npy file, one line per row.
func (w *Workshop) receiveLabels(rw http.ResponseWriter, r *http.Request, j *job) error {
	if j.Format != formatNpy {
		return server.Problem(http.StatusConflict, "%s has labels of its own: choose the column that holds them", j.Name)
	}
	draft := filepath.Join(j.dir, "labels.new")
	defer os.Remove(draft)
	_ = os.Remove(draft) // from an interrupted upload
	if err := save(rw, r, draft, mostLabels); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if j.cancel != nil {
		return server.Problem(http.StatusConflict, "%s is in training: cancel it before you change its labels", j.Name)
	}
	err := os.Rename(draft, j.labelsFile())
	if j.LabelsNeeded = false; err == nil {
		_, err = dataset.Open(j.spec(false))
	}
	if j.LabelsNeeded = err != nil; err != nil {
		return j.bad(err)
	}
	return nil
}
