package engine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Milvus 2.5.5 or later, over version 2 of its REST interface. A code is a BinaryVector, padded to a multiple of 8
// bits, and spread (shape.go) if it has detail; the index BIN_FLAT with the metric HAMMING reads every code, so
// searches are exact.
//
//	items   id, code, label, tags, attributes (JSON), terms (for our filters)
//
// The description of the collection records the model. An upsert replaces entities by id, so a batch may be sent again.
// Milvus validates a whole batch before writing any of it, but makes no further promises about one that fails.

// milvus is the engine for Milvus.
type milvus struct {
	*rest
	database string // "" means the default
	table    string
	shape
}

// Limits of Milvus.
const (
	milvusMost  = 16384 // hits per search, or entities of a query
	milvusText  = 65535 // bytes of a VarChar
	milvusJSON  = 65536 // bytes of a JSON field
	milvusTerms = 4096  // elements of an array
)

var simpleName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var milvusSkill = skill{most: milvusMost, numbers: simpleName.MatchString}

func openMilvus(t Target) (Engine, error) {
	database, table, found := strings.Cut(t.Table, ".")
	if !found {
		database, table = "", t.Table
	}
	if found && !simpleName.MatchString(database) || !simpleName.MatchString(table) || len(t.Table) > 255 {
		return nil, fmt.Errorf("%q is not a valid collection name: use letters, digits and _, starting with a letter; "+
			"a database may stand in front, with a point", t.Table)
	}
	m := &milvus{database: database, table: table}
	var err error
	m.rest, err = openRest(t, dialect{name: "Milvus", variables: []string{"MILVUS_TOKEN"},
		authorize: func(h http.Header, user, secret string) {
			if user != "" {
				secret = user + ":" + secret
			}
			bearer(h, user, secret)
		}})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// post builds a request about the collection.
func (m *milvus) post(path string, body map[string]any) request {
	body["collectionName"] = m.table
	if m.database != "" {
		body["dbName"] = m.database
	}
	return newRequest(http.MethodPost, "/v2/vectordb/"+path, body)
}

// creation is the request that creates the collection.
func (m *milvus) creation(s Space) request {
	type object = map[string]any
	dim := strconv.Itoa(milvusDim(s.shape().wide()))
	length := func(n int) object { return object{"max_length": strconv.Itoa(n)} }
	texts := func(name string, n int) object {
		return object{"fieldName": name, "dataType": "Array", "elementDataType": "VarChar", "elementTypeParams": object{
			"max_capacity": strconv.Itoa(milvusTerms), "max_length": strconv.Itoa(n),
		}}
	}
	return m.post("collections/create", object{
		"description": spaceText(s),
		"schema": object{"autoID": false, "enableDynamicField": false, "fields": []object{
			{"fieldName": "id", "dataType": "VarChar", "isPrimary": true, "elementTypeParams": length(milvusText)},
			{"fieldName": "code", "dataType": "BinaryVector", "elementTypeParams": object{"dim": dim}},
			{"fieldName": "label", "dataType": "VarChar", "elementTypeParams": length(milvusText)},
			texts("tags", milvusText),
			{"fieldName": "attributes", "dataType": "JSON", "elementTypeParams": object{}},
			texts("terms", longestTerm),
		}},
		"indexParams": []object{{
			"fieldName": "code", "indexName": "code", "metricType": "HAMMING", "indexType": "BIN_FLAT",
		}},
		"params": object{"consistencyLevel": "Strong"},
	})
}

// milvusDim returns the length of a BinaryVector for codes of the given length.
func milvusDim(bits int) int { return (bits + 7) / 8 * 8 }

// milvusEntity is an item as Milvus stores it.
type milvusEntity struct {
	ID         string      `json:"id"`
	Code       []byte      `json:"code"` // base64 in JSON
	Label      string      `json:"label"`
	Tags       milvusTexts `json:"tags"`
	Attributes milvusMap   `json:"attributes"`
	Terms      []string    `json:"terms"`

	Distance float64 `json:"distance,omitempty"` // in answers
}

// milvusTexts is an array of texts.
type milvusTexts []string

// UnmarshalJSON reads an array as Milvus writes it: a list since version 3, before that an object keyed by type.
func (t *milvusTexts) UnmarshalJSON(text []byte) error {
	var typed struct {
		Data struct{ StringData struct{ Data []string } }
	}
	if len(text) > 0 && text[0] == '{' {
		err := json.Unmarshal(text, &typed)
		*t = typed.Data.StringData.Data
		return err
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// milvusMap holds attributes.
type milvusMap map[string]index.Value

// UnmarshalJSON reads a document as Milvus writes it: JSON since version 3, before that a string of JSON.
func (a *milvusMap) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		var inner string
		if err := json.Unmarshal(text, &inner); err != nil {
			return err
		}
		text = []byte(inner)
	}
	return json.Unmarshal(text, (*map[string]index.Value)(a))
}

// upsert is the request that writes items.
func (m *milvus) upsert(of shape, b *index.Batch, order []int) (request, error) {
	entities := make([]milvusEntity, len(order))
	for i, r := range order {
		var err error
		if entities[i], err = m.entity(of, b, r); err != nil {
			return request{}, err
		}
	}
	return m.post("entities/upsert", map[string]any{"data": entities}), nil
}

// entity converts an item to an entity.
func (m *milvus) entity(of shape, b *index.Batch, i int) (milvusEntity, error) {
	it := b.Item(i)
	e := milvusEntity{
		ID: it.ID.String(), Code: of.spread(b.Codes, i).AppendBytes(nil, 0), Label: it.Label,
		Tags: append(milvusTexts{}, it.Tags...), Attributes: it.Attributes, Terms: terms(it),
	}
	if e.Attributes == nil {
		e.Attributes = milvusMap{}
	}
	return e, m.check(it, len(e.Terms))
}

// check rejects an item that Milvus cannot store.
func (m *milvus) check(it index.Item, terms int) error {
	if err := checkTexts(m.name, it, milvusText, milvusText); err != nil {
		return err
	}
	if terms > milvusTerms {
		return fmt.Errorf("%w: its label, tags and attributes make %d terms, but Milvus allows %d",
			ErrRefused, terms, milvusTerms)
	}
	if n := len(marshal(it.Attributes)); n > milvusJSON {
		return fmt.Errorf("%w: its attributes take %d bytes of JSON, but Milvus allows %d", ErrRefused, n, milvusJSON)
	}
	return nil
}

// near is the request for the entities nearest to each spread code.
func (m *milvus) near(codes hamming.Codes, limit int, filter string) request {
	data := make([]string, codes.Len())
	for i := range data {
		data[i] = base64.StdEncoding.EncodeToString(codes.AppendBytes(nil, i))
	}
	return m.post("entities/search", map[string]any{
		"data": data, "annsField": "code", "limit": limit, "filter": filter, "outputFields": []string{"id"},
		"consistencyLevel": "Strong",
	})
}

// Plan implements Engine.
func (m *milvus) Plan(s Space) []Statement {
	sample, of := sampleItem(s), s.shape()
	write, err := m.upsert(of, sample, []int{0})
	if err != nil {
		panic(err)
	}
	return []Statement{
		{"make the collection, where there is none", m.creation(s).String(), true},
		{"write a batch, here of one item", write.String(), true},
		{"search with the code of your query in base64, its first bit the highest of the first byte" + of.advice(),
			m.near(of.spreadAll(sample.Codes), 10, `label == "boots" and attributes["price"] < 40`).String(), false},
	}
}

// milvusError is a failure reported by Milvus with a success status.
type milvusError struct {
	Code int
	Text string
}

func (e *milvusError) Error() string { return fmt.Sprintf("Milvus says: %s (%d)", e.Text, e.Code) }

// Is maps Milvus's codes to our errors.
func (e *milvusError) Is(target error) bool {
	switch target {
	case ErrTemporary: // not ready, too many requests, being loaded or recovered
		return slices.Contains([]int{1, 2, 4, 8, 12, 101, 103, 106, 110, 202, 401, 503, 505, 507, 1003, 1807, 2200}, e.Code)
	case ErrNoTable:
		return e.Code == 100
	}
	return false
}

// send sends a request and decodes the data of the response.
func (m *milvus) send(ctx context.Context, q request, data any) (topks []int, err error) {
	var answer struct {
		Code    int
		Message string
		Data    json.RawMessage
		Topks   []int
	}
	if err := m.call(ctx, q, &answer); err != nil {
		return nil, err
	}
	if answer.Code != 0 {
		return nil, &milvusError{answer.Code, m.clean(answer.Message)}
	}
	if data == nil {
		return nil, nil
	}
	if err := json.Unmarshal(answer.Data, data); err != nil {
		return nil, fmt.Errorf("cannot parse a response of Milvus: %w", err)
	}
	return answer.Topks, nil
}

// milvusCollection is Milvus's description of a collection.
type milvusCollection struct {
	CollectionID json.Number
	Description  string
	Load         string
	Fields       []struct {
		Name, Type string
		Params     []struct{ Key, Value string }
	}
}

// describe returns what is known about the collection, and whether it is loaded.
func (m *milvus) describe(ctx context.Context) (info Info, loaded bool, err error) {
	var c milvusCollection
	if _, err := m.send(ctx, m.post("collections/describe", map[string]any{}), &c); err != nil {
		return info, false, err
	}
	info = Info{Engine: "Milvus", Table: m.table, Identity: c.CollectionID.String()}
	if info.Space, err = parseSpace(c.Description); err != nil {
		return info, false, fmt.Errorf("the collection %s exists, but %w: name another table, or use Milvus 2.5.5 or later",
			m.table, err)
	}
	for _, f := range c.Fields {
		for _, p := range f.Params {
			if f.Name == "code" && p.Key == "dim" && p.Value != strconv.Itoa(milvusDim(info.shape().wide())) {
				return info, false, fmt.Errorf("the field code of %s has %s bits instead of %d: was it changed?",
					m.table, p.Value, milvusDim(info.shape().wide()))
			}
		}
	}
	var indexes []struct{ FieldName, IndexType, MetricType string }
	if _, err := m.send(ctx, m.post("indexes/describe", map[string]any{"indexName": "code"}), &indexes); err != nil {
		return info, false, err
	}
	for _, x := range indexes {
		info.Exact = x.IndexType == "BIN_FLAT"
		if x.MetricType != "HAMMING" {
			return info, false, fmt.Errorf("the index of %s has the metric %s instead of HAMMING: was it changed?",
				m.table, x.MetricType)
		}
	}
	return info, c.Load == "LoadStateLoaded", nil
}

// Info implements Engine. It loads the collection if it was released, and waits until it is loaded.
func (m *milvus) Info(ctx context.Context) (Info, error) {
	asked, start := false, time.Now()
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		info, loaded, err := m.describe(ctx)
		if err != nil {
			return Info{}, err
		}
		if loaded {
			m.shape = info.shape()
			return info, nil
		}
		if !asked {
			if _, err := m.send(ctx, m.post("collections/load", map[string]any{}), nil); err != nil {
				return Info{}, err
			}
			asked = true
		}
		if time.Since(start) > longestWait {
			return Info{}, fmt.Errorf("%w: Milvus does not load the collection %s", ErrTemporary, m.table)
		}
		select {
		case <-ctx.Done():
			return Info{}, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// Prepare implements Engine.
func (m *milvus) Prepare(ctx context.Context, s Space) (Info, error) {
	info, err := m.Info(ctx)
	if errors.Is(err, ErrNoTable) {
		if _, err = m.send(ctx, m.creation(s), nil); err == nil {
			info, err = m.Info(ctx)
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

// Write implements Engine, except that Milvus does not promise all or nothing. Items are replaced by id, so
// repeating a call is harmless.
func (m *milvus) Write(ctx context.Context, b *index.Batch) error {
	order, err := orderOf(b, m.bits)
	if err != nil {
		return err
	}
	q, err := m.upsert(m.shape, b, order)
	if err != nil {
		return err
	}
	var written struct{ UpsertCount int }
	if _, err := m.send(ctx, q, &written); err != nil {
		said, ok := errors.AsType[*milvusError](err)
		if ok && slices.Contains([]int{1100, 1101, 1102, 1801, 1802, 1804}, said.Code) { // the data are invalid
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return refusedItems(err)
	}
	if written.UpsertCount != len(order) {
		return fmt.Errorf("%s wrote %d of %d entities", m.name, written.UpsertCount, len(order))
	}
	return nil
}
