package engine

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Weaviate, over REST and GraphQL. A code is a vector of zeros and ones with the distance hamming, spread (shape.go) if
// it has detail, and the flat index reads every vector, so searches are exact.
//
//	Items   key (the id), label, tags, attributes (as JSON), terms (for our filters), and the vector
//
// The description of the class records the model. An object's id is a UUID made from ours, so a batch replaces objects
// and may be sent again; objects are written one by one, so some may have been written when a batch fails.

// weaviate is the engine for Weaviate.
type weaviate struct {
	*rest
	class string
	shape shape // of its codes, once that is known
}

// weaviateSkill is what Weaviate can do: its QUERY_MAXIMUM_RESULTS is 10,000 by default.
var weaviateSkill = skill{most: 10000}

var className = regexp.MustCompile(`^[A-Z][_0-9A-Za-z]{0,200}$`)

func openWeaviate(t Target) (Engine, error) {
	class := strings.ToUpper(t.Table[:1]) + t.Table[1:]
	if !className.MatchString(class) {
		return nil, fmt.Errorf("%q is not a valid class name in Weaviate: use letters, digits and _, starting with a letter",
			t.Table)
	}
	r, err := openRest(t, dialect{name: "Weaviate", variables: []string{"WEAVIATE_API_KEY"}, authorize: bearer})
	if err != nil {
		return nil, err
	}
	return &weaviate{rest: r, class: class}, nil
}

// spaceText records the model in the description of a class or collection.
func spaceText(s Space) string {
	return fmt.Sprintf("hashgrove: codes of %d bits, model %s", s.Bits, s.Fingerprint.Full())
}

// parseSpace parses what spaceText wrote.
func parseSpace(text string) (s Space, err error) {
	var model string
	if n, _ := fmt.Sscanf(text, "hashgrove: codes of %d bits, model %s", &s.Bits, &model); n != 2 || s.Bits < 1 {
		return s, errors.New("it was not made by Hashgrove")
	}
	s.Fingerprint, err = hamming.ParseFingerprint(model)
	return s, err
}

// creation is the request that creates the class.
func (w *weaviate) creation(s Space) request {
	type properties map[string]any
	text := func(name, kind string, filter bool) properties {
		p := properties{"name": name, "dataType": []string{kind}, "indexFilterable": filter, "indexSearchable": false}
		if filter {
			p["tokenization"] = "field"
		}
		return p
	}
	return newRequest(http.MethodPost, "/v1/schema", map[string]any{
		"class": w.class, "description": spaceText(s), "vectorizer": "none",
		"vectorIndexType": "flat", "vectorIndexConfig": properties{"distance": "hamming"},
		"properties": []properties{
			text("key", "text", true), text("label", "text", true), text("tags", "text[]", true),
			text("attributes", "text", false), text("terms", "text[]", true),
		},
	})
}

// uuid returns the id of an object: version 5, in our own namespace.
func (w *weaviate) uuid(id string) string {
	sum := sha1.Sum([]byte("hashgrove\x00" + id))
	sum[6], sum[8] = sum[6]&0x0f|0x50, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// weaviateObject is an item as Weaviate stores it.
type weaviateObject struct {
	Class      string             `json:"class"`
	ID         string             `json:"id"`
	Vector     zerosAndOnes       `json:"vector"`
	Properties weaviateProperties `json:"properties"`
}

type weaviateProperties struct {
	Key        string   `json:"key"`
	Label      string   `json:"label,omitempty"`
	Tags       []string `json:"tags,omitempty"`
	Attributes string   `json:"attributes,omitempty"`
	Terms      []string `json:"terms,omitempty"`
}

// zerosAndOnes is a code as a vector: a byte 0 or 1 per bit.
type zerosAndOnes []byte

// vectorOf returns code i as a vector.
func vectorOf(c hamming.Codes, i int) zerosAndOnes {
	v := make(zerosAndOnes, c.Bits)
	for b := range v {
		if c.Bit(i, b) {
			v[b] = 1
		}
	}
	return v
}

// MarshalJSON writes a list of numbers.
func (v zerosAndOnes) MarshalJSON() ([]byte, error) {
	text := []byte{'['}
	for i, b := range v {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, '0'+b)
	}
	return append(text, ']'), nil
}

// UnmarshalJSON reads a list of numbers, each 0 or 1.
func (v *zerosAndOnes) UnmarshalJSON(text []byte) error {
	inner := strings.Trim(string(text), "[]\n ")
	*v = make(zerosAndOnes, 0, len(inner)/2+1)
	for number := range strings.SplitSeq(inner, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || x != 0 && x != 1 {
			return fmt.Errorf("a vector holds %.20q, but only 0 and 1 are valid", number)
		}
		*v = append(*v, byte(x))
	}
	return nil
}

// batch is the request that writes items.
func (w *weaviate) batch(of shape, b *index.Batch, order []int) (request, error) {
	objects := make([]weaviateObject, len(order))
	for i, r := range order {
		var err error
		if objects[i], err = w.object(of, b, r); err != nil {
			return request{}, err
		}
	}
	return newRequest(http.MethodPost, "/v1/batch/objects", map[string]any{"objects": objects}), nil
}

// object converts an item to an object.
func (w *weaviate) object(of shape, b *index.Batch, i int) (weaviateObject, error) {
	it := b.Item(i)
	if err := checkTexts(w.name, it, index.MaxText, hamming.MaxID); err != nil {
		return weaviateObject{}, err
	}
	p := weaviateProperties{Key: it.ID.String(), Label: it.Label, Tags: it.Tags, Terms: terms(it)}
	if len(it.Attributes) > 0 {
		p.Attributes = string(marshal(it.Attributes))
	}
	return weaviateObject{w.class, w.uuid(p.Key), vectorOf(of.spread(b.Codes, i), 0), p}, nil
}

// graphql builds a GraphQL request.
func (w *weaviate) graphql(format string, args ...any) request {
	return newRequest(http.MethodPost, "/v1/graphql", map[string]string{"query": fmt.Sprintf(format, args...)})
}

// near is the request for the items nearest to each spread code; the answers are named q0, q1 and so on.
func (w *weaviate) near(codes hamming.Codes, limit int, where string) request {
	var list strings.Builder
	for i := range codes.Len() {
		fmt.Fprintf(&list, `q%d:%s(limit:%d,%snearVector:{vector:%s}){key _additional{distance}}`,
			i, w.class, limit, where, marshal(vectorOf(codes, i)))
	}
	return w.graphql(`{Get{%s}}`, list.String())
}

// Plan implements Engine.
func (w *weaviate) Plan(s Space) []Statement {
	sample, of := sampleItem(s), s.shape()
	write, err := w.batch(of, sample, []int{0})
	if err != nil {
		panic(err)
	}
	return []Statement{
		{"make the class, where there is none", w.creation(s).String(), true},
		{"write a batch, here of one item", write.String(), true},
		{"search with the code of your query as a list of zeros and ones" + of.advice(),
			w.near(of.spreadAll(sample.Codes), 10, `where:{path:["label"],operator:Equal,valueText:"boots"},`).String(), false},
	}
}

// sampleItem returns an item for plans.
func sampleItem(s Space) *index.Batch {
	b := index.NewBatch(s.Bits)
	b.Append(index.Item{
		ID: index.Int(17), Code: make([]uint64, b.Codes.Words), Label: "boots", Tags: []string{"sale"},
		Attributes: map[string]index.Value{"price": index.Number(30)},
	})
	return b
}

// weaviateClass is Weaviate's description of a class.
type weaviateClass struct {
	Class       string `json:"class"`
	Description string `json:"description"`
	IndexType   string `json:"vectorIndexType"`
	Index       struct {
		Distance       string
		PQ, BQ, SQ, RQ struct{ Enabled bool }
	} `json:"vectorIndexConfig"`
}

// Info implements Engine.
func (w *weaviate) Info(ctx context.Context) (Info, error) {
	info := Info{Table: w.class}
	var meta struct{ Version string }
	if err := w.call(ctx, newRequest(http.MethodGet, "/v1/meta", nil), &meta); err != nil {
		return Info{}, err
	}
	info.Engine = strings.TrimSpace("Weaviate " + meta.Version)
	var class weaviateClass
	err := w.call(ctx, newRequest(http.MethodGet, "/v1/schema/"+w.class, nil), &class)
	if hasStatus(err, http.StatusNotFound) {
		return Info{}, fmt.Errorf("%w: %s", ErrNoTable, w.class)
	}
	if err != nil {
		return Info{}, err
	}
	if info.Space, err = parseSpace(class.Description); err != nil {
		return Info{}, fmt.Errorf("the class %s exists, but %w: name another table", w.class, err)
	}
	x := class.Index
	if x.Distance != "hamming" {
		return Info{}, fmt.Errorf("the class %s has the distance %s instead of hamming: was it changed?",
			w.class, x.Distance)
	}
	info.Exact = class.IndexType == "flat" && !x.PQ.Enabled && !x.BQ.Enabled && !x.SQ.Enabled && !x.RQ.Enabled
	var shards []struct{ Name string }
	if err := w.call(ctx, newRequest(http.MethodGet, "/v1/schema/"+w.class+"/shards", nil), &shards); err != nil {
		return Info{}, err
	}
	var names []string
	for _, s := range shards {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	info.Identity = strings.Join(names, " ") // Weaviate chooses them anew for every class
	w.shape = info.shape()
	return info, nil
}

// Prepare implements Engine.
func (w *weaviate) Prepare(ctx context.Context, s Space) (Info, error) {
	info, err := w.Info(ctx)
	if errors.Is(err, ErrNoTable) {
		err = w.call(ctx, w.creation(s), nil)
		if err == nil || hasStatus(err, http.StatusUnprocessableEntity) { // someone else may have been faster
			var made error
			if info, made = w.Info(ctx); made == nil || err == nil {
				err = made
			}
		}
	}
	if err == nil {
		err = info.Accept(s)
	}
	if err != nil {
		return Info{}, err
	}
	return info, nil
}

// Write implements Engine, except for all or nothing: if it fails, some items may have been written. They are
// replaced by id, so repeating a call is harmless.
func (w *weaviate) Write(ctx context.Context, b *index.Batch) error {
	order, err := orderOf(b, w.shape.bits)
	if err != nil {
		return err
	}
	q, err := w.batch(w.shape, b, order)
	if err != nil {
		return err
	}
	var answers []struct {
		ID     string
		Result struct {
			Status string
			Errors struct{ Error []struct{ Message string } }
		}
	}
	if err := w.call(ctx, q, &answers); err != nil {
		return refusedItems(err)
	}
	for _, a := range answers {
		if a.Result.Status != "SUCCESS" {
			text := "no reason given"
			if len(a.Result.Errors.Error) > 0 {
				text = a.Result.Errors.Error[0].Message
			}
			return fmt.Errorf("%w: Weaviate says: %s", ErrRefused, w.clean(text))
		}
	}
	if len(answers) != len(order) {
		return fmt.Errorf("%s reported on %d of %d objects", w.name, len(answers), len(order))
	}
	return nil
}
