package workshop

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hashgrove/internal/dataset"
)

// The states of a job.
const (
	stateUploaded  = "uploaded"
	stateTraining  = "training"
	stateComparing = "comparing"
	stateIndexing  = "indexing"
	stateDone      = "done"
	stateFailed    = "failed"
	stateCancelled = "cancelled"
)

// Job is an upload and its state, as the API shows it.
type Job struct {
	ID     string `json:"id"`
	Name   string `json:"name"`   // of the file
	Format string `json:"format"` // "csv", "tsv", "jsonl", "npy" or "pictures"
	State  string `json:"state"`

	Rows    int        `json:"rows"`
	Dims    int        `json:"dims,omitempty"` // of an npy file
	Columns []Column   `json:"columns,omitempty"`
	Sample  [][]string `json:"sample,omitempty"` // the first rows, a text for each column
	Classes []Class    `json:"classes,omitempty"`
	// LabelsNeeded says that POST /v1/try/{job}/labels must come before training.
	LabelsNeeded bool `json:"labels_needed,omitempty"`

	Label string `json:"label,omitempty"` // the column that was chosen, or is suggested
	Bits  int    `json:"bits"`

	Message     string   `json:"message,omitempty"` // why it failed, or a remark
	Stage       string   `json:"stage,omitempty"`   // what is being done
	Progress    float64  `json:"progress"`
	SecondsLeft *float64 `json:"seconds_left"`
	Collection  string   `json:"collection,omitempty"` // once it can be searched
	Result      *Result  `json:"result,omitempty"`
}

// Column is a column of an upload, with a suggested use.
type Column struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"` // "number", "text" or "list"
	Distinct int    `json:"distinct"`
	More     bool   `json:"more,omitempty"`  // there are more distinct values than were counted
	Empty    int    `json:"empty,omitempty"` // rows without a value
	Suggest  string `json:"suggest"`         // "label", "id", "vector" or "ignore"
}

// Class is a class of pictures.
type Class struct {
	Label string `json:"label"`
	Count int    `json:"count"`
}

// job is an upload. The workshop's mutex guards what changes after the upload.
type job struct {
	number int
	name   string // of the file, for people
	dir    string // of everything about it
	format string
	about  Job               // what the upload says
	survey *dataset.Survey   // of a table
	files  map[string]string // of pictures: by id, the path in the zip

	labels bool // a file of labels has arrived
	label  string
	bits   int

	state, message, stage string
	progress              float64
	finishes              time.Time // as estimated; zero when unknown
	cancel                context.CancelFunc
	ended                 chan struct{} // closed when the training has ended
	collection            string
	result                *Result
}

// data returns the file or folder of the vectors or pictures.
func (j *job) data() string {
	if j.format == formatPictures {
		return filepath.Join(j.dir, "pictures")
	}
	return filepath.Join(j.dir, "data")
}

func (j *job) labelsFile() string { return filepath.Join(j.dir, "labels.txt") }
func (j *job) indexFile() string  { return filepath.Join(j.dir, "index.hgi") }
func (j *job) modelFile() string  { return filepath.Join(j.dir, "model.hgm") }
func (j *job) reportFile() string { return filepath.Join(j.dir, "report.html") }

// view returns the job as the API shows it.
func (j *job) view() Job {
	v := j.about
	v.ID, v.Name, v.Format, v.State = strconv.Itoa(j.number), j.name, j.format, j.state
	v.Label, v.Bits, v.LabelsNeeded = j.label, j.bits, j.format == formatNpy && !j.labels
	v.Message, v.Stage, v.Progress, v.Collection, v.Result = j.message, j.stage, j.progress, j.collection, j.result
	if !j.finishes.IsZero() {
		left := max(0, time.Until(j.finishes).Round(100*time.Millisecond).Seconds())
		v.SecondsLeft = &left
	}
	return v
}

// say turns an error into a message for the user, who knows the name of the file but no paths.
func (j *job) say(err error) string {
	text := err.Error()
	for _, r := range [][2]string{
		{j.labelsFile(), "the labels"}, {j.data() + "/", ""}, {j.data(), j.name}, {j.dir, "the upload"},
	} {
		text = strings.ReplaceAll(text, r[0], r[1])
	}
	for own, original := range j.files { // show pictures under the names that users know
		if strings.HasPrefix(text, own) {
			return printable(original) + strings.TrimPrefix(text, own)
		}
	}
	return text
}
