package api

// Answer holds one result per query, in the order of the queries.
type Answer struct {
	Collection  string   `json:"collection,omitempty"` // in a service
	Fingerprint string   `json:"fingerprint"`          // of the model
	Items       int      `json:"items"`                // searched
	Bits        int      `json:"bits"`                 // per code
	Seconds     float64  `json:"seconds"`
	Rank        string   `json:"rank"` // order of the hits: Hamming, Margins or Expected
	Results     []Result `json:"results"`
	Doubts      []string `json:"doubts,omitempty"` // what the answer lacks, in sentences
}

// Result is the answer to one query.
type Result struct {
	Query string `json:"query"`           // its name, its id, or its number
	Label string `json:"label,omitempty"` // of the query, if known
	Code  string `json:"code"`            // hexadecimal digits
	Hits  []Hit  `json:"hits"`            // by distance, then by id
	Why   *Why   `json:"why,omitempty"`   // about the first hit, with Options.Explain

	Tied     int `json:"tied,omitempty"`      // items at the distance of the last hit, among the hits or not
	TiedHits int `json:"tied_hits,omitempty"` // how many of those are among the hits
	Compared int `json:"compared,omitempty"`  // vectors compared in reranking
}

// Why explains, bit by bit, the distance between a query and an item.
type Why struct {
	Query     string         `json:"query"`
	ID        ID             `json:"id"`
	Distance  int            `json:"distance"`                  // in bits of the class
	Detail    int            `json:"detail_distance,omitempty"` // in bits of detail
	CodeQuery string         `json:"code_query"`
	CodeItem  string         `json:"code_item"`
	Agree     []int          `json:"agree"`             // bits that are equal
	Differ    []int          `json:"differ"`            // the others
	Bits      []Bit          `json:"bits"`              // all of them
	Columns   []ColumnWeight `json:"columns,omitempty"` // those that decided most
}

// Bit compares one bit of a query and of an item. Margins and reasons are given if the vectors are known.
type Bit struct {
	Bit         int      `json:"bit"`
	Query       int      `json:"query"` // 0 or 1
	Item        int      `json:"item"`
	Detail      bool     `json:"detail,omitempty"` // it keeps the vector, not the class
	Agree       bool     `json:"agree"`
	MarginQuery *float32 `json:"margin_query,omitempty"` // how certain the query is of the bit
	MarginItem  *float32 `json:"margin_item,omitempty"`
	Weight      *int     `json:"weight,omitempty"` // of the bit in a ranking by margins, in sixteenths
	Reasons     []Reason `json:"reasons,omitempty"`

	// Of a bit that is the sign of a sum: what all but the reasons adds to the margins. The sum of it and the parts of
	// the reasons is the margin, exactly, before it is rounded to float32.
	RestQuery *int64 `json:"rest_query,omitempty"`
	RestItem  *int64 `json:"rest_item,omitempty"`
}

// Reason is a column that decided a bit, with a threshold between the query and the item, or beside both, or with what
// it adds to the margins.
type Reason struct {
	Name      string   `json:"name"`
	Column    int      `json:"column"`
	Threshold *float32 `json:"threshold,omitempty"` // a hyperplane has none
	Query     float32  `json:"query"`
	Item      float32  `json:"item"`
	Weight    float64  `json:"weight"` // share of the total weight of the bit's reasons

	PartQuery *int64 `json:"part_query,omitempty"` // of the margin of a hyperplane
	PartItem  *int64 `json:"part_item,omitempty"`
}

// ColumnWeight says how much a column decided.
type ColumnWeight struct {
	Column int     `json:"column"`
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
}
