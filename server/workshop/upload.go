package workshop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
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
	select {
	case w.upload <- struct{}{}:
		defer func() { <-w.upload }()
	default:
		return nil, busy("another upload is under way: try again in a moment")
	}
	if w.work.Err() != nil {
		return nil, server.Problem(http.StatusServiceUnavailable, "the service is stopping")
	}
	if r.ContentLength > w.options.MaxBytes {
		return nil, &http.MaxBytesError{Limit: w.options.MaxBytes}
	}
	w.mu.Lock()
	w.last++
	id := strconv.Itoa(w.last)
	w.mu.Unlock()
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
	name = printable(path.Base(strings.ReplaceAll(name, `\`, "/")))
	if name == "." || name == "/" {
		return "the upload"
	}
	return name
}

// save streams the body of a request into a new file.
func save(rw http.ResponseWriter, r *http.Request, to string, most int64) (err error) {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	body := http.MaxBytesReader(rw, r.Body, most)
	conn := http.NewResponseController(rw)
	n, err := io.Copy(f, &patientReader{body: body, conn: conn, began: time.Now()})
	_ = conn.SetReadDeadline(time.Now().Add(lookTime)) // an expired deadline would cancel the request
	_ = conn.SetWriteDeadline(time.Now().Add(lookTime))
	switch {
	case err != nil:
		return err
	case n == 0:
		return bad("the upload is empty: send the file as the body of the request")
	}
	return nil
}

// patientReader gives a body the time that a slow connection needs, but no more to clients that only occupy a slot.
type patientReader struct {
	body  io.Reader
	conn  *http.ResponseController
	began time.Time
	read  int64
}

func (p *patientReader) Read(b []byte) (int, error) {
	until := p.began.Add(grace + time.Duration(p.read)*time.Second/slowest)
	if time.Now().After(until) {
		return 0, os.ErrDeadlineExceeded
	}
	_ = p.conn.SetReadDeadline(until) // if the connection allows; otherwise its own deadline applies
	_ = p.conn.SetWriteDeadline(until.Add(grace))
	n, err := p.body.Read(b)
	p.read += int64(n)
	return n, err
}

// recognise detects the format of an upload.
func recognise(j *job) (string, error) {
	format, packed, err := dataset.FormatOf(j.data())
	switch {
	case err != nil && !message.Is(err, "unrecognised-format"):
		return "", j.bad(err)
	case format == "npz": // or any other zip
		return formatPictures, nil
	case packed:
		return "", bad("%s is compressed: decompress it first, or pack pictures as zip", j.Name)
	case !slices.Contains([]string{"csv", "tsv", "jsonl", formatNpy}, format):
		return "", bad("%s cannot be tried: give CSV, TSV, JSON lines, npy, or a zip of pictures with a folder for each "+
			"class", j.Name)
	}
	return format, nil
}

// receiveLabels takes the labels of an npy file, one line per row.
func (w *Workshop) receiveLabels(rw http.ResponseWriter, r *http.Request, j *job) (any, error) {
	if j.Format != formatNpy {
		return nil, conflict("%s has labels of its own: choose the column that holds them", j.Name)
	}
	w.mu.Lock()
	training := j.cancel != nil
	w.mu.Unlock()
	if training {
		return nil, conflict("%s is in training: cancel it before you change its labels", j.Name)
	}
	draft := filepath.Join(j.dir, "labels.new")
	defer os.Remove(draft)
	_ = os.Remove(draft) // from an interrupted upload
	if err := save(rw, r, draft, mostLabels); err != nil {
		return nil, err
	}
	if err := os.Rename(draft, j.labelsFile()); err != nil {
		return nil, err
	}
	_, err := dataset.Open(dataset.Spec{Paths: []string{j.data()}, Format: formatNpy,
		LabelsFile: []string{j.labelsFile()}})
	w.mu.Lock()
	defer w.mu.Unlock()
	if j.LabelsNeeded = err != nil; err != nil {
		return nil, j.bad(err)
	}
	return j.Job, nil
}

// inspect recognises an upload and examines its content.
func (w *Workshop) inspect(ctx context.Context, j *job) error {
	upload, err := j.data(), error(nil)
	if j.Format, err = recognise(j); err != nil {
		return err
	}
	switch j.Format {
	case formatPictures:
		return w.inspectPictures(ctx, j, upload)
	case formatNpy:
		return inspectNpy(j)
	}
	return inspectTable(ctx, j)
}
