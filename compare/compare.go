// Package compare trains several methods on one data set, judges them side by side between floors and ceilings, and says
// in words what follows.
//
//	Read, Split   files -> Data: a base to learn from and to search in, and queries
//	Run           Data, Options -> Result: a row for each method and code length
//	Advise        Result -> sentences (advice.go holds the rules)
//	Result.CSV, Markdown, Benchmark, Report: the same numbers in other forms
//
// One run is a list of tasks, each a training and its rows:
//
//	for each task
//		train        on the base                                       FastHash once, at the longest length: its
//		                                                               bits are stage-wise, so prefixes are the rest
//		encode       the base, and the queries on one core, timed
//		judge        package eval, with ties counted fairly
//		again        without some classes, judged among them alone
//		keep         the rows in the work folder
//
// A task that fails leaves its error in its row, and the others go on. Everything but seconds and microseconds is a
// function of data, options and seed.
package compare

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"hashgrove/eval"
	"hashgrove/fasthash"
	"hashgrove/hamming"
	"hashgrove/model"
	"hashgrove/report"
)

// Options say what to compare. The zero value compares the quick methods at 16, 32, 64 and 128 bits.
type Options struct {
	Methods []string // names as Names lists them; nil means Quick; "all" means all
	Bits    []int    // code lengths; nil means 16, 32, 64 and 128
	PCA     int      // dimensions that principal components reduce the vectors to before any method; 0 means none
	Unseen  int      // classes kept out of a second training; 0 means a quarter of them, negative none
	Seed    uint64

	FastHash fasthash.Options // options of FastHash; Bits, Seed and Threads come from above

	Work    string // folder that keeps finished rows and unfinished trainings; "" keeps nothing
	Restart bool   // do not use what the folder holds

	Threads  int                                           // 0 means all cores; changes times, nothing else
	Progress func(Progress)                                // called by one goroutine; may be nil
	Each     func(method string, bits int, m *model.Model) // called with every model that was trained on the whole base; may be nil
}

// Progress tells how far a run is, in steps of roughly equal length.
type Progress struct {
	Done, Total int
	Kept        int    // steps that an earlier run did; they are within Done
	Note        string // what was finished just now; "" between the ends of tasks
}

// Kind tells methods from the marks that they are measured against.
type Kind string

// The kinds of rows.
const (
	Method  Kind = "method"
	Floor   Kind = "floor"   // nothing clever: random codes, signs of the centred features
	Ceiling Kind = "ceiling" // no code of the length asked for: float search, the output of a classifier
)

// Row is one method at one code length.
type Row struct {
	Method     string `json:"method"`
	Kind       Kind   `json:"kind"`
	Supervised bool   `json:"supervised"`
	Bits       int    `json:"bits"` // of a code; of a float vector, 32 for each dimension
	Bytes      int    `json:"bytes_per_item"`
	Error      string `json:"error,omitempty"` // why there are no numbers

	MAP          float64 `json:"map"` // expected over the order of ties, as eval.Report has it
	MAPLow       float64 `json:"map_low"`
	MAPHigh      float64 `json:"map_high"`
	Precision100 float64 `json:"precision_100"`
	PRArea       float64 `json:"pr_area"`
	MAP10000     float64 `json:"map_10000"` // the paper's convention
	PRArea10000  float64 `json:"pr_area_10000"`
	UnseenMAP    float64 `json:"unseen_map"` // among classes that training did not see; 0 when not measured

	TrainSeconds       float64 `json:"train_seconds"`
	EncodeMicroseconds float64 `json:"encode_microseconds"` // for one vector on one core
	SearchMicroseconds float64 `json:"search_microseconds"` // for the distances of one query to the whole base on one core

	DistinctCodes int  `json:"distinct_codes"`
	LargestBucket int  `json:"largest_bucket"`
	Recommended   bool `json:"recommended"`

	PerClass       []eval.Class      `json:"per_class,omitempty"`
	PRCurve        []eval.PRPoint    `json:"pr_curve,omitempty"`
	PrecisionCurve []eval.CurvePoint `json:"precision_curve,omitempty"`
	Objective      []float64         `json:"objective,omitempty"` // after each bit of FastHash
	Searches       []Search          `json:"searches,omitempty"`
	Confusions     []Confusion       `json:"confusions,omitempty"`
	Warnings       []string          `json:"warnings,omitempty"`
	Usage          report.Usage      `json:"-"`
}

// Search is one query and the base items nearest to it, by row; distances are in bits.
type Search struct {
	Query     int   `json:"query"`
	Items     []int `json:"items"`
	Distances []int `json:"distances"`
}

// Confusion is the share of a class among the ten nearest items of queries of another class.
type Confusion struct {
	Query string  `json:"query"`
	Found string  `json:"found"`
	Share float64 `json:"share"`
}

// Result is a finished comparison.
type Result struct {
	Version  string   `json:"version"`
	Data     Summary  `json:"data"`
	Bits     []int    `json:"bits"`
	PCA      int      `json:"pca,omitempty"`
	Seed     uint64   `json:"seed"`
	Rows     []Row    `json:"rows"`
	Advice   []Advice `json:"advice"`
	Warnings []string `json:"warnings"`
	Kept     int      `json:"kept_rows"` // rows of an earlier run
	Seconds  float64  `json:"seconds"`
}

// Summary says what the comparison was made on.
type Summary struct {
	Name    string   `json:"name"`
	Base    int      `json:"base"`
	Queries int      `json:"queries"`
	Dim     int      `json:"dim"`
	Classes int      `json:"classes"` // 0 with tags
	Similar string   `json:"similar"`
	HeldOut []string `json:"held_out"` // classes of UnseenMAP
	Digest  string   `json:"digest"`
}

// Check reports options that cannot be, before any data are read.
func (o Options) Check() error {
	_, err := o.withDefaults()
	return err
}

func (o Options) withDefaults() (Options, error) {
	if o.Methods == nil {
		o.Methods = Quick
	}
	if slices.Equal(o.Methods, []string{"all"}) {
		o.Methods = Names()
	}
	for i, name := range o.Methods {
		if !slices.Contains(Names(), name) {
			return o, fmt.Errorf("there is no method %q; the methods are %s, or all", name, strings.Join(Names(), ", "))
		}
		if slices.Contains(o.Methods[:i], name) {
			return o, fmt.Errorf("the method %s is named twice", name)
		}
	}
	if len(o.Bits) == 0 {
		o.Bits = []int{16, 32, 64, 128}
	}
	o.Bits = slices.Clone(o.Bits)
	slices.Sort(o.Bits)
	o.Bits = slices.Compact(o.Bits)
	if o.Bits[0] < 1 || o.Bits[len(o.Bits)-1] > hamming.MaxBits {
		return o, fmt.Errorf("codes of %d to %d bits asked for; a code has 1 to %d", o.Bits[0], o.Bits[len(o.Bits)-1], hamming.MaxBits)
	}
	if o.PCA < 0 {
		return o, fmt.Errorf("%d principal components: give a positive number, or 0 for none", o.PCA)
	}
	_, err := o.FastHash.WithDefaults()
	return o, err
}

// Run compares. When ctx ends, the work folder holds every finished task and the bits of an unfinished FastHash; the same
// call goes on from there.
func Run(ctx context.Context, data *Data, o Options) (*Result, error) {
	began := time.Now()
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := data.check(); err != nil {
		return nil, err
	}
	s, err := newStage(ctx, data, o)
	if err != nil {
		return nil, err
	}
	if o.Work != "" {
		if err := os.MkdirAll(o.Work, 0o777); err != nil { // now, not after the first hour
			return nil, fmt.Errorf("the folder for finished methods: %w", err)
		}
	}
	tasks, rows := s.tasks(), map[int][]Row{}
	result := &Result{Version: model.Version, Data: s.summary(), Bits: o.Bits, PCA: o.PCA, Seed: o.Seed}
	for i, t := range tasks {
		s.progress.Total += t.steps
		if kept, ok := s.recall(t); ok {
			rows[i] = kept
			s.progress.Kept += t.steps
			result.Kept += len(kept)
		}
	}
	s.progress.Done = s.progress.Kept
	s.tell("")
	for i, t := range tasks {
		if rows[i] != nil {
			continue
		}
		until := s.progress.Done + t.steps
		made, err := s.attempt(ctx, t)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", t.title(), context.Cause(ctx))
		}
		if err != nil {
			made = t.failed(err)
		} else if err := s.keep(t, made); err != nil {
			return nil, err
		}
		rows[i] = made
		s.progress.Done = until
		s.tell(t.outcome(made))
	}
	for i := range tasks {
		result.Rows = append(result.Rows, rows[i]...)
	}
	result.Warnings = s.warnings(result.Rows)
	result.Advice = Advise(result)
	result.Seconds = time.Since(began).Seconds()
	return result, nil
}

// attempt runs a task. A panic is a fault of one method, and hours of others' work must not go with it.
func (s *stage) attempt(ctx context.Context, t *task) (rows []Row, err error) {
	defer func() {
		if p := recover(); p != nil {
			text, _, _ := strings.Cut(fmt.Sprint(p), "\n") // the rest is a stack
			err = fmt.Errorf("a fault of the method: %s", text)
		}
	}()
	return t.run(ctx)
}

// tell reports progress.
func (s *stage) tell(note string) {
	if s.o.Progress != nil {
		p := s.progress
		p.Note = note
		s.o.Progress(p)
	}
}

// step counts one step within a task.
func (s *stage) step() {
	s.progress.Done++
	s.tell("")
}

// warnings collects the doubts about the data: those that came with them, and those that most rows share.
func (s *stage) warnings(rows []Row) []string {
	list := append(slices.Clone(s.data.Base.Warnings), s.notes...)
	for _, w := range s.data.Queries.Warnings {
		learning := strings.HasSuffix(w, " constant") || strings.HasSuffix(w, " a single row") // nobody learns from queries
		if !learning && !slices.Contains(list, w) {
			list = append(list, "queries: "+w)
		}
	}
	count := map[string]int{}
	for _, r := range rows {
		for _, w := range r.Warnings {
			if count[w]++; count[w] == len(rows)/2+1 {
				list = append(list, w)
			}
		}
	}
	return list
}

// Find lends the row of a method at a code length, or nil. Bits 0 finds the method's first row.
func (r *Result) Find(method string, bits int) *Row {
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Method == method && (bits == 0 || row.Bits == bits) {
			return row
		}
	}
	return nil
}
