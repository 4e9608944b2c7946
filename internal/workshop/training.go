package workshop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"hashgrove/internal/compare"
	"hashgrove/internal/dataset"
	"hashgrove/internal/eval"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/fault"
	"hashgrove/internal/feature"
	"hashgrove/internal/machine"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
	"hashgrove/internal/picture"
	"hashgrove/internal/report"
	"hashgrove/internal/train"
	"hashgrove/internal/vectors"
)

// A training is a comparison (package compare) of FastHash, trained on about three quarters of the rows, with other
// codes and with float search, on rows that nothing was learned from. Its model then encodes all rows for the index, so
// the figures apply to the index that people search.

// seed of everything random: the same file gives the same codes.
const seed = 1

// trainRequest is the body of POST /v1/try/{job}/train.
type trainRequest struct {
	Label   string   `json:"label"`    // column of the classes; "" means the suggested one
	Bits    int      `json:"bits"`     // 0 means those of the upload
	Ignore  []string `json:"ignore"`   // columns of numbers that are not part of the vector
	SkipBad bool     `json:"skip_bad"` // leave out rows that cannot be used
	Method  string   `json:"method"`   // whose codes to search; "" means the best
	// Features that pictures are turned into: gist320, the default, gist512 or pixels.
	Features string `json:"features"`
}

// usualFeatures of pictures; they are worth far more than pixels on photos.
const usualFeatures = "gist320"

func (w *Workshop) train(rw http.ResponseWriter, r *http.Request, j *job) (any, error) {
	var q trainRequest
	if err := readJSON(rw, r, &q); err != nil {
		return nil, err
	}
	if err := w.start(r.Context(), j, q); err != nil {
		return nil, err
	}
	return w.viewOf(j), nil
}

// start checks the request and starts training. Anything the user can fix is an error here, not later; only pictures
// are decoded in the background, since that takes time.
func (w *Workshop) start(ctx context.Context, j *job, q trainRequest) error {
	w.mu.Lock()
	if q.Label == "" {
		q.Label = j.label
	}
	if q.Bits == 0 {
		q.Bits = j.bits
	}
	w.mu.Unlock()
	if err := checkBits(q.Bits); err != nil {
		return err
	}
	if q.Method != "" && !slices.Contains(compare.Quick, q.Method) {
		return bad("no-such-method", "the method %.40q is not compared here: choose one of %s", q.Method,
			strings.Join(compare.Quick, ", "))
	}
	if err := j.checkFeatures(q.Features); err != nil {
		return err
	}
	if err := j.checkLabel(q); err != nil {
		return err
	}
	t, err := w.reserve(j)
	if err != nil {
		return err
	}
	err = w.detach(j)
	if err == nil {
		err = errors.Join(os.RemoveAll(j.indexFile()), os.RemoveAll(j.modelFile()))
	}
	if err == nil {
		err = t.prepare(ctx, q)
	}
	if err != nil {
		w.release(t, stateUploaded, "")
		return j.plain(asBad(err))
	}
	w.mu.Lock()
	j.label, j.bits = q.Label, q.Bits
	w.mu.Unlock()
	go t.run()
	return nil
}

// checkFeatures rejects features that there are not, or of what is no picture.
func (j *job) checkFeatures(name string) error {
	switch {
	case name == "":
		return nil
	case j.format != formatPictures:
		return bad("needs-pictures", "%s has no pictures to take features of", j.name)
	case !slices.Contains([]string{"gist320", "gist512", "pixels"}, name):
		return bad("no-such-features", "there are no features %.40q: choose gist320, gist512 or pixels", name)
	}
	return nil
}

// checkLabel rejects a choice of columns that cannot be learned from.
func (j *job) checkLabel(q trainRequest) error {
	if j.survey == nil {
		if j.format == formatNpy && !j.labels {
			return bad("no-labels",
				"%s has no labels yet: upload a text file with a line for each of its %d rows", j.name, j.about.Rows)
		}
		if len(q.Ignore) > 0 {
			return bad("no-columns", "%s has no columns to leave out", j.name)
		}
		return nil
	}
	names := make([]string, len(j.survey.Columns))
	for i, c := range j.survey.Columns {
		names[i] = c.Name
	}
	list := printable(strings.Join(names, ", "))
	at := slices.Index(names, q.Label)
	switch {
	case q.Label == "":
		return bad("no-label-column",
			"choose the column that holds the class of each row: %s has the columns %s", j.name, list)
	case at < 0:
		return bad("no-such-column", "%s has no column %q; it has %s", j.name, printable(q.Label), list)
	case j.survey.Columns[at].Kind == "list":
		return bad("vector-column", "the column %q holds vectors, not classes: choose another column", printable(q.Label))
	case len(q.Ignore) > 0 && !j.survey.Named:
		return bad("duplicate-column", "columns can be left out only where all have different names")
	}
	for _, name := range q.Ignore {
		if !slices.Contains(names, name) {
			return bad("no-such-column", "%s has no column %q to leave out; it has %s", j.name, printable(name), list)
		}
	}
	return nil
}

// training is a job in training.
type training struct {
	*Workshop
	job   *job
	ctx   context.Context
	began time.Time
	ask   trainRequest
	set   *dataset.Set
	part  *compare.Part // nil for pictures, which are read in the background
	model *model.Model
	notes []string // for the person

	extractor   feature.Extractor // of pictures; nil means pixels
	preparation picture.Preparation
}

// reserve makes a job the one in training.
func (w *Workshop) reserve(j *job) (*training, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.work.Err() != nil:
		return nil, problem(http.StatusServiceUnavailable, "stopping", "the service is stopping")
	case w.busy == j:
		return nil, problem(http.StatusConflict, "in-training", "%s is in training already", j.name)
	case w.busy != nil:
		wait := 10.0
		if left := w.busy.view().SecondsLeft; left != nil {
			wait = max(wait, *left)
		}
		err := fault.New("busy",
			"%s is in training, and there is room for one at a time: wait until it is done, or cancel it",
			w.busy.name)
		return nil, &failure{status: http.StatusTooManyRequests, err: err, wait: strconv.Itoa(int(wait))}
	}
	late := fault.New("too-slow",
		"the training took longer than the %v that it may take here: use fewer rows or fewer bits, or "+
			"\"hashgrove train\"", w.options.TimeLimit)
	ctx, cancel := context.WithTimeoutCause(w.work, w.options.TimeLimit, late)
	w.busy = j
	j.state, j.stage, j.message, j.progress, j.finishes = stateTraining, "Reading the data", "", 0, time.Time{}
	j.cancel, j.ended, j.result = cancel, make(chan struct{}), nil
	return &training{Workshop: w, job: j, ctx: ctx, began: time.Now()}, nil
}

// release ends a training in the given state.
func (w *Workshop) release(t *training, state, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	j := t.job
	j.cancel()
	j.state, j.message, j.stage, j.finishes, j.cancel, w.busy = state, message, "", time.Time{}, nil, nil
	close(j.ended)
}

// open returns the data of a job.
func (w *Workshop) open(j *job, q trainRequest) (*dataset.Set, error) {
	spec := dataset.Spec{Paths: []string{j.data()}, Threads: w.options.Threads, SkipBad: q.SkipBad}
	spec.SkipBad = spec.SkipBad || j.format == formatPictures // of many pictures one is always broken
	switch j.format {
	case formatPictures:
	case formatNpy:
		spec.Format, spec.LabelsFile = formatNpy, []string{j.labelsFile()}
	default:
		spec.Format, spec.Label = j.format, q.Label
	}
	set, err := dataset.Open(spec)
	if err != nil || len(q.Ignore) == 0 {
		return set, err
	}
	vector := slices.DeleteFunc(set.Columns().Vector, func(name string) bool { return slices.Contains(q.Ignore, name) })
	if len(vector) == 0 {
		return nil, fault.New("no-numbers", "no column of numbers is left to learn from: leave out fewer columns")
	}
	spec.Known = &dataset.Columns{Vector: vector}
	return dataset.Open(spec)
}

// prepare reads the data, unless they are pictures.
func (t *training) prepare(ctx context.Context, q trainRequest) (err error) {
	t.ask = q
	if t.set, err = t.open(t.job, q); err != nil || t.job.format == formatPictures {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(t.ctx, func() { stop(context.Cause(t.ctx)) })()
	return t.read(ctx)
}

// read reads the rows and checks that they can be learned from.
func (t *training) read(ctx context.Context) (err error) {
	src := vectors.Source(t.set)
	if pictures, ok := t.set.AsPictures(); ok && t.job.format == formatPictures && t.ask.Features != "pixels" {
		t.preparation = pictures.Preparation()
		if t.extractor, err = feature.Named(cmp.Or(t.ask.Features, usualFeatures), t.preparation.Shape); err != nil {
			return err
		}
		if src, err = feature.Vectors(t.extractor, pictures, t.options.Threads); err != nil {
			return err
		}
	}
	if t.part, err = compare.Read(ctx, src, nil); err != nil {
		return err
	}
	classes := 0
	if t.part.Labels != nil {
		classes = len(t.part.Labels.Names)
	}
	if classes == 0 {
		return bad("no-labels", "nothing says which rows belong together: choose a column of labels")
	}
	return checkAmount(t.part.X.Rows, classes)
}

// run trains, compares and indexes, and records how it ended.
func (t *training) run() {
	err := t.work()
	switch j := t.job; {
	case err == nil:
		t.mu.Lock()
		j.progress = 1
		t.mu.Unlock()
		t.release(t, stateDone, t.remark())
	case errors.Is(context.Cause(t.ctx), context.Canceled):
		t.release(t, stateCancelled, "")
	default:
		if cause := context.Cause(t.ctx); cause != nil {
			err = cause
		}
		t.noteFailure(err)
		t.release(t, stateFailed, j.say(err))
	}
}

// remark says which rows and columns were left out, or returns "".
func (t *training) remark() string {
	n, first := t.set.Bad()
	if n == 0 {
		return strings.Join(t.notes, " ")
	}
	what := "rows"
	if t.job.format == formatPictures {
		what = "pictures"
	}
	text := fmt.Sprintf("Left out: %d of %d %s. The first: %s.", n, t.job.about.Rows, what, t.job.say(first[0]))
	return strings.Join(append([]string{text}, t.notes...), " ")
}

func (t *training) work() (err error) {
	defer func() { // a bug triggered by one file must not end the service
		if p := recover(); p != nil {
			err = fmt.Errorf("the training met a bug (%v): please report it", p)
		}
	}()
	if t.part == nil {
		if err := t.read(t.ctx); err != nil {
			return err
		}
	}
	result, err := t.compare()
	if err != nil {
		return err
	}
	t.step(stateIndexing, "Making the index", 0.97, 0)
	collection, err := t.index()
	if err != nil {
		return err
	}
	if err := t.options.Attach(t.ctx, collection); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.job.collection, t.job.result = collection.Name, result
	return nil
}

// compare trains and compares.
func (t *training) compare() (*Result, error) {
	base, queries, err := t.part.Split(0, seed)
	if err != nil {
		return nil, err
	}
	t.part = nil // the parts have the rows
	began, models := time.Now(), map[string]*model.Model{}
	o := compare.Options{
		Methods: compare.Quick, Bits: []int{t.ask.Bits}, Unseen: -1, Seed: seed, Threads: t.options.Threads,
		Train: train.Options{Effort: fasthash.Quick, Device: t.options.Device},
		Each: func(name string, _ int, m *model.Model) {
			models[name] = m
		},
		Progress: func(p compare.Progress) {
			state, stage := stateComparing, "Comparing with other codes and with float search"
			if p.Done < t.ask.Bits {
				state, stage = stateTraining, fmt.Sprintf("Learning bit %d of %d", p.Done+1, t.ask.Bits)
			}
			left := time.Duration(0)
			if p.Done > 0 {
				left = time.Since(began) / time.Duration(p.Done) * time.Duration(p.Total-p.Done)
			}
			t.step(state, stage, 0.02+0.94*float64(p.Done)/float64(max(1, p.Total)), left)
		},
	}
	data := &compare.Data{Name: t.job.name, Base: base, Queries: queries}
	found, err := compare.Run(t.ctx, data, o)
	if err != nil {
		return nil, err
	}
	row := chosen(found, models, t.ask.Method)
	if row == nil {
		return nil, fmt.Errorf("the training failed: %s", strings.Join(found.Failures(), "; "))
	}
	if t.model = models[row.Method]; t.extractor != nil { // so that it takes pictures
		t.model.Features, t.model.Pictures = t.extractor, &t.preparation
	}
	if _, err := compare.AddDetail(t.ctx, t.model, data, o); err != nil {
		return nil, err
	}
	result := resultOf(found, row)
	result.addLook(t.model)
	t.model.Info.NewItems, t.model.Info.LearnedItems = result.NewItems, result.LearnedItems
	page := compare.Page{
		Title: "Comparison on " + t.job.name, Date: began, Machine: machine.Description(), Command: "hashgrove serve",
	}
	d, err := found.Report(data, page)
	if err == nil {
		err = report.WriteFile(t.job.reportFile(), d)
	}
	return result, err
}

// nearBest is the MAP by which other codes have to be better than FastHash to be searched in its place.
const nearBest = 0.005

// chosen returns the row of the codes to search: those of a method, or the best for new items. It is nil if they
// failed.
func chosen(r *compare.Result, models map[string]*model.Model, name string) (best *eval.Row) {
	score := func(row *eval.Row) float64 {
		if row.Method == method.FastHash {
			return row.NewItems.MAP + nearBest
		}
		return row.NewItems.MAP
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Kind != eval.KindMethod || row.Error != "" || row.NewItems == nil || row.DetailBits > 0 ||
			models[row.Method] == nil || name != "" && row.Method != name {
			continue
		}
		if best == nil || score(row) > score(best) {
			best = row
		}
	}
	return best
}

// step records the progress of training; left is 0 if unknown.
func (t *training) step(state, stage string, progress float64, left time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	j := t.job
	j.state, j.stage, j.progress, j.finishes = state, stage, max(j.progress, progress), time.Time{}
	if left > 0 {
		j.finishes = time.Now().Add(left)
	}
}
