package api

import (
	"encoding/json"
	"strconv"
)

// AppendJSON appends the answer exactly as package json would write it, in a fraction of the time: answers are most of
// what a service writes.
func (a *Answer) AppendJSON(b []byte) (_ []byte, err error) {
	b = append(b, '{')
	if a.Collection != "" {
		b = append(appendText(append(b, `"collection":`...), a.Collection), ',')
	}
	b = appendText(append(b, `"fingerprint":`...), a.Fingerprint)
	b = strconv.AppendInt(append(b, `,"items":`...), int64(a.Items), 10)
	b = strconv.AppendInt(append(b, `,"bits":`...), int64(a.Bits), 10)
	if b, err = appendValue(append(b, `,"seconds":`...), a.Seconds); err != nil {
		return nil, err
	}
	b = appendText(append(b, `,"rank":`...), a.Rank)
	b = append(b, `,"results":[`...)
	for i := range a.Results {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = a.Results[i].appendJSON(b); err != nil {
			return nil, err
		}
	}
	b = append(b, ']')
	if len(a.Doubts) > 0 {
		if b, err = appendValue(append(b, `,"doubts":`...), a.Doubts); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func (a *Result) appendJSON(b []byte) (_ []byte, err error) {
	b = appendText(append(b, `{"query":`...), a.Query)
	if a.Label != "" {
		b = appendText(append(b, `,"label":`...), a.Label)
	}
	b = appendText(append(b, `,"code":`...), a.Code)
	b = append(b, `,"hits":[`...)
	for i := range a.Hits {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = a.Hits[i].appendJSON(b); err != nil {
			return nil, err
		}
	}
	b = append(b, ']')
	if len(a.Plan) > 0 {
		if b, err = appendValue(append(b, `,"plan":`...), a.Plan); err != nil {
			return nil, err
		}
	}
	if a.Why != nil {
		if b, err = appendValue(append(b, `,"why":`...), a.Why); err != nil {
			return nil, err
		}
	}
	for _, n := range []struct {
		key   string
		value int
	}{{`,"tied":`, a.Tied}, {`,"tied_hits":`, a.TiedHits}, {`,"compared":`, a.Compared}} {
		if n.value != 0 {
			b = strconv.AppendInt(append(b, n.key...), int64(n.value), 10)
		}
	}
	return append(b, '}'), nil
}

// appendValue appends any value as package json writes it.
func appendValue(b []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(b, text...), err
}

// appendText appends a quoted text. Texts that need escapes are left to package json.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, err := json.Marshal(s)
			if err != nil { // cannot happen for a text
				panic("api: " + err.Error())
			}
			return append(b, text...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
