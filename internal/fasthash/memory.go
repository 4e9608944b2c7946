package fasthash

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/message"
	"hashgrove/internal/par"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Training on more rows than memory. What grows with the rows is the quantised columns, a byte per value, and some
// thirty to a hundred bytes per row. With Run.Spill everything that is read and written in order goes to mapped files,
// and the model is the same, byte for byte. The nodes of a level go over a few columns together, from the first row to
// the last, so every level reads the file of the columns once.

// Need lists what a training needs in memory.
type Need struct {
	Rows, Columns int
	Parts         []Part
}

// Part is one item of a Need.
type Part struct {
	What  string
	Bytes int64
	In    Location
}

// Location says where a part may be stored.
type Location int

// The locations.
const (
	InMemory     Location = iota // in memory
	MemoryOrFile                 // in memory if it fits, else in a file
	InFile                       // in a file, or in memory if everything is
	WithoutFiles                 // in memory if everything is; not needed otherwise
	WithFiles                    // in memory unless everything is
)

// Memory returns the bytes needed with everything in memory.
func (n Need) Memory() int64 { return n.sum(InMemory, MemoryOrFile, InFile, WithoutFiles) }

// Least returns the bytes of memory needed with files.
func (n Need) Least() int64 { return n.sum(InMemory, WithFiles) }

// Files returns the bytes on disk, at most.
func (n Need) Files() int64 { return n.sum(MemoryOrFile, InFile) }

func (n Need) sum(locations ...Location) (bytes int64) {
	for _, p := range n.Parts {
		if slices.Contains(locations, p.In) {
			bytes += p.Bytes
		}
	}
	return bytes
}

// String spells out what must be in memory: "labels 50 MB + ... = 290 MB". Parts that round to nothing are left out.
func (n Need) String() string {
	var terms []string
	for _, p := range n.Parts {
		if (p.In == InMemory || p.In == WithFiles) && p.Bytes >= 500_000 {
			terms = append(terms, fmt.Sprintf("%s %.0f MB", p.What, float64(p.Bytes)/1e6))
		}
	}
	return fmt.Sprintf("%s = %.0f MB", strings.Join(terms, " + "), float64(n.Least())/1e6)
}

// fixedBytes covers what does not grow with the rows: the program, the rows read at a time, a sample of the rows.
// cacheBytes covers what the system caches of files, without which training would stall, beside the columns that the
// nodes of a level go over together. While everything fits, the
// garbage of reading is collected late: some chunks of readBytes.
const (
	fixedBytes, cacheBytes = 96 << 20, 64 << 20
	cachedColumns          = 8
	readBytes, readChunks  = 64 << 20, 6
)

// idBytes is the rough size of an id, with the table that finds repeated ids.
const idBytes = 120

// Need estimates what training on these rows needs; effort and number of bits must be set in the options.
func (t Options) Need(d *supervision.Data, validation bool) (Need, error) {
	t, err := t.ForData(d.Rows)
	if err != nil {
		return Need{}, err
	}
	n := Need{Rows: d.Rows, Columns: d.Dim()}
	put := func(what string, in Location, perRow float64) {
		n.Parts = append(n.Parts, Part{what, int64(perRow * float64(d.Rows)), in})
	}
	labels, validated := 4.0, 0.0
	if l := d.Labels; l != nil && len(l.Names) <= 1<<8 {
		labels = 1
	}
	if validation {
		validated = 1
	}
	put("labels", InMemory, labels)
	put("rows held out", InMemory, validated)
	put("marks of rows", InMemory, 0.5)
	if d.IDs != nil {
		put("ids", InMemory, idBytes)
	}
	if t.Candidates > 1 {
		put("an order of the rows", InMemory, 4)
	}
	histograms := min(int64(d.Dim())<<(t.Trees.Depth-1)*4*vectors.Bins, 64<<20)
	n.Parts = append(n.Parts, Part{"histograms", histograms, InMemory}, Part{"fixed", fixedBytes, InMemory},
		Part{"cache", cacheBytes + cachedColumns*int64(d.Rows), WithFiles},
		Part{"rows as they are read", readChunks * min(int64(d.Rows)*int64(d.Dim())*4, readBytes), WithoutFiles})

	put("masses", MemoryOrFile, 4)
	put("lists of rows by node", MemoryOrFile, 16+12)
	put("weights of trees", MemoryOrFile, 8)
	put("columns", InFile, float64(d.Dim()))
	put("classes, groups and bits of Step 1", InFile, 4+4+1+float64(float64(t.Bits)/8))
	put("hashes of rows", InFile, 8)
	put("weights of Step 1", InFile, 8)
	put("outputs", InFile, 1)
	if t.Candidates > 1 {
		put("candidates", InFile, 8+float64(t.Candidates))
		n.Parts = append(n.Parts, Part{"candidates at the same time", t.sideBytes(d), WithoutFiles})
	}
	if validation {
		put("parts of rows", InFile, 3+4+8)
	}
	if t.Trees.Boost == boost.Logistic {
		put("scores and leaves", MemoryOrFile, 5)
	} else {
		put("answers of trees", InFile, float64(t.Trees.Rounds)/8)
	}
	if t.wantsColumns() {
		put("linear columns and their folds", WithoutFiles, 40+2*maxScores*5)
		n.Parts = append(n.Parts, Part{"fits of linear columns", t.fitBytes(d.Rows, d.Dim()), WithoutFiles})
	}
	return n, nil
}

// sideBytes returns the bytes that Step 1 needs to infer candidates of a bit at the same time: the sums of the classes,
// and for each candidate the signs, and the scratch memory and cut of the largest class.
func (t Options) sideBytes(d *supervision.Data) int64 {
	largest := int64(d.Rows)
	if l := d.Labels; l != nil {
		largest = int64(slices.Max(append(l.Counts(), 0)))
	}
	nodes := min(largest, inference.OwnNodes)
	side := int64(inference.SideBySide(t.Threads, t.Candidates))
	return 8*int64(d.Rows) + side*(int64(d.Rows)+40*largest+120*nodes+nodes*nodes/4)
}

// fitBytes returns the bytes of the largest cross-validated fit of added columns: its rows, and the systems of all
// folds, of which every thread solves one.
func (t Options) fitBytes(rows, dim int) int64 {
	side := min(dim, maxSumSide)
	if t.Learner == Scores || t.LinearColumns == KernelScores || t.LinearColumns == KernelAuto {
		side = t.anchors(dim)
	}
	n, wide, threads := int64(min(rows, side)), int64(side), int64(min(par.Threads(t.Threads), 2*scoreFolds))
	return 4 * (min(int64(rows), regressRows)*wide + n*n*(scoreFolds+2*threads))
}

// ErrNeedsMemory reports options that do not allow training on more rows than memory.
var ErrNeedsMemory = errors.New("it needs all rows in memory")

// checkMemory reports options, all filled in, that need everything that grows with the rows in memory.
func (t *training) checkMemory(d *supervision.Data) error {
	if t.Spill == nil {
		return nil
	}
	kind := d.Kind()
	refuse := func(code message.Code, what string) error { return message.New(code, "%s: %w", what, ErrNeedsMemory) }
	switch {
	case kind != supervision.ByClasses:
		return refuse("supervision", "learning from "+kind)
	case t.Similar.SampleSimilar > 0 || t.Similar.SampleDissimilar > 0:
		return refuse("sample", "a sample of pairs")
	case !t.mayGrowTrees():
		return refuse("learner", "the learner "+string(t.Learner))
	case t.Order == TSH:
		return refuse("order", "the order "+string(t.Order))
	case t.Inference.Method == inference.ICM:
		return refuse("inference", "inference by "+string(inference.ICM))
	case t.wantsColumns():
		return refuse("linear-columns", "linear columns")
	case t.Learner == Auto && t.worthTrying(d):
		return refuse("learner", "trying learners")
	case t.Grow != nil && t.Grow.Encoder.Kind() != string(Trees):
		return refuse("growing", "growing a model with linear columns")
	}
	return nil
}
