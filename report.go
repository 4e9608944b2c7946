package hashgrove

import (
	"fmt"
	"time"

	"hashgrove/api"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
)

// Training is a trained model with its report.
type Training struct {
	*Model
	Report Report // on the training

	checkpoint string
}

// Save writes the model to a file, all or nothing, and then removes the checkpoint of the training.
func (t *Training) Save(path string) error {
	if err := t.Model.Save(path); err != nil {
		return err
	}
	return fasthash.Trainer{Run: fasthash.Run{Checkpoint: t.checkpoint}}.Finish()
}

// Report describes a training run.
type Report struct {
	// NewItems says how well rows held out of training find each other, which is what to expect of new items, and
	// LearnedItems how well they find rows learned from. Both are nil if no rows were held out.
	NewItems, LearnedItems *Figures

	Method      string  // its name
	Title       string  // its name for people
	Bits        int     // asked for; the model may have fewer
	Seed        uint64  // as given, or the default
	Rows        int     // in the data, including those held out
	LearnedRows int     // mirror images count
	HeldOut     float64 // share of rows held out for the figures

	Columns UsedColumns // what the columns of a table were taken for
	Scale   string      // how columns were scaled, and why; "" for FastHash, and where nothing was to be decided

	Notes  []Note     // what was chosen, and doubts, in order
	Device string     // GPU that grew trees; "" if only the cores did
	Memory *MemoryUse // nil without a limit

	Learning time.Duration // of the method alone
	Total    time.Duration // with reading and measuring

	// FastHash says what FastHash chose; nil for other methods.
	FastHash *FastHashReport
}

// FastHashReport says what FastHash chose, and how long each bit took.
type FastHashReport struct {
	Summary string       // effort and learner in words
	Effort  string       // as given, or the default
	Learner string       // what Step 2 learned: trees, scores or linear
	Trees   TreeOptions  // as chosen; without a meaning for other learners
	Columns string       // which columns were added, and why, or why not; "" if none were asked for
	Added   []string     // names of the added columns
	Bits    []LearnedBit // in order; those of a checkpoint or of the model to grow have no times
}

// LearnedBit describes a bit that FastHash learned.
type LearnedBit struct {
	Bit        int           // from 1
	Objective  float64       // mean loss of the pairs over the bits so far
	TrainError float64       // share of the rows whose bit the hash function misses
	Trees      int           // in the hash function; 0 for other learners
	CutParts   int           // parts of blocks that were too large to be cut at once
	Inference  time.Duration // of Step 1, which chooses the bit
	Boost      time.Duration // of Step 2, which learns to predict it
}

// learnedBit translates from package fasthash.
func learnedBit(b fasthash.Bit) LearnedBit {
	s := b.Stat
	return LearnedBit{b.Bit, s.Objective, s.TrainError, s.Trees, s.CutParts, b.Inference, b.Boost}
}

// fastHashReport translates from package fasthash.
func fastHashReport(r *fasthash.Report, about model.Info) *FastHashReport {
	o := r.Options
	f := &FastHashReport{Summary: o.Summary(), Effort: string(o.Effort), Learner: string(o.Learner), Columns: r.Linear,
		Added: about.Added, Trees: treesOf(o.Trees)}
	for k, s := range about.Bits {
		f.Bits = append(f.Bits, learnedBit(fasthash.Bit{Bit: k + 1, Stat: s}))
	}
	for _, b := range r.Bits {
		if b.Bit <= len(f.Bits) {
			f.Bits[b.Bit-1] = learnedBit(b)
		}
	}
	return f
}

func treesOf(t boost.Options) TreeOptions {
	return TreeOptions{
		Boost: string(t.Boost), Rounds: t.Rounds, Depth: t.Depth, NodeFeatures: t.NodeFeatures, Trim: t.TrimMass,
		MinNode: t.MinNode, RowShare: t.RowShare, ColumnShare: t.ColumnShare, Rate: t.Rate, LeafBits: t.LeafBits,
	}
}

// Figures measure how well queries find some items by Hamming distance. All but Rows and DistinctCodes are between 0
// and 1.
type Figures struct {
	Rows          int     `json:"rows"`           // of the items
	MAP           float64 `json:"map"`            // mean average precision, expected over the orders of ties
	MAPLow        float64 `json:"map_low"`        // in the worst order of ties
	MAPHigh       float64 `json:"map_high"`       // in the best order of ties
	Precision     float64 `json:"precision"`      // of the first 100, or of as many as a query has relevant items
	PRArea        float64 `json:"pr_area"`        // below the curve of precision against recall
	DistinctCodes int     `json:"distinct_codes"` // of the items
	Chance        float64 `json:"chance"`         // the mean share of relevant items, about the MAP of random codes

	Margins  RankingFigures `json:"margins,omitzero"`  // of the same codes, ranked by the margins of the query
	Expected RankingFigures `json:"expected,omitzero"` // of the same codes, ranked by the expected code of the query
}

// RankingFigures are the Figures that depend on the ranking; zeros if it was not measured.
type RankingFigures struct {
	MAP       float64 `json:"map"`       // as in Figures, like the others
	MAPLow    float64 `json:"map_low"`   // in the worst order of ties
	MAPHigh   float64 `json:"map_high"`  // in the best order of ties
	Precision float64 `json:"precision"` // of the first 100 at most
	PRArea    float64 `json:"pr_area"`   // below the curve of precision against recall
}

// figuresOf translates from package model.
func figuresOf(f *model.Figures) *Figures {
	if f == nil {
		return nil
	}
	return &Figures{f.Rows, f.MAP, f.MAPLow, f.MAPHigh, f.Precision, f.PRArea, f.DistinctCodes, f.Chance,
		RankingFigures(f.Margins), RankingFigures(f.Expected)}
}

// String describes the figures in a line.
func (f *Figures) String() string {
	others := ""
	if m := f.Margins; m.MAP > 0 {
		others = fmt.Sprintf("; by margins %.4f, %.4f", m.MAP, m.Precision)
	}
	if e := f.Expected; e.MAP > 0 {
		others += fmt.Sprintf("; by the expected code %.4f, %.4f", e.MAP, e.Precision)
	}
	return fmt.Sprintf("MAP %.4f, precision %.4f by Hamming%s; chance %.4f; %s in %d rows", f.MAP, f.Precision, others,
		f.Chance, message.Count(f.DistinctCodes, "different code", "different codes"), f.Rows)
}

// FiguresText describes both figures, a line each; without figures it is empty.
func FiguresText(newItems, learnedItems *Figures) string {
	if newItems == nil || learnedItems == nil {
		return ""
	}
	return fmt.Sprintf("new items:     %v\nlearned items: %v\n", newItems, learnedItems)
}

// Ranking is how searches with a model rank items unless they say otherwise.
type Ranking struct {
	Rank  string  `json:"rank"`  // api.Hamming, Margins or Expected
	Tau   float64 `json:"tau"`   // how much the scores of a query decide; of Expected
	Mix   float64 `json:"mix"`   // share of the scores themselves in the weights; of Expected
	Codes int     `json:"codes"` // of training rows that the model knows
}

// Ranking returns the ranking that training chose, or nil if the model knows only Hamming distance.
func (m *Model) Ranking() *Ranking { return rankingOf(m.model) }

// rankingOf translates from package model.
func rankingOf(m *model.Model) *Ranking {
	r := m.Ranking
	if r == nil {
		return nil
	}
	return &Ranking{r.Rank, r.Tau, r.Mix, r.Codes.Len()}
}

// String describes the ranking in a line; "" without one.
func (r *Ranking) String() string {
	switch {
	case r == nil:
		return ""
	case r.Rank == api.Expected && r.Mix > 0:
		return fmt.Sprintf("searches rank by the expected code: tau %g, %.0f %% of the weight from margins, %s known\n",
			r.Tau, 100*r.Mix, message.Count(r.Codes, "code", "codes"))
	case r.Rank == api.Expected:
		return fmt.Sprintf("searches rank by the expected code: tau %g, %s known\n",
			r.Tau, message.Count(r.Codes, "code", "codes"))
	case r.Rank == api.Margins:
		return "searches rank by margins\n"
	}
	return "searches rank by Hamming distance\n"
}

// Note is a choice made during training, with its reason, or a doubt.
type Note struct {
	Code  string // says what it is about, for programs
	Text  string // for people
	Doubt bool   // about the data or the figures
}

// MemoryUse says how a memory limit was met, in bytes.
type MemoryUse struct {
	Budget   int64 `json:"budget_bytes"`              // Options.Memory
	Estimate int64 `json:"estimate_bytes"`            // with everything in memory
	Least    int64 `json:"least_bytes"`               // with mapped files
	Mapped   bool  `json:"mapped"`                    // whether files were needed
	InMemory int64 `json:"in_memory_bytes,omitempty"` // arrays of rows that stayed there
	Files    int64 `json:"file_bytes,omitempty"`      // mapped files, at most
}

// String describes the mapped files in a line, or returns "" if there are none.
func (m *MemoryUse) String() string {
	if m == nil || !m.Mapped {
		return ""
	}
	return fmt.Sprintf("mapped files: %s; arrays of rows in memory: %s\n", message.Size(m.Files), message.Size(m.InMemory))
}

// Progress reports one step of training: rows read, a bit learned, or a note.
type Progress struct {
	Rows int // read so far; 0 in later steps

	Bit, Bits int         // the bit just learned, from 1, and the number asked for; 0 in other steps
	Learned   *LearnedBit // details of that bit; nil in other steps

	Note *Note // nil in other steps

	Columns *UsedColumns // of a table that is going to be read; nil in other steps
	Dim     int          // of its vectors; 0 in other steps
}
