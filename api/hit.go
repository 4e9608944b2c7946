package api

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
