package main

import (
	"encoding/json"
	"fmt"

	"hashgrove/internal/fasthash"
	"hashgrove/internal/model"
	"hashgrove/internal/plain"
)

// validationRough is the number of held-out rows below which figures are rough.
const validationRough = 100

// figuresText returns the lines of train and info about held-out rows, or "" if there were none.
func figuresText(i *model.Info) string {
	if i.NewItems == nil || i.LearnedItems == nil {
		return ""
	}
	line := func(name string, f *model.Figures) string {
		others := ""
		if m := f.Margins; m.MAP > 0 {
			others = fmt.Sprintf("; by margins %.4f, %.4f", m.MAP, m.Precision)
		}
		if e := f.Expected; e.MAP > 0 {
			others += fmt.Sprintf("; by the expected code %.4f, %.4f", e.MAP, e.Precision)
		}
		return fmt.Sprintf("%s MAP %.4f, precision %.4f by Hamming%s; %s in %d rows\n", name, f.MAP, f.Precision, others,
			plain.Count(f.DistinctCodes, "different code", "different codes"), f.Rows)
	}
	return line("new items:    ", i.NewItems) + line("learned items:", i.LearnedItems)
}

// expectation returns a sentence if figures for new and learned items differ, or if few rows were held out; else "".
func expectation(i *model.Info) string {
	switch {
	case i.NewItems == nil || i.LearnedItems == nil:
		return ""
	case i.NewItems.Rows < validationRough:
		return fmt.Sprintf("Only %d rows were held out, so these figures are rough\n", i.NewItems.Rows)
	case i.LearnedItems.MAP-i.NewItems.MAP <= 0.05:
		return ""
	}
	return "An index gets new items, so expect their figures; --validation 0 learns from all rows\n"
}

// chosenOptions describes what effort and defaults chose for a FastHash run. It returns "" for models that do not
// record it.
func chosenOptions(r model.Run) string {
	var o fasthash.Options
	if json.Unmarshal(r.Options, &o) != nil || o.Effort == "" {
		return ""
	}
	return o.Summary() + "\n"
}
