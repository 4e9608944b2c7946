package workshop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"hashgrove"
	"hashgrove/internal/dataset"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/index"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/store"
	"hashgrove/server"
)

// trainRequest is the body of POST /v1/try/{job}/train.
type trainRequest struct {
	Label string `json:"label"` // column of the classes; "" means the suggested one
	Bits  int    `json:"bits"`  // 0 means those of the job
}

const (
	fewestBits = 4
	mostBits   = 256
	// features of pictures; they are worth far more than pixels on photos.
	features = "gist320"
)

// train starts the training of a job.
func (w *Workshop) train(rw http.ResponseWriter, r *http.Request, j *job) error {
	var q trainRequest
	if err := w.server.ReadJSON(rw, r, &q); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	q.Label, q.Bits = cmp.Or(q.Label, j.Label), cmp.Or(q.Bits, j.Bits)
	switch {
	case q.Bits < fewestBits || q.Bits > mostBits:
		return bad("a code of %d bits cannot be tried here: choose %d to %d", q.Bits, fewestBits, mostBits)
	case j.LabelsNeeded:
		return bad("%s has no labels yet: upload a text file with a line for each of its %d rows", j.Name, j.Rows)
	case (j.Columns != nil || q.Label != "") && !j.isScalar(q.Label):
		return bad("%s has no column %.40q with classes: choose the column that holds the class of each row, if it has "+
			"columns", j.Name, q.Label)
	case j.cancel != nil:
		return inTraining(j)
	case w.work.Err() != nil:
		return server.Problem(http.StatusServiceUnavailable, "the service is stopping")
	case w.job != j:
		return server.Problem(http.StatusNotFound, "%s has been removed", j.Name)
	}
	late := fmt.Errorf("the training took longer than the %v that it may take here: use fewer rows or fewer bits, or "+
		"\"hashgrove train\"", w.options.TimeLimit)
	ctx, cancel := context.WithTimeoutCause(w.work, w.options.TimeLimit, late)
	j.cancel, j.ended = cancel, make(chan struct{})
	j.State, j.Stage, j.Message, j.Progress, j.Label, j.Bits = stateTraining, "Reading the data", "", 0, q.Label, q.Bits
	go w.run(ctx, j)
	return nil
}

// run trains, makes the index, and records how it ended.
func (w *Workshop) run(ctx context.Context, j *job) {
	c, remark, err := w.learn(ctx, j)
	if err == nil {
		err = w.server.AddCollection(ctx, c)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch cause := context.Cause(ctx); {
	case err == nil:
		j.State, j.Message, j.Collection = stateDone, remark, c.Name
	case errors.Is(cause, context.Canceled):
		j.State = stateCancelled
	default:
		j.State, j.Message = stateFailed, j.say(cmp.Or(cause, err))
	}
	j.cancel()
	j.Stage, j.Progress, j.cancel = "", 1, nil
	close(j.ended)
}

// learn trains a model and makes the index of all rows. The remark says what was left out.
func (w *Workshop) learn(ctx context.Context, j *job) (c server.CollectionOptions, remark string, err error) {
	defer func() { // a bug triggered by one file must not end the service
		if p := recover(); p != nil {
			err = fmt.Errorf("the training met a bug (%v): please report it", p)
		}
	}()
	if err := errors.Join(w.detach(j), os.RemoveAll(j.indexFile())); err != nil {
		return c, "", err
	}
	o := hashgrove.Options{
		Bits: j.Bits, DetailBits: method.UsualDetail, Effort: fasthash.Quick,
		Threads: w.server.Threads(), Device: w.options.Device, Progress: func(p hashgrove.Progress) { w.report(j, p) },
	}
	if j.Format == formatPictures {
		o.Pictures.Features = features
	}
	from := j.spec(true)
	files := hashgrove.Files{Paths: from.Paths, Format: from.Format, Labels: from.LabelsFile, SkipBad: from.SkipBad}
	data, err := hashgrove.OpenFiles(files, hashgrove.Columns{Label: j.Label})
	if err != nil {
		return c, "", err
	}
	m, err := hashgrove.Train(ctx, data, o)
	if err != nil {
		return c, "", err
	}
	return w.index(ctx, j, inside.Model(m.Model))
}

// report records the progress of a training.
func (w *Workshop) report(j *job, p hashgrove.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case p.Bits == 0:
	case p.Bit < p.Bits:
		j.Stage, j.Progress = fmt.Sprintf("Learning bit %d of %d", p.Bit+1, p.Bits), 0.95*float64(p.Bit)/float64(p.Bits)
	default:
		j.Stage, j.Progress = "Measuring the codes and making the index", 0.95
	}
}

// index encodes all rows and writes the index, in which pictures are called as in their zip.
func (w *Workshop) index(ctx context.Context, j *job, m *model.Model) (c server.CollectionOptions, remark string,
	err error) {
	c = server.CollectionOptions{Name: "try-" + j.ID, Path: j.indexFile(), Vectors: j.data()}
	spec := j.spec(true)
	spec.Threads = w.server.Threads()
	set, err := dataset.Open(spec)
	if err != nil {
		return c, "", err
	}
	src, err := m.Source(set, spec.Threads)
	if err != nil {
		return c, "", err
	}
	in := dataset.FromRows(m, src, j.Name)
	if unused := j.attributes(set.Columns()); len(unused) > 0 {
		if in.Attributes, err = set.Attributes(unused); err != nil {
			return c, "", err
		}
	}
	b, err := in.Read(ctx, j.Rows, spec.Threads, func(int) {})
	if err != nil {
		return c, "", err
	}
	if bad, first := set.Bad(); bad > 0 {
		remark = fmt.Sprintf("Left out: %d of %d. The first: %s.", bad, j.Rows, j.say(first[0]))
	}
	if j.Format == formatPictures {
		c.Pictures = j.data()
		for i, id := range b.IDs {
			b.IDs[i] = index.Text(strings.TrimPrefix(id.String(), j.data()+"/"))
		}
	}
	s, err := store.Create(ctx, c.Path, store.Options{
		Model: m, Bits: b.Codes.Bits, Fingerprint: b.Fingerprint, Note: "made from " + j.Name, Items: b,
	})
	if err != nil {
		return c, "", err
	}
	return c, remark, s.Close()
}

const (
	mostAttributes = 64 // columns that become attributes, because those are kept in memory
	mostNumbers    = 16 // columns of a vector that become attributes as well
)

// attributes lists the columns to filter by.
func (j *job) attributes(taken dataset.Columns) []string {
	var list []string
	columns := taken.Unused
	if len(taken.Vector) <= mostNumbers { // a table that people read
		columns = slices.Concat(columns, taken.Vector)
	}
	for _, name := range columns {
		if j.isScalar(name) && len(list) < mostAttributes {
			list = append(list, name)
		}
	}
	return list
}
