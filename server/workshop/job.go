package workshop

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hashgrove/internal/dataset"
)

// The states of a job.
const (
	stateUploaded  = "uploaded"
	stateTraining  = "training"
	stateDone      = "done"
	stateFailed    = "failed"
	stateCancelled = "cancelled"
)

// The formats of an upload that are not tables.
const (
	formatNpy      = "npy"
	formatPictures = "pictures"
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
	Sample  [][]string `json:"sample,omitempty"`  // the first rows, a text for each column
	Classes int        `json:"classes,omitempty"` // of pictures
	// LabelsNeeded says that POST /v1/try/{job}/labels must come before training.
	LabelsNeeded bool `json:"labels_needed,omitempty"`

	Label string `json:"label,omitempty"` // the column that was chosen, or is suggested
	Bits  int    `json:"bits"`

	Message    string  `json:"message,omitempty"` // why it failed, or a remark
	Stage      string  `json:"stage,omitempty"`   // what is being done
	Progress   float64 `json:"progress"`
	Collection string  `json:"collection,omitempty"` // once it can be searched
}

// Column is a column of an upload.
type Column struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`     // "number", "text" or "list"
	Distinct int    `json:"distinct"` // up to dataset.MostDistinct
}

// job is an upload. The workshop's mutex guards what changes after the upload.
type job struct {
	Job
	dir string // of everything about it

	cancel context.CancelFunc // of the training, while there is one
	ended  chan struct{}      // closed when the training has ended
}

// data returns the file of the vectors or pictures.
func (j *job) data() string {
	if j.Format == formatPictures {
		return filepath.Join(j.dir, "pictures.tar")
	}
	ending := strings.ToLower(filepath.Ext(j.Name))
	if ending != ".csv" && ending != ".tsv" { // which a line with commas and tabs may need
		ending = ""
	}
	return filepath.Join(j.dir, "data"+ending)
}

func (j *job) labelsFile() string { return filepath.Join(j.dir, "labels.txt") }
func (j *job) indexFile() string  { return filepath.Join(j.dir, "index.hgi") }

// spec says how to read the data, with or without what cannot be read.
func (j *job) spec(skipBad bool) dataset.Spec {
	s := dataset.Spec{Paths: []string{j.data()}, Label: j.Label, SkipBad: skipBad}
	if j.Format != formatPictures {
		s.Format = j.Format
	}
	if j.Format == formatNpy && !j.LabelsNeeded {
		s.LabelsFile = []string{j.labelsFile()}
	}
	return s
}

// isScalar reports whether there is such a column, and whether it can be a class or an attribute.
func (j *job) isScalar(name string) bool {
	return slices.ContainsFunc(j.Columns, func(c Column) bool { return c.Name == name && c.Kind != "list" })
}

// say turns an error into a message for the user, who knows the name of the file but no paths.
func (j *job) say(err error) string {
	return strings.NewReplacer(j.labelsFile(), "the labels", j.data()+string(os.PathSeparator), "", j.data(), j.Name,
		j.dir, "the upload").Replace(err.Error())
}

// bad returns an error for data that cannot be used.
func (j *job) bad(err error) error { return bad("%s", j.say(err)) }
