package metamorphic

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// sequence is a list of steps for all layouts. Any list of steps can be run: codes and margins of another length are
// cut or padded with zeros, so that steps can be left out.
type sequence struct {
	Bits  int
	Steps []step
}

// The steps. Those from reopen on concern only files.
const (
	addOp         = "add"
	upsertOp      = "upsert"
	updateOp      = "update"
	deleteOp      = "delete"
	deleteWhereOp = "delete where"
	compactOp     = "compact"
	surveyOp      = "survey" // counts and lists instead of searches
	askOp         = "ask"
	reopenOp      = "reopen"
	backupOp      = "backup" // and continue with the restored one
	mergeOp       = "merge"  // of parts of the items
	salvageOp     = "salvage"
	migrateOp     = "migrate" // to a model with codes of Bits
)

// step is one of them with its arguments.
type step struct {
	Op      string     `json:"op"`
	Items   []item     `json:"items,omitempty"`
	Bulk    *bulk      `json:"bulk,omitempty"` // more items
	IDs     []index.ID `json:"ids,omitempty"`
	Where   string     `json:"where,omitempty"`
	Replace bool       `json:"replace,omitempty"` // all attributes of an item
	Apart   bool       `json:"apart,omitempty"`   // by several writers at a time
	From    int        `json:"from,omitempty"`    // the first layout to be compacted
	Tables  int        `json:"tables,omitempty"`  // of the index in memory, when it is opened
	Parts   int        `json:"parts,omitempty"`
	Bits    int        `json:"bits,omitempty"`
	Seed    uint64     `json:"seed,omitempty"` // of the model
	Ask     *question  `json:"ask,omitempty"`
}

// item is an item as it is written down.
type item struct {
	ID         index.ID               `json:"id"`
	Code       code                   `json:"code,omitzero"`
	Label      string                 `json:"label,omitempty"`
	Tags       []string               `json:"tags,omitempty"`
	Attributes map[string]index.Value `json:"attributes,omitempty"`
}

// bulk is items too many to read.
type bulk struct {
	Items int    `json:"items"`
	Seed  uint64 `json:"seed"`
}

// question is what is searched for.
type question struct {
	Queries   []code      `json:"queries"`
	K         int         `json:"k"`
	Radius    *int        `json:"radius,omitempty"` // then a K of 0 means all
	Prefix    int         `json:"prefix,omitempty"`
	Shortlist int         `json:"shortlist,omitempty"`
	Where     string      `json:"where,omitempty"`
	Rank      index.Rank  `json:"rank,omitempty"`
	Margins   [][]float32 `json:"margins,omitempty"` // by query
	Score     bool        `json:"score,omitempty"`   // rerank
	Keep      bool        `json:"keep,omitempty"`    // ask the same snapshots again after later steps
}

// code is written as hexadecimal digits without the zeros at its end.
type code []uint64

// IsZero reports whether all bits are 0.
func (c code) IsZero() bool { return !slices.ContainsFunc(c, func(w uint64) bool { return w != 0 }) }

func (c code) MarshalText() ([]byte, error) {
	var b strings.Builder
	for _, w := range c {
		fmt.Fprintf(&b, "%016x", w)
	}
	return []byte(strings.TrimRight(b.String(), "0")), nil
}

func (c *code) UnmarshalText(text []byte) error {
	text = append(bytes.Clone(text), strings.Repeat("0", (16-len(text)%16)%16)...)
	b, err := hex.DecodeString(string(text))
	if err != nil {
		return err
	}
	*c = nil
	for w := range slices.Chunk(b, 8) {
		v := uint64(0)
		for _, x := range w {
			v = v<<8 | uint64(x)
		}
		*c = append(*c, v)
	}
	return nil
}

// fit returns the code with another number of bits.
func (c code) fit(bits int) []uint64 {
	words := make([]uint64, (bits+63)/64)
	copy(words, c)
	if over := bits & 63; over != 0 {
		words[len(words)-1] &= ^uint64(0) << (64 - over)
	}
	return words
}

// codesOf returns a table of codes with another number of bits.
func codesOf(list []code, bits int) hamming.Codes {
	codes := hamming.NewCodes(len(list), bits)
	for i, c := range list {
		copy(codes.Row(i), c.fit(bits))
	}
	return codes
}

// batch returns the items of a step, without repeated ids if they must differ.
func (s *step) batch(bits int, differ bool) *index.Batch {
	b := index.NewBatch(bits)
	seen := map[index.ID]bool{}
	list := s.Items
	if s.Bulk != nil {
		list = append(slices.Clip(list), s.Bulk.items(bits)...)
	}
	for _, it := range list {
		if differ && seen[it.ID] {
			continue
		}
		seen[it.ID] = true
		b.Append(index.Item{
			ID: it.ID, Code: it.Code.fit(bits), Label: it.Label, Tags: it.Tags, Attributes: it.Attributes,
		})
	}
	return b
}

// items draws the items.
func (k *bulk) items(bits int) []item {
	g := newGenerator(k.Seed, bits)
	list := make([]item, k.Items)
	for i := range list {
		list[i] = g.item()
		list[i].ID = index.Int(int64(1000 + g.IntN(2*k.Items)))
	}
	return list
}

// String writes a sequence as lines that parse reads.
func (s sequence) String() string {
	var b strings.Builder
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	_ = lines.Encode(map[string]int{"bits": s.Bits})
	for _, one := range s.Steps {
		_ = lines.Encode(one)
	}
	return b.String()
}

// parse reads the output of String. White space at the beginning of lines does not matter.
func parse(text []byte) (sequence, error) {
	var s sequence
	lines := json.NewDecoder(bytes.NewReader(text))
	lines.DisallowUnknownFields()
	if err := lines.Decode(&s); err != nil {
		return s, fmt.Errorf("the first line says how many bits there are: %w", err)
	}
	for lines.More() {
		var one step
		if err := lines.Decode(&one); err != nil {
			return s, fmt.Errorf("step %d: %w", len(s.Steps), err)
		}
		s.Steps = append(s.Steps, one)
	}
	if s.Bits < 1 || s.Bits > hamming.MaxBits {
		return s, fmt.Errorf("codes of %d bits", s.Bits)
	}
	return s, nil
}

// newRand is a source of random numbers.
func newRand(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }
