package hashgrove

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hashgrove/internal/fasthash"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
)

// choose settles what depends on the rows: how many to hold out, and where to store them.
func (r *run) choose() error {
	if err := r.chooseValidation(); err != nil {
		return err
	}
	r.noteCopies()
	return r.planMemory()
}

// chooseValidation settles the share of rows to hold out.
func (r *run) chooseValidation() error {
	o := &r.m
	kind, rows := r.data.Kind(), r.data.Rows/o.FastHash.Similar.PerPicture()
	judged := kind != "" && kind != supervision.ByPairs
	switch before, known := earlierValidation(r.o.Grow.inner(), r.data.HexDigest()); {
	case r.o.Validation != 0:
		if o.Validation = max(0, r.o.Validation); o.Validation > 0 && !judged {
			return wrong("needs-classes", "%s needs classes or tags to measure held-out rows", option("validation"))
		}
	case known:
		o.Validation = before
	case kind == supervision.ByPairs:
		r.note("none-held-out", "no rows are held out for figures: they need classes or tags, not pairs")
	case !judged:
		r.note("none-held-out", "no rows are held out for figures: they need classes or tags")
	case rows < validationLeast:
		r.note("none-held-out", "no rows are held out for figures: there are fewer than %d", validationLeast)
	default:
		o.Validation = min(validationShare, validationRows/float64(rows))
	}
	r.report.HeldOut = o.Validation
	return nil
}

// earlierValidation returns the share of the same data that was held out when the model to grow was trained.
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

// folder returns the folder for temporary files: that of the checkpoint, unless the user names another or there is
// none.
func (r *run) folder() string {
	if named := os.Getenv("TMPDIR"); named != "" || r.o.Checkpoint.Folder == "" {
		return named
	}
	return filepath.Dir(r.o.Checkpoint.Folder)
}

// release gives back rows and files.
func (r *run) release() error {
	if r.kept == nil {
		return r.spill.Close()
	}
	return errors.Join(r.kept.Close(), r.spill.Close())
}

// planMemory decides which data that grow with the rows go to files.
func (r *run) planMemory() error {
	budget, d := r.o.Memory, r.data
	if budget == 0 {
		return nil
	}
	o := r.m.FastHash
	o.Bits = r.m.Bits
	need, err := o.Need(d, r.m.Validation > 0)
	if err != nil {
		return err
	}
	kept := int64(0)
	if r.kept != nil {
		kept = r.kept.InMemory()
	}
	r.report.Memory = &MemoryUse{Budget: budget, Estimate: need.Memory + kept, Least: need.Least}
	size := message.Size
	switch {
	case need.Memory+kept <= budget:
		r.note("fits-memory", "all rows fit in memory: about %s of %s", size(need.Memory+kept), size(budget))
		return nil
	case need.Least > budget:
		return message.New("not-enough-memory",
			"%d rows of %d columns take about %s of memory, and with files for all that can be in files at "+
				"least %s: %s is not enough", d.Rows, d.Dim(), enough(need.Memory+kept), enough(need.Least), size(budget))
	}
	r.note("mapped-files", "%d rows of %d columns would take about %s of memory: mapped files of up to %s keep it "+
		"below %s", d.Rows, d.Dim(), size(need.Memory+kept), size(need.Files), size(budget))
	r.report.Memory.Mapped = true
	r.spill.Allow((budget - need.Least - kept) * 9 / 10)
	r.m.Run.Spill = r.spill
	return nil
}

// enough formats a number of bytes so that what is printed is not less after rounding.
func enough(bytes int64) string { return message.Size(bytes + bytes/100) }

// needsMemory adds to an error about options that need all rows in memory how much that is.
func (r *run) needsMemory(err error) error {
	if r.report.Memory == nil || !errors.Is(err, fasthash.ErrNeedsMemory) {
		return err
	}
	return fmt.Errorf("%w, which take about %s of memory", err, enough(r.report.Memory.Estimate))
}
