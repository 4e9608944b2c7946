package hashgrove

import (
	"fmt"
	"time"

	"hashgrove/internal/fasthash"
	"hashgrove/internal/message"
)

// Training is a trained model with its report.
type Training struct {
	*Model
	Report Report
}

// Report describes a training run.
type Report struct {
	// How well held-out rows find each other, and how well they find rows learned from; nil if none were held out.
	// Expect the figures for new items.
	NewItems, LearnedItems *Figures

	Method   string
	Bits     int // asked for; the model may have fewer
	Seed     uint64
	Rows     int // in the data, including those held out
	Notes    []Note
	HeldOut  float64          // share of rows held out for the figures
	FastHash *fasthash.Report // what FastHash chose, bit by bit; nil for other methods
	Device   string           // GPU that grew trees; "" if only the cores did
	Memory   *MemoryUse       // nil without a limit

	Learning time.Duration // of the method alone
	Total    time.Duration
}

// Note is a choice made during training, with its reason, or a doubt. The code is for programs, the text for people.
type Note struct {
	Code  message.Code
	Text  string
	Doubt bool
}

// MemoryUse says how a memory limit was met, in bytes.
type MemoryUse struct {
	Budget   int64 `json:"budget_bytes"`
	Estimate int64 `json:"estimate_bytes"` // with everything in memory
	Least    int64 `json:"least_bytes"`    // with mapped files
	Mapped   bool  `json:"mapped"`
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

	Bit, Bits int           // the bit just learned, from 1, and the number asked for; 0 in other steps
	Learned   *fasthash.Bit // details of that bit; nil in other steps

	Note *Note // nil in other steps
}
