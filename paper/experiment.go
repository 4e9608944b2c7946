package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hashgrove/internal/compare/report"
	"hashgrove/internal/fileio"
	"hashgrove/internal/message"
	"hashgrove/internal/par"
)

// Experiment is one table or figure.
type Experiment struct {
	Name  string // on the command line
	About string // one sentence
	Run   func(ctx context.Context, runner *Runner) (*Table, error)
}

// all lists the experiments: those of each data set in the order of the paper.
var all = []Experiment{
	cifar10Features(), kshTable(cifar10), step1Table(cifar10), methodsTable(cifar10), rankingsTable(cifar10),
	pcaTable(cifar10), cifar10Bits(), cifar10Inference(), cifar10Curves(), cifar10Unsupervised(),
	kshTable(iaprTC12), step1Table(iaprTC12), methodsTable(iaprTC12), rankingsTable(iaprTC12), pcaTable(iaprTC12),
}

// find returns the experiment with the given name.
func find(name string) (Experiment, error) {
	var names []string
	for _, e := range all {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return Experiment{}, message.New("no-such-experiment", "there is no experiment %q; the experiments are %s", name,
		strings.Join(names, ", "))
}

// Runner runs experiments.
type Runner struct {
	Data    string   // folder with the data sets
	Cache   string   // folder for the stages
	Short   bool     // a small version on built-in pictures, in seconds
	Methods []string // of a table of methods: run only rows of these; nil means all
	Rows    []int    // of a table of methods: run only these rows, counted from 1; nil means all
	Threads int
	Seed    uint64
	Say     func(format string, args ...any) // progress; never nil

	opened map[string][2]split // the parts of opened collections by name
}

// path returns the path of a stage's file, without extension. The name is for people; the key identifies the stage.
func (runner *Runner) path(name, key string) string { return filepath.Join(runner.Cache, name+"-"+key) }

// file makes a stage that leaves a file, once for each key.
func (runner *Runner) file(name, key, suffix string, make func(path string) error) (string, error) {
	path := runner.path(name, key) + suffix
	_, err := os.Stat(path)
	return path, runner.stage(name, err == nil, func() error { return make(path) })
}

// value makes a stage that leaves a small value.
func value[T any](runner *Runner, name, key string, make func() (T, error)) (T, error) {
	path := runner.path(name, key) + ".json"
	var v T
	text, err := os.ReadFile(path)
	cached := err == nil && json.NewDecoder(bytes.NewReader(text)).Decode(&v) == nil
	err = runner.stage(name, cached, func() (err error) {
		if v, err = make(); err != nil {
			return err
		}
		return fileio.WriteFile(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(v) })
	})
	return v, err
}

// keyOf returns a digest of the inputs of a stage.
func keyOf(inputs ...any) string {
	text, err := json.Marshal(inputs)
	if err != nil {
		panic("paper: inputs do not marshal: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// inCache is the message about a cached stage.
const inCache = "%s: in the cache"

// stage makes a stage unless it is cached, and reports it.
func (runner *Runner) stage(name string, cached bool, make func() error) error {
	if cached {
		runner.Say(inCache, name)
		return nil
	}
	if err := os.MkdirAll(runner.Cache, 0o777); err != nil {
		return err
	}
	began := time.Now()
	if err := make(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	runner.Say("%s: %.1f s", name, time.Since(began).Seconds())
	return nil
}

// Table is the result of an experiment.
type Table struct {
	Title    string
	Note     string // what the columns mean and what differs from the paper
	Head     []string
	Rows     [][]string
	Failures []string // why each failed row failed
	Figures  []figure `json:"-"`

	values []result // behind the rows, if they are results
}

// figure is a plot of the table.
type figure struct {
	Name string // of its file, without an ending
	Plot report.Lines
}

// Markdown writes the table and how it was made. Figures are links to files beside it; see WriteFigures.
func (t *Table) Markdown(w io.Writer, command string, now time.Time) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s, %s, `%s`\n\n", t.Title, now.Format("2006-01-02"), par.Description(), command)
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(t.Head, " | "), strings.Repeat("---|", len(t.Head)))
	for _, row := range t.Rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	fmt.Fprintf(&b, "\n%s\n", t.Note)
	if len(t.Failures) > 0 {
		fmt.Fprintf(&b, "\nFailed:\n\n- %s\n", strings.Join(t.Failures, "\n- "))
	}
	for _, f := range t.Figures {
		fmt.Fprintf(&b, "\n![%s](%s.svg)\n", f.Plot.Title, f.Name)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteFigures writes the figures as SVG files into a folder.
func (t *Table) WriteFigures(dir string) error {
	for _, f := range t.Figures {
		err := fileio.WriteFile(filepath.Join(dir, f.Name+".svg"), func(w io.Writer) error {
			_, err := io.WriteString(w, f.Plot.SVG(""))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// number formats a value, or a dash if there is none.
func number(format string, v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}
