package fasthash

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/fault"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Training on more rows than memory. What grows with the rows is the quantised columns, a byte for each value, and some
// thirty to a hundred bytes for each row. With Run.Memory all of it that is read and written in order lies in mapped
// files, trees are grown by sweeps over the rows (boost/stream.go), and the model is the same, byte for byte.

// Need is what a training takes of memory.
type Need struct {
	Rows, Columns int
	Parts         []Part
}

// Part is something that takes memory.
type Part struct {
	What  string
	Bytes int64
	In    Place
}

// Place says where a part may lie.
type Place int

// The places.
const (
	Always Place = iota // in memory
	Near                // in memory if there is room, else in a file
	File                // in a file, or in memory if all is
	Listed              // in memory if all is; not needed otherwise
)

// Memory is the bytes with everything in memory.
func (n Need) Memory() int64 { return n.sum(Always, Near, File, Listed) }

// Least is the bytes of memory that are needed with files.
func (n Need) Least() int64 { return n.sum(Always) }

// Files is the bytes on the disk, at most.
func (n Need) Files() int64 { return n.sum(Near, File) }

func (n Need) sum(places ...Place) (bytes int64) {
	for _, p := range n.Parts {
		if slices.Contains(places, p.In) {
			bytes += p.Bytes
		}
	}
	return bytes
}

// String is the sum of what must be in memory: "labels 50 MB + ... = 290 MB".
func (n Need) String() string {
	var terms []string
	for _, p := range n.Parts {
		if p.In == Always && p.Bytes > 0 {
			terms = append(terms, fmt.Sprintf("%s %.0f MB", p.What, float64(p.Bytes)/1e6))
		}
	}
	return fmt.Sprintf("%s = %.0f MB", strings.Join(terms, " + "), float64(n.Least())/1e6)
}

// fixedBytes is for what does not grow with the rows: the program, what is read at a time, a sample of the rows; and
// cacheBytes is for what the system keeps of files, without which all would stand still.
const fixedBytes, cacheBytes = 96 << 20, 64 << 20

// idBytes is what an id takes, roughly, with the table that finds ids that occur twice.
const idBytes = 120

// Need estimates what a training from these rows takes; the options have their effort and number of bits.
func (t Options) Need(d *supervision.Data, validation bool) (Need, error) {
	t, err := t.ForData(d.Rows)
	if err != nil {
		return Need{}, err
	}
	n := Need{Rows: d.Rows, Columns: d.Dim()}
	put := func(what string, in Place, perRow float64) {
		n.Parts = append(n.Parts, Part{what, int64(perRow * float64(d.Rows)), in})
	}
	labels, validated := 4.0, 0.0
	if l := d.Labels; l != nil && len(l.Names) <= 1<<8 {
		labels = 1
	}
	if validation {
		validated = 1
	}
	put("labels", Always, labels)
	put("rows held out", Always, validated)
	put("marks of rows", Always, 0.5)
	if d.IDs != nil {
		put("ids", Always, idBytes)
	}
	if t.Candidates > 1 {
		put("an order of the rows", Always, 4)
	}
	histograms := min(int64(d.Dim())<<(t.Trees.Depth-1)*4*vectors.Bins, 64<<20)
	n.Parts = append(n.Parts, Part{"histograms", histograms, Always}, Part{"fixed", fixedBytes, Always},
		Part{"cache", cacheBytes, Always})

	put("masses and nodes", Near, 5)
	put("weights of trees", Near, 8)
	put("columns", File, float64(d.Dim()))
	put("classes, groups and bits of Step 1", File, 4+4+1+float64(float64(t.Bits)/8))
	put("hashes of rows", File, 8)
	put("weights of Step 1", File, 8)
	put("outputs", File, 1)
	if t.Candidates > 1 {
		put("candidates", File, 8+float64(t.Candidates))
	}
	if validation {
		put("parts of rows", File, 3+4+8)
	}
	if t.Trees.Boost == boost.Logistic {
		put("scores", Near, 4)
	} else {
		put("answers of trees", File, float64(t.Trees.Rounds)/8)
	}
	put("lists of rows by node", Listed, 16+12)
	if t.wantsColumns() {
		put("linear columns and their folds", Listed, 40+2*maxScores*5)
	}
	return n, nil
}

// ErrNeedsMemory is the error of options that a training on more rows than memory cannot have.
var ErrNeedsMemory = errors.New("it needs all rows in memory")

// checkMemory reports options, all filled in, for which what grows with the rows must be in memory.
func (t *training) checkMemory(kind string) error {
	if t.Memory == nil {
		return nil
	}
	refuse := func(code fault.Code, what string) error { return fault.New(code, "%s: %w", what, ErrNeedsMemory) }
	switch {
	case kind != supervision.ByClasses:
		return refuse("supervision", "learning from "+kind)
	case t.Similar.SampleSimilar > 0 || t.Similar.SampleDissimilar > 0:
		return refuse("sample", "a sample of pairs")
	case t.Learner != Trees:
		return refuse("learner", "the learner "+string(t.Learner))
	case t.Order == TSH:
		return refuse("order", "the order "+string(t.Order))
	case t.Inference.Method == inference.ICM:
		return refuse("inference", "inference by "+string(inference.ICM))
	case t.wantsColumns():
		return refuse("linear-columns", "linear columns")
	case t.Grow != nil && t.Grow.Encoder.Kind() != string(t.Learner):
		return refuse("growing", "growing a model with linear columns")
	case t.CrossFit != 0:
		return refuse("cross-fit", "cross-fitting")
	case t.Patience > 0:
		return refuse("patience", "patience")
	case t.Trees.NodeRows > 0:
		return refuse("node-rows", "drawing rows for each node")
	case t.Trees.EarlyStop > 0:
		return refuse("early-stop", "early stopping")
	}
	return nil
}
