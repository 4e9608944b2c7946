package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"hashgrove/api"
	"hashgrove/internal/model"
)

// point is a request with a value of every kind.
type point struct {
	Name    string         `json:"name"`
	K       *int           `json:"k"`
	On      bool           `json:"on"`
	Bytes   []byte         `json:"bytes"`
	Vector  []float32      `json:"vector"`
	Vectors [][]float32    `json:"vectors"`
	List    []point        `json:"list"`
	Values  map[string]any `json:"values"`
	ID      api.ID         `json:"id"`
}

func TestValidRequestsAreDecodedAsByPackageJSON(t *testing.T) {
	for _, text := range []string{
		`{}`, ` { "name" : "é\n\u00e9\ud83d\ude00" } `, `{"k":3,"on":true}`, `{"bytes":"AQID"}`, `{"vector":[1,-2.5,1e-3]}`,
		`{"vector":[0.1,0.30000001192092896,16777217]}`, `{"vectors":[[1,2,3],[4,5,6]]}`, `{"vectors":[]}`,
		`{"list":[{"name":"a"},{"list":[{"name":"b"}]}]}`, `{"values":{"a":1,"b":"x","c":true,"":-0.5e3}}`,
		`{"id":7}`, `{"id":"7"}`, `{"id":"a/b"}`, `{"list":[]}`,
	} {
		var got, want point
		if err := decoderOfThree(1<<20).decode([]byte(text), &got); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); got.K == nil && a != b {
			t.Errorf("%s: got %s, want %s", text, a, b)
		}
	}
}

// decoderOfThree is a decoder for vectors of three values, with so much memory.
func decoderOfThree(memory int64) *decoder {
	m := &model.Model{Encoder: &model.Projection{Weight: make([]float32, 3*8), Threshold: make([]float32, 8)}}
	limits := Limits{Batch: 100_000, Bodies: memory}.WithDefaults()
	budget := new(atomic.Int64)
	budget.Store(memory)
	return &decoder{answer: &answer{budget: budget}, limits: &limits, model: m}
}

// TestWhatIsRefused: every request that is not understood is refused with the name of what is wrong.
func TestWhatIsRefused(t *testing.T) {
	for text, names := range map[string]string{
		``: "empty", ` `: "empty", `{`: "early", `{"name":"a`: "early", `{}{}`: "byte", `{} x`: "byte", `[]`: "list",
		`{"name":"a","name":"b"}`: `name`, `{"name":"a","n\u0061me":"b"}`: `name`, `{"NAME":"a"}`: "NAME", `{"other":1}`: "other",
		`{"name":null}`: "name", `{"k":null}`: "k is null", `{"on":null}`: "on", `{"list":[null]}`: "list[0]", `{"list":null}`: "list",
		`{"values":null}`: "values", `{"values":{"a":null}}`: "values.a", `{"values":{"a":[1]}}`: "values.a", `{"values":{"a":{}}}`: "values.a",
		`{"values":{"a":1,"a":2}}`: "values.a", `{"values":{"a":1e999}}`: "values.a", `{"id":null}`: "id", `{"id":1.5}`: "1.5",
		`{"k":"3"}`: "k", `{"k":1.5}`: "k", `{"on":1}`: "on", `{"name":1}`: "name", `{"bytes":"!"}`: "bytes", `{"bytes":7}`: "bytes",
		"{\"name\":\"\xff\"}": "UTF-8", `{"name":"\ud800"}`: "surrogate", "{\"\xff\":1}": "UTF-8",
		`{"vector":[1,2,null]}`: "column 2 is null", `{"vectors":[[1,2,3],[1,null,3]]}`: "vectors[1]: column 1 is null",
		`{"vector":[1,"2",3]}`: "column 1", `{"vector":[1,[],3]}`: "column 1", `{"vector":[1,2,1e39]}`: "column 2", `{"vector":null}`: "vector",
		`{"vector":"1"}`: "vector", `{"vector":{}}`: "vector", `{"vector":[1,2]}`: "2 values", `{"vector":[]}`: "0 values",
		`{"vector":[1,2,3,4]}`: "more than the 3", `{"vectors":[[1,2,3],[1]]}`: "vectors[1]", `{"vectors":[null]}`: "vectors",
		`{"list":[{"list":[{"k":"x"}]}]}`: "list[0].list[0].k", strings.Repeat(`{"list":[`, 9): "deep",
	} {
		err := decoderOfThree(1<<20).decode([]byte(text), new(point))
		if err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%.80q: %v, want a word about %s", text, err, names)
		}
	}
}

// TestBounds: lists, vectors and memory end where they must.
func TestBounds(t *testing.T) {
	list := func(entry string, n int) string { return strings.Repeat(entry+",", n-1) + entry }
	full := new(failure)
	if err := decoderOfThree(1<<30).decode([]byte(`{"list":[`+list(`{}`, 100_000)+`]}`), new(point)); err != nil {
		t.Error(err)
	}
	if err := decoderOfThree(1<<30).decode([]byte(`{"list":[`+list(`{}`, 100_001)+`]}`), new(point)); !errors.As(err, &full) || full.status != 413 {
		t.Errorf("a long list: %v", err)
	}
	if err := decoderOfThree(1<<30).decode([]byte(`{"vector":[`+list(`1`, 5)+`,!`), new(point)); !errors.Is(err, api.ErrDimension) {
		t.Errorf("a long vector: %v", err)
	}
	without := decoderOfThree(1 << 30)
	without.model = nil
	if err := without.decode([]byte(`{"vector":[1]}`), new(point)); !errors.Is(err, api.ErrNoModel) {
		t.Errorf("vectors without a model: %v", err)
	}
	for name, text := range map[string]string{
		"vectors": `{"vectors":[` + list(`[1,2,3]`, 100_000) + `]}`, "objects": `{"list":[` + list(`{}`, 100_000) + `]}`,
		"texts":      `{"list":[` + list(`{"name":"`+strings.Repeat("x", 1000)+`"}`, 2_000) + `]}`,
		"attributes": `{"list":[` + list(`{"values":{"a":1,"b":2}}`, 20_000) + `]}`,
	} {
		if err := decoderOfThree(1<<20).decode([]byte(text), new(point)); !errors.As(err, &full) || full.status != 413 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
