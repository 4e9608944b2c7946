package compare

import (
	"fmt"
	"slices"
	"strings"

	"hashgrove"
	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/method"
	"hashgrove/internal/model"
)

// Options say what to compare. The zero value compares the quick methods at 16, 32, 64 and 128 bits.
type Options struct {
	Methods []string // to compare, as listed by Names; nil means Quick, "all" means all
	Bits    []int    // code lengths; nil means 16, 32, 64 and 128
	// NewShare is the share of the base to set aside as new items, which no method learns from, if Data.New is nil. 0
	// means a fifth, at most 10,000 rows; negative means none.
	NewShare float64
	// Standardize says whether float search and all methods but FastHash see standardised columns, as in method.Options.
	Standardize string

	// Rank is the ranking that leads: eval.ByHamming, eval.ByMargins or eval.ByExpected, where codes have it; "" means the
	// usual one of the model, or one that is clearly better.
	Rank eval.Ranking
	// DetailBits adds rows of FastHash with this many bits of detail behind those of the class; 0 adds none.
	DetailBits int

	Unseen int // classes to exclude from a second training; 0 means a quarter of them, negative none
	Seed   uint64

	// Train holds the options of FastHash and its relatives; the options above apply to all methods.
	Train hashgrove.Options

	Threads  int            // 0 means all cores; changes only times
	Progress func(Progress) // called by one goroutine; may be nil
	// Each is called with every model trained on the whole base; may be nil.
	Each func(method string, bits int, m *model.Model)
}

// Ranking is an order of the answers.
type Ranking = eval.Ranking

// Check validates the options before any data are read.
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
	if !slices.Contains([]eval.Ranking{"", eval.ByHamming, eval.ByMargins, eval.ByExpected}, o.Rank) {
		return o, message.New("no-such-ranking", "unknown ranking %q: choose %s, %s or %s", o.Rank, eval.ByHamming,
			eval.ByMargins, eval.ByExpected)
	}
	if o.DetailBits < 0 || o.DetailBits >= hamming.MaxWeightedBits {
		return o, message.New("bits-out-of-range", "%d bits of detail: give 0 to %d", o.DetailBits, hamming.MaxWeightedBits-1)
	}
	for i, name := range o.Methods {
		if !slices.Contains(Names(), name) {
			return o, message.New("no-such-method", "there is no method %q; the methods are %s, or all", name,
				strings.Join(Names(), ", "))
		}
		if slices.Contains(o.Methods[:i], name) {
			return o, message.New("named-twice", "the method %s is named twice", name)
		}
	}
	if len(o.Bits) == 0 {
		o.Bits = []int{16, 32, 64, 128}
	}
	o.Bits = slices.Clone(o.Bits)
	slices.Sort(o.Bits)
	o.Bits = slices.Compact(o.Bits)
	if o.Bits[0] < 1 || o.Bits[len(o.Bits)-1] > hamming.MaxBits {
		return o, message.New("bits-out-of-range", "codes of %d to %d bits were requested; a code has 1 to %d",
			o.Bits[0], o.Bits[len(o.Bits)-1], hamming.MaxBits)
	}
	if o.NewShare >= 1 {
		return o, fmt.Errorf("a share of %v cannot become new items: give a number between 0 and 1", o.NewShare)
	}
	if _, err := method.New("lsh", method.Options{Bits: o.Bits[0], Standardize: o.Standardize}); err != nil {
		return o, err
	}
	return o, o.Train.Check()
}
