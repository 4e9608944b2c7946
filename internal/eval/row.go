package eval

// Kind distinguishes methods from the reference points they are measured against.
type Kind string

// Kinds of rows.
const (
	KindMethod Kind = "method"
	KindFloor  Kind = "floor" // what trivial codes reach: random codes, signs of the centred features
	// KindReference is not a code of the requested length, for instance float search or the output of a classifier.
	KindReference Kind = "reference"
)

// Figures are the measures of a row that depend on the ranking; zeros if there is no such ranking.
type Figures struct {
	MAP       float64 `json:"map"` // expected over the order of ties, as in Report
	MAPLow    float64 `json:"map_low"`
	MAPHigh   float64 `json:"map_high"`
	Precision float64 `json:"precision"` // of the first 100, or of as many as there are right ones
	PRArea    float64 `json:"pr_area"`

	NearestOfClass10 float64 `json:"nearest_of_class_10,omitempty"` // as in Report
}

// Items holds the measures of a row for the items that were learned from: by Hamming distance, and by the ranking of
// the row.
type Items struct {
	Figures
	DistinctCodes int     `json:"distinct_codes"`
	Ranked        Figures `json:"ranked,omitzero"`
}

// Items returns the measures of the report that a row has for learned items.
func (r *Report) Items() *Items { return &Items{r.Figures(), r.DistinctCodes, r.Figures()} }

// Figures returns the measures of the report that depend on the ranking.
func (r *Report) Figures() Figures {
	return Figures{r.MAP, r.MAPLow, r.MAPHigh, r.ReachablePrecision, r.PRArea, r.NearestOfClass10}
}

// Row is one method at one code length in a comparison. The numbers at the top are about new items, which training
// did not see, or about training items if there are no new ones, and by Hamming distance. Rank is the ranking that
// leads: Ranked and the curve are by that one. UnseenMAP and the numbers from TrainSeconds on are
// optional: 0 means missing.
type Row struct {
	Method      string `json:"method"`
	Kind        Kind   `json:"kind"`
	Supervised  bool   `json:"supervised"`
	Bits        int    `json:"bits"`                  // of the class; of a float vector, 32 for each dimension
	DetailBits  int    `json:"detail_bits,omitempty"` // more bits of a code, of detail
	CappedFrom  int    `json:"capped_from,omitempty"` // bits requested, if the method cannot make as many
	Bytes       int    `json:"bytes_per_item"`
	Error       string `json:"error,omitempty"` // why there are no numbers
	Recommended bool   `json:"recommended"`     // at most one row of a comparison

	Figures

	// The numbers at the top by the query's margins and by its expected code; zeros where there are none. Rank is the
	// ranking that leads, and Ranked are its numbers; it is empty for vectors, which have one ranking.
	Margins  Figures `json:"margins,omitzero"`
	Expected Figures `json:"expected,omitzero"`
	Rank     Ranking `json:"rank,omitempty"`
	Ranked   Figures `json:"ranked,omitzero"`

	LearnedItems *Items `json:"learned_items,omitempty"`

	// UnseenMAP is for queries of classes that training did not see, among all items; UnseenChance is what random
	// codes reach.
	UnseenMAP    float64 `json:"unseen_map"`
	UnseenChance float64 `json:"unseen_chance"`

	TrainSeconds       float64 `json:"train_seconds"`
	EncodeMicroseconds float64 `json:"encode_microseconds"` // for one vector on one core
	DistinctCodes      int     `json:"distinct_codes"`

	PRCurve  []PRPoint `json:"pr_curve,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
	AP       []float64 `json:"-"` // by query, as in Report
	RankedAP []float64 `json:"-"` // the same by Rank
}

// Leading returns the numbers of the ranking that leads the row.
func (r *Row) Leading() Figures {
	if r.Rank == "" {
		return r.Figures
	}
	return r.Ranked
}

// LearnedMAP returns the MAP among learned items by the ranking that leads the row, or 0 if it was not measured.
func (r *Row) LearnedMAP() float64 {
	switch {
	case r.LearnedItems == nil:
		return 0
	case r.Rank == "":
		return r.LearnedItems.MAP
	}
	return r.LearnedItems.Ranked.MAP
}

// LeadingAP returns the average precision of each query by the ranking that leads.
func (r *Row) LeadingAP() []float64 {
	if r.Rank == "" {
		return r.AP
	}
	return r.RankedAP
}

// Lead makes a ranking lead the row.
func (r *Row) Lead(rank Ranking, by *Report) {
	r.Rank, r.Ranked, r.RankedAP, r.PRCurve = rank, by.Figures(), by.AP, by.PRCurve
}

// Fill copies the measures of the report into a row.
func (r *Report) Fill(row *Row) {
	row.Figures, row.Ranked, row.AP = r.Figures(), r.Figures(), r.AP
	row.DistinctCodes, row.PRCurve, row.Warnings = r.DistinctCodes, r.PRCurve, r.Warnings
}
