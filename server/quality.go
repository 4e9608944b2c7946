package server

import (
	"context"
	"fmt"
	"net/http"

	"hashgrove/internal/model"
	"hashgrove/internal/search"
	"hashgrove/internal/vectors"
)

// qualityAnswer says how good the codes of a collection are.
type qualityAnswer struct {
	about
	Validation validation   `json:"validation"`
	Live       *liveQuality `json:"live"`
	LiveReason string       `json:"live_reason,omitempty"` // why there is no measurement
	Report     bool         `json:"report"`
}

// validation is what training measured on held-out rows; null if none were held out.
type validation struct {
	NewItems     *model.Figures `json:"new_items"`
	LearnedItems *model.Figures `json:"learned_items"`
}

// judged is a measurement, or the reason there is none, and a note about the items.
type judged struct {
	live   *liveQuality
	reason string
}

// quality sends what training measured and a measurement based on the items' labels.
func (s *Server) quality(w http.ResponseWriter, r *http.Request, c *collection) error {
	j, ok, err := await(s, w, r, c, &c.quality, func(ctx context.Context, report func(float64)) (judged, error) {
		o := c.open()
		live, reason, err := judge(ctx, o.snapshot(), backgroundThreads(), report)
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

// hashedRows limits the vectors that are compared with the training rows.
const hashedRows = 200_000

// qualityNote warns that training items flatter the model. If the vectors of the items are known it says how many of
// them the model was trained on.
func qualityNote(m *model.Model, t *search.Table) string {
	const flatter = "A model gives its training items cleaner codes than new ones. "
	if m == nil {
		return flatter + "The collection has no model, so it is not known which items those are."
	}
	added := "new items will be found less well; how much less was not measured."
	if m.Info.NewItems != nil {
		added = "for new items, expect the new-item figures from training."
	}
	if t != nil {
		var hashes []uint64
		rows := t.Rows
		rows.Rows = min(rows.Rows, hashedRows)
		vectors.HashRows(rows, func(_ int, h vectors.RowHash) { hashes = append(hashes, h.Short()) })
		if share, seen := m.Info.Sketch.Share(hashes); seen > 0 {
			if share == 0 {
				return "The model seems to have been trained on none of the items whose vectors are known here, " +
					"so the figures are those of new items."
			}
			return fmt.Sprintf("%sIt was trained on about %.0f %% of the items whose vectors are known here, so the "+
				"figures flatter it; %s", flatter, max(1, 100*share), added)
		}
	}
	return flatter + "It is not known which of these items it was trained on, so the figures may flatter it; " + added
}
