// Package paper reproduces the tables and figures of the FastHash paper. Each experiment is a small file that lists
// what to run and what the paper reports; its result is docs/results/NAME.md, with date, machine and command.
//
// Every stage (features, model, row of the table) is kept in the cache under the digest of its inputs, so an interrupted
// experiment resumes where it stopped, and a changed one repeats only the stages that the change affects.
package paper

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hashgrove/internal/section"
)

// Experiment is one table or figure.
type Experiment struct {
	Name  string // on the command line
	About string // one sentence
	Run   func(ctx context.Context, lab *Lab) (*Table, error)
}

// All are the experiments: those of each data set in the order of the paper, then what stands in for the largest.
var All = slices.Concat([]Experiment{CIFAR10Features}, of(cifar10), of(iaprTC12), of(espGame), of(mirFlickr), []Experiment{SUN397, step1(sun397), SUN397Size, step1(sizes)})

// of are the experiments that the paper has for a data set.
func of(c collection) []Experiment {
	return []Experiment{anchors(c), step1(c), methods(c), reduced(c), longCodes(c), steps(c), retrieval(c), unsupervised(c)}
}

// Find returns the experiment of the given name.
func Find(name string) (Experiment, error) {
	var names []string
	for _, e := range All {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return Experiment{}, fmt.Errorf("there is no experiment %q; the experiments are %s", name, strings.Join(names, ", "))
}

// Lab is where an experiment runs.
type Lab struct {
	Data    string   // folder with the data sets
	Cache   string   // folder for the stages
	Short   bool     // a small version on built-in pictures, in seconds
	Methods []string // run these alone; rows of others show what the cache has; nil means all
	Threads int
	Seed    uint64
	Say     func(format string, args ...any) // progress; never nil

	idle   bool                // make no stage: take what is in the cache
	opened map[string][2]split // the parts of collections opened before, by name
}

// errNotRun is the error of a stage that an idle lab would have to make.
var errNotRun = errors.New("not run yet")

// key is the digest of the inputs of a stage.
func key(inputs ...any) string {
	b, err := json.Marshal(inputs)
	if err != nil {
		panic("paper: inputs of a stage do not marshal: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// file is a stage that leaves a file: it is made once for its key. The name is for people.
func (lab *Lab) file(name, key, suffix string, make func(path string) error) (string, error) {
	path := filepath.Join(lab.Cache, name+"-"+key+suffix)
	if _, err := os.Stat(path); err == nil {
		lab.Say("%s: in the cache", name)
		return path, nil
	}
	if lab.idle {
		return "", errNotRun
	}
	if err := os.MkdirAll(lab.Cache, 0o777); err != nil {
		return "", err
	}
	began := time.Now()
	if err := make(path); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	lab.Say("%s: %.1f s", name, time.Since(began).Seconds())
	return path, nil
}

// value is a stage that leaves a small value.
func value[T any](lab *Lab, name, key string, make func() (T, error)) (v T, err error) {
	path, err := lab.file(name, key, ".json", func(path string) error {
		v, err := make()
		if err != nil {
			return err
		}
		return section.WriteFile(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(v) })
	})
	if err != nil {
		return v, err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(b, &v)
}

// digest is the digest of files, to tell inputs apart by what is in them.
func digest(paths ...string) (string, error) {
	h := sha256.New()
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return "", missing(path, err)
		}
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// missing says what to do about a file of a data set that is not there; other errors stay as they are.
func missing(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not there; put the data set where --data says (see \"hashgrove help experiment\")", path)
	}
	return err
}
