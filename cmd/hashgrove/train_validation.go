package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/pflag"

	"hashgrove/internal/cli"
	"hashgrove/internal/model"
	"hashgrove/internal/plain"
	"hashgrove/internal/supervision"
)

// What train holds out unless told otherwise.
const (
	validationShare = 0.05
	validationRows  = 1000 // at most
	validationLeast = 200  // rows that there must be
	validationRough = 100  // rows held out, below which figures are rough
)

// chooseValidation settles the share of the rows that is held out.
func (c *trainCommand) chooseValidation(flags *pflag.FlagSet, d *supervision.Data) error {
	o := &c.options
	given, patient := flags.Changed("validation"), o.Run.Patience > 0
	kind, rows := d.Kind(), d.Rows/o.FastHash.Similar.PerPicture()
	switch before, known := earlierValidation(o.Run.Grow, d.HexDigest()); {
	case given && c.validation > 0 && !patient && (kind == "" || kind == supervision.ByPairs):
		return cli.Usage("needs-classes", "--validation needs classes or tags, to judge the rows held out")
	case given:
		o.Validation = c.validation
	case patient: // the method has its own default
	case known:
		o.Validation = before
	case kind == supervision.ByPairs:
		c.note("no rows are held out for figures: they need classes or tags, not pairs")
	case kind == "":
		c.note("no rows are held out for figures: they need classes or tags")
	case rows < validationLeast:
		c.note("no rows are held out for figures: there are fewer than %d", validationLeast)
	default:
		o.Validation = min(validationShare, validationRows/float64(rows))
	}
	return nil
}

// earlierValidation is the share of the same data that was held out when the model to grow was trained.
func earlierValidation(grown *model.Model, data string) (share float64, known bool) {
	if grown == nil {
		return 0, false
	}
	for _, r := range grown.Info.Runs {
		var o struct {
			Similarity struct {
				Validation float64 `json:"validation"`
			} `json:"similarity"`
		}
		if r.Data == data && json.Unmarshal(r.Options, &o) == nil {
			return o.Similarity.Validation, true
		}
	}
	return 0, false
}

// noteMissing says why rows that were held out give no figures.
func (c *trainCommand) noteMissing(m *model.Model, d *supervision.Data) {
	switch {
	case c.options.Validation == 0 || m.Info.NewItems != nil || d.Kind() == supervision.ByPairs:
	case c.options.Run.Grow != nil:
		c.note("no figures for new items: the model to grow was learned from rows that are held out now")
	default:
		c.note("no figures for new items: no two of the rows held out are similar")
	}
}

// figuresText is what train and info say of the rows held out: lines, or nothing when there were none.
func figuresText(i *model.Info) string {
	if i.NewItems == nil || i.LearnedItems == nil {
		return ""
	}
	line := func(name string, f *model.Figures) string {
		margins := ""
		if m := f.Margins; m.MAP > 0 {
			margins = fmt.Sprintf("; by margins %.4f, %.4f", m.MAP, m.Precision)
		}
		return fmt.Sprintf("%s MAP %.4f, precision %.4f%s; %s in %d rows\n", name, f.MAP, f.Precision, margins,
			plain.Count(f.DistinctCodes, "different code", "different codes"), f.Rows)
	}
	return line("new items:    ", i.NewItems) + line("learned items:", i.LearnedItems)
}

// expectation is a sentence for figures of new and learned items that differ, or that few rows were held out for; or
// empty.
func expectation(i *model.Info) string {
	switch {
	case i.NewItems == nil || i.LearnedItems == nil:
		return ""
	case i.NewItems.Rows < validationRough:
		return fmt.Sprintf("Only %d rows were held out: these figures are rough\n", i.NewItems.Rows)
	case i.LearnedItems.MAP-i.NewItems.MAP <= 0.05:
		return ""
	}
	return "An index gets new items, so expect their figures; --validation 0 learns from all rows\n"
}
