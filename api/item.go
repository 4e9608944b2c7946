package api

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// ID is the id of an item. A text that spells an integer is that integer.
type ID string

// Int returns the id of an integer.
func Int(n int64) ID { return ID(strconv.FormatInt(n, 10)) }

// Integer returns the integer that the id spells, and whether it does.
func (id ID) Integer() (int64, bool) {
	n, err := strconv.ParseInt(string(id), 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == string(id)
}

// MarshalJSON writes integers as numbers and other ids as texts.
func (id ID) MarshalJSON() ([]byte, error) {
	if _, ok := id.Integer(); ok {
		return []byte(id), nil
	}
	return json.Marshal(string(id))
}

// UnmarshalJSON reads a number or a text.
func (id *ID) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(id))
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
	Code       string         `json:"code,omitempty"` // hexadecimal digits
	Label      string         `json:"label,omitempty"`
	Tags       []string       `json:"tags,omitempty"`
	Attributes map[string]any `json:"attributes,omitempty"` // numbers are float64, texts are string
}
