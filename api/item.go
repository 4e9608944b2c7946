package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ID is the id of an item. A text that spells an integer is that integer.
type ID string

// Int returns the id of an integer.
func Int(n int64) ID { return ID(strconv.FormatInt(n, 10)) }

// Integer returns the integer that the id spells, and whether it does.
func (id ID) Integer() (int64, bool) {
	digits := strings.TrimPrefix(string(id), "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || digits[0] == '0' && id != "0" {
		return 0, false // not the shortest spelling, which "007", "-0" and "+7" are not
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return n, err == nil
}

// MarshalJSON writes integers as numbers and other ids as texts.
func (id ID) MarshalJSON() ([]byte, error) {
	if _, ok := id.Integer(); ok {
		return []byte(id), nil
	}
	return json.Marshal(string(id))
}

// UnmarshalJSON reads a number or a text; null leaves the id as it is.
func (id *ID) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, (*string)(id)); err != nil || *id != "" {
			return err
		}
		return errors.New("an id is not empty")
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return fmt.Errorf("the id %.40s is neither an integer nor a text", b)
	}
	*id = Int(n)
	return nil
}

// Item is an item of an index.
type Item struct {
	ID         ID             `json:"id"`
	Code       string         `json:"code"` // hexadecimal digits
	Label      string         `json:"label,omitempty"`
	Tags       []string       `json:"tags,omitempty"`
	Attributes map[string]any `json:"attributes,omitempty"` // numbers are float64, texts are string
}

// NewItem is an item to write, with exactly one of Vector, Code, PackedCode and Picture.
type NewItem struct {
	ID         ID             `json:"id"`
	Vector     []float32      `json:"vector,omitempty"`
	Code       string         `json:"code,omitempty"`        // hexadecimal digits
	PackedCode []byte         `json:"code_base64,omitempty"` // the bytes of a code
	Picture    []byte         `json:"picture,omitempty"`     // a picture file; the model must take pictures
	Label      string         `json:"label,omitempty"`
	Tags       []string       `json:"tags,omitempty"`
	Attributes map[string]any `json:"attributes,omitempty"` // numbers and texts
}

// Change says what to change about an item other than its code. Nil fields stay as they are; an empty label or an empty
// list of tags removes the item's own.
type Change struct {
	ID         ID             `json:"id"`
	Label      *string        `json:"label,omitempty"`
	Tags       []string       `json:"tags,omitzero"`
	Attributes map[string]any `json:"attributes,omitempty"` // numbers and texts; the others stay
}

// ItemsPage is a page of items, in order of id.
type ItemsPage struct {
	Collection  string `json:"collection"`
	Fingerprint string `json:"fingerprint"`
	Items       []Item `json:"items"`
	Total       int    `json:"total"`          // matches on all pages
	Next        ID     `json:"next,omitempty"` // where the next page starts; empty on the last page
}

// DeleteRequest says what to delete: either ids or the matches of a filter.
type DeleteRequest struct {
	IDs    []ID    `json:"ids,omitempty"`
	Where  *string `json:"where,omitempty"`
	DryRun bool    `json:"dry_run,omitempty"` // only say what would be deleted
}

// Deleted lists what was deleted or, in a dry run, would be.
type Deleted struct {
	Collection  string `json:"collection"`
	Fingerprint string `json:"fingerprint"`
	Deleted     int    `json:"deleted"`
	DryRun      bool   `json:"dry_run"`
	IDs         []ID   `json:"ids"`      // the first 100
	MoreIDs     int    `json:"more_ids"` // not listed in IDs
}

// EncodeRequest holds what to encode: either vectors or picture files.
type EncodeRequest struct {
	Vectors  [][]float32 `json:"vectors,omitempty"`
	Pictures [][]byte    `json:"pictures,omitempty"`
	Margins  bool        `json:"margins,omitempty"` // say how certain each bit is
}

// EncodeAnswer holds one code per vector or picture, in the same order.
type EncodeAnswer struct {
	Collection  string      `json:"collection"`
	Fingerprint string      `json:"fingerprint"`
	Bits        int         `json:"bits"`
	Codes       []string    `json:"codes"` // hexadecimal digits
	Margins     [][]float32 `json:"margins,omitempty"`
}

// ExplainRequest asks why an item is near a query.
type ExplainRequest struct {
	Query Query `json:"query"`
	ID    ID    `json:"id"` // of the item
}

// Explanation is a service's answer to an ExplainRequest.
type Explanation struct {
	Collection  string `json:"collection"`
	Fingerprint string `json:"fingerprint"`
	Why
}
