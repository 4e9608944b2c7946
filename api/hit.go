package api

import "strconv"

// Hit is an item found by a search.
type Hit struct {
	ID             ID             `json:"id"`
	Distance       int            `json:"distance"`                  // in bits of the class
	DetailDistance *int           `json:"detail_distance,omitempty"` // in bits of detail, if codes have them
	MarginDistance *int           `json:"margin_distance,omitempty"` // in sixteenths of a bit, when bits have weights
	Score          *float64       `json:"score,omitempty"`           // distance between the vectors, when reranked
	Label          string         `json:"label,omitempty"`
	Tags           []string       `json:"tags,omitempty"`
	Attributes     map[string]any `json:"attributes,omitempty"` // numbers are float64, texts are string
}

// Ranked returns the distance that orders the hits, before any reranking.
func (h *Hit) Ranked() int {
	if h.MarginDistance != nil {
		return *h.MarginDistance
	}
	return h.Distance
}

// appendJSON writes the hit; a test finds a field that it forgets.
func (h *Hit) appendJSON(b []byte) (_ []byte, err error) {
	b = append(b, `{"id":`...)
	if _, ok := h.ID.Integer(); ok {
		b = append(b, h.ID...)
	} else {
		b = appendText(b, string(h.ID))
	}
	b = strconv.AppendInt(append(b, `,"distance":`...), int64(h.Distance), 10)
	if h.DetailDistance != nil {
		b = strconv.AppendInt(append(b, `,"detail_distance":`...), int64(*h.DetailDistance), 10)
	}
	if h.MarginDistance != nil {
		b = strconv.AppendInt(append(b, `,"margin_distance":`...), int64(*h.MarginDistance), 10)
	}
	if h.Score != nil {
		if b, err = appendValue(append(b, `,"score":`...), *h.Score); err != nil {
			return nil, err
		}
	}
	if h.Label != "" {
		b = appendText(append(b, `,"label":`...), h.Label)
	}
	if len(h.Tags) > 0 {
		b = append(b, `,"tags":[`...)
		for i, tag := range h.Tags {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendText(b, tag)
		}
		b = append(b, ']')
	}
	if len(h.Attributes) > 0 {
		if b, err = appendValue(append(b, `,"attributes":`...), h.Attributes); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}
