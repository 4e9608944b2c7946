package server

import (
	"context"
	"fmt"
	"net/http"

	"hashgrove/internal/model"
	"hashgrove/internal/search"
	"hashgrove/internal/vectors"
)

// qualityAnswer is what is known about how good the codes of a collection are.
type qualityAnswer struct {
	about
	Validation validation   `json:"validation"`
	Live       *liveQuality `json:"live"`
	LiveReason string       `json:"live_reason,omitempty"` // why there is no measurement
	Report     bool         `json:"report"`
}

// validation is what training measured, on rows that were held out; null where none were.
type validation struct {
	NewItems     *model.Figures `json:"new_items"`
	LearnedItems *model.Figures `json:"learned_items"`
}

// judged is a measurement, or why there is none, and what is known about the items.
type judged struct {
	live   *liveQuality
	reason string
}

// quality answers with what training measured and with a measurement by the labels of the items.
func (s *Server) quality(w http.ResponseWriter, r *http.Request, c *collection) error {
	j, ok, err := await(s, w, r, c, &c.quality, func(ctx context.Context, report func(float64)) (judged, error) {
		o := c.open()
		live, reason, err := judge(ctx, o.snapshot(), studyThreads(), report)
		if live != nil {
			live.Note = qualityNote(o.model, c.vectors)
		}
		return judged{live, reason}, err
	})
	if !ok {
		return err
	}
	a := qualityAnswer{about: c.about(), Live: j.live, LiveReason: j.reason, Report: c.options.Report != ""}
	if m := c.open().model; m != nil {
		a.Validation = validation{m.Info.NewItems, m.Info.LearnedItems}
	}
	writeJSON(w, http.StatusOK, a)
	return nil
}

// hashedRows is the number of vectors that are compared with those learned from.
const hashedRows = 200_000

// qualityNote says which items were measured: the model was learned from some of them, and their codes flatter it. The
// vectors of the items tell how many, where they are known.
func qualityNote(m *model.Model, t *search.Table) string {
	const flatter = "A model gives items that it was learned from cleaner codes than new ones. "
	if m == nil {
		return flatter + "The collection holds no model, so nothing says which items those are."
	}
	added := "items that are added will be found less well, and how much less was not measured."
	if m.Info.NewItems != nil {
		added = "for items that are added, expect the figures of new items from training."
	}
	if t != nil {
		var hashes []uint64
		rows := t.Rows
		rows.Rows = min(rows.Rows, hashedRows)
		vectors.HashRows(rows, func(_ int, h vectors.RowHash) { hashes = append(hashes, h.Short()) })
		if share, seen := m.Info.Sketch.Share(hashes); seen > 0 {
			if share == 0 {
				return "As far as can be told, the model was learned from none of the items whose vectors are known here: " +
					"the figures are those of new items."
			}
			return fmt.Sprintf("%sIt was learned from about %.0f %% of the items whose vectors are known here, so the "+
				"figures flatter it; %s", flatter, max(1, 100*share), added)
		}
	}
	return flatter + "Which of these items it was learned from is not known here, so the figures may flatter it; " + added
}
