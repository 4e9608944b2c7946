package train

import (
	"fmt"
	"time"

	"hashgrove/internal/fasthash"
	"hashgrove/internal/fault"
	"hashgrove/internal/model"
	"hashgrove/internal/plain"
)

// Training is a model and how it came about.
type Training struct {
	Model *model.Model
	Report
}

// Report tells how a training went.
type Report struct {
	// How well rows that were held out find each other, and how well they find rows that were learned from; nil where none
	// were held out. Expect the figures for new items.
	NewItems, LearnedItems *model.Figures

	Method   string
	Bits     int // asked for; the model may have fewer
	Seed     uint64
	Rows     int // that were there, with those held out
	Notes    []Note
	HeldOut  float64          // share of the rows held out for the figures
	FastHash *fasthash.Report // what FastHash chose, bit by bit; nil for other methods
	CrossFit string           // file of the cross-fitted codes; "" where none was written
	Memory   *MemoryUse       // nil without a limit

	Learning time.Duration // of the method alone
	Total    time.Duration
}

// Note is a choice that was made, with its reason, or a doubt. The code is for programs, the text for people.
type Note struct {
	Code  fault.Code
	Text  string
	Doubt bool
}

// MemoryUse is what became of a limit on memory, in bytes.
type MemoryUse struct {
	Budget   int64 `json:"budget_bytes"`
	Estimate int64 `json:"estimate_bytes"` // with everything in memory
	Least    int64 `json:"least_bytes"`    // with files
	Mapped   bool  `json:"mapped"`
	InMemory int64 `json:"in_memory_bytes,omitempty"` // of arrays of rows that stayed there
	Files    int64 `json:"file_bytes,omitempty"`      // in mapped files, at most
}

// String is a line about mapped files, or nothing where there are none.
func (m *MemoryUse) String() string {
	if m == nil || !m.Mapped {
		return ""
	}
	return fmt.Sprintf("mapped files: %s; arrays of rows in memory: %s\n", plain.Size(m.Files), plain.Size(m.InMemory))
}

// Progress is one step of a training: rows that were read, a bit that was learned, or a note.
type Progress struct {
	Rows int // read so far; 0 in later steps

	Bit, Bits int           // the bit that was learned, from 1, and how many were asked for; 0 in other steps
	Learned   *fasthash.Bit // what became of the bit; nil in other steps

	Note *Note // nil in other steps
}
