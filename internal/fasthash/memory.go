package fasthash

import (
	"slices"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/message"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Training on more rows than memory. What grows with the rows is the quantised columns, a byte per value, and some
// thirty to a hundred bytes per row. With Run.Spill everything that is read and written in order goes to mapped files,
// and the model is the same, byte for byte. The nodes of a level go over a few columns together, from the first row to
// the last, so every level reads the file of the columns once.

// Need estimates the bytes of a training.
type Need struct {
	Memory int64 // with everything in memory
	Least  int64 // of memory, with files
	Files  int64 // on disk, at most
}

// inMemory adds what is never in a file.
func (n *Need) inMemory(bytes int64) { n.Memory, n.Least = n.Memory+bytes, n.Least+bytes }

// inFile adds what may be in a file.
func (n *Need) inFile(bytes int64) { n.Memory, n.Files = n.Memory+bytes, n.Files+bytes }

// programBytes covers the program itself, and sampleBytes the rows read at a time and a sample of the rows: as many
// times their vectors, of few rows. cacheBytes covers what the system caches of files, without which training would
// stall, beside the columns that the nodes of a level go over together. While everything fits, the garbage of reading
// is collected late: some chunks of readBytes.
const (
	programBytes, sampleBytes, sampleTimes = 40 << 20, 56 << 20, 16
	cacheBytes                             = 64 << 20
	cachedColumns                          = 8
	readBytes, readChunks                  = 64 << 20, 6
)

// idBytes is the rough size of an id, with the table that finds repeated ids.
const idBytes = 120

// Need estimates what training on these rows needs; effort and number of bits must be set in the options.
func (t Options) Need(d *supervision.Data, validation bool) (Need, error) {
	t, err := t.ForData(d.Rows)
	if err != nil {
		return Need{}, err
	}
	var n Need
	rows, columns := int64(d.Rows), int64(d.Dim())
	labels, marks := 4*rows, rows/2
	if l := d.Labels; l != nil && len(l.Names) <= 1<<8 {
		labels = rows
	}
	n.inMemory(labels + marks + min(columns<<(t.Trees.Depth-1)*4*vectors.Bins, 64<<20)) // and histograms
	n.inMemory(programBytes + min(sampleTimes*4*rows*columns, sampleBytes))
	if d.IDs != nil {
		n.inMemory(idBytes * rows)
	}
	n.Memory += readChunks * min(4*rows*columns, readBytes)

	n.inFile(rows * (4 + 16 + 12 + 8))                 // masses, lists of rows by node, weights of trees
	n.inFile(rows * (columns + 4 + 4 + 1 + 8 + 8 + 1)) // columns, classes, groups and bits, hashes, weights, outputs
	n.Files += rows * (4 + 8)                          // room for more classes and hashes
	if t.Candidates > 1 {
		n.inMemory(4 * rows) // an order of the rows
		n.inFile(rows * int64(8+t.Candidates))
		n.Memory += t.sideBytes(d)
	}
	if validation {
		n.inMemory(rows)
		n.inFile(rows * (3 + 4 + 8))
	}
	if t.Trees.Boost == boost.Logistic {
		n.inFile(5 * rows) // scores and leaves
	}
	n.Least += min(cacheBytes+cachedColumns*rows, n.Files)
	if t.wantsColumns() {
		n.Memory += t.columns(t.LinearColumns).Bytes(d.Rows, d.Dim())
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

// ErrNeedsMemory reports options that do not allow training on more rows than memory.
var ErrNeedsMemory = message.New("needs-memory", "it needs all rows in memory")

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
