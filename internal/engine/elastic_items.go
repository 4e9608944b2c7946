package engine

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Limits of the services.
const (
	mostElasticID   = 512   // bytes per id
	mostKeyword     = 32766 // bytes per keyword
	mostElasticHits = 10000 // hits per response
	elasticPage     = 2000  // items read at a time
	elasticQueries  = 32    // sent together
)

// document is an item in the index.
type document struct {
	ID         string             `json:"id"`
	Order      string             `json:"id_order"`
	Code       []int              `json:"code"`
	Hex        string             `json:"hex"`
	Label      string             `json:"label,omitempty"`
	Tags       []string           `json:"tags,omitempty"`
	Attributes []elasticAttribute `json:"attributes,omitempty"`
}

// elasticAttribute is a nested document.
type elasticAttribute struct {
	Name   string   `json:"name"`
	Text   *string  `json:"text,omitempty"`
	Number *float64 `json:"number,omitempty"`
}

// numbers returns code i as a list of signed bytes.
func numbers(c hamming.Codes, i int) []int {
	list := make([]int, 0, c.Bytes())
	for _, b := range c.AppendBytes(nil, i) {
		list = append(list, int(int8(b)))
	}
	return list
}

// unsigned turns -0 into 0, since comparisons of doubles tell them apart.
func unsigned(x float64) float64 {
	if x == 0 {
		return 0
	}
	return x
}

// documents returns a batch as the lines of a bulk request, ordered by id.
func (e *elastic) documents(of shape, b *index.Batch) ([]byte, error) {
	order, err := b.Order(true)
	if err != nil {
		return nil, err
	}
	var lines []byte
	for _, r := range order {
		if lines, err = e.appendLines(of, lines, b, r); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// appendLines appends the two lines of an item.
func (e *elastic) appendLines(of shape, dst []byte, b *index.Batch, i int) ([]byte, error) {
	d, err := e.document(of, b, i)
	if err != nil {
		return dst, err
	}
	dst = append(append(dst, marshal(dsl{"index": dsl{"_id": d.ID}})...), '\n')
	return append(append(dst, marshal(d)...), '\n'), nil
}

// document converts an item.
func (e *elastic) document(of shape, b *index.Batch, i int) (document, error) {
	it := b.Item(i)
	if err := checkTexts(e.name, it, mostKeyword, mostElasticID); err != nil {
		return document{}, err
	}
	d := document{
		ID: it.ID.String(), Order: orderKey(it.ID), Code: numbers(of.spread(b.Codes, i), 0),
		Hex: hex.EncodeToString(b.Codes.AppendBytes(nil, i)), Label: it.Label, Tags: it.Tags,
	}
	for _, name := range slices.Sorted(maps.Keys(it.Attributes)) {
		a := elasticAttribute{Name: name}
		if text, isText := it.Attributes[name].Text(); isText {
			a.Text = &text
		} else {
			number, _ := it.Attributes[name].Number()
			number = unsigned(number)
			a.Number = &number
		}
		d.Attributes = append(d.Attributes, a)
	}
	return d, nil
}

// bulk is the request that writes lines.
func (e *elastic) bulk(lines []byte) request {
	return request{method: "POST", path: e.path("/_bulk"), body: lines, kind: "application/x-ndjson"}
}

// bulkAnswer reports the outcome for each item.
type bulkAnswer struct {
	Errors bool `json:"errors"`
	Items  []struct {
		Index struct {
			ID     string          `json:"_id"`
			Status int             `json:"status"`
			Error  json.RawMessage `json:"error"`
		} `json:"index"`
	} `json:"items"`
}

// Write implements Engine. After an error some items may have been written; sending them again replaces them.
func (e *elastic) Write(ctx context.Context, b *index.Batch) error {
	if b.Codes.Bits != e.bits {
		return fmt.Errorf("codes of %d bits for a table of codes of %d", b.Codes.Bits, e.bits)
	}
	lines, err := e.documents(e.shape, b)
	if err != nil || len(lines) == 0 {
		return err
	}
	var answer bulkAnswer
	defer e.behind.Store(true)
	if err := e.call(ctx, e.bulk(lines), &answer); err != nil {
		return refusedItems(err)
	}
	return e.checkBulk(answer, bytes.Count(lines, []byte("\n"))/2)
}

// checkBulk checks the outcome of every item.
func (e *elastic) checkBulk(answer bulkAnswer, sent int) error {
	if len(answer.Items) != sent {
		return fmt.Errorf("%s reported on %d of %d items: is a proxy in between?", e.name, len(answer.Items), sent)
	}
	var refused, late []string
	for _, item := range answer.Items {
		said := fmt.Sprintf("%q: %d %s", item.Index.ID, item.Index.Status, reason(item.Index.Error))
		switch status := item.Index.Status; {
		case status/100 == 2:
		case isBusy(status):
			late = append(late, said)
		default:
			refused = append(refused, said)
		}
	}
	switch {
	case len(late) > 0:
		return fmt.Errorf("%w: %s skipped %d of %d items, the first one %s", ErrTemporary, e.name, len(late), sent,
			e.clean(late[0]))
	case len(refused) > 0:
		return fmt.Errorf("%w: %s rejects %d of %d items: %s", ErrRefused, e.name, len(refused), sent,
			e.clean(strings.Join(refused[:min(len(refused), 3)], "; ")))
	case answer.Errors:
		return fmt.Errorf("%s reports failed items, but not which", e.name)
	}
	return nil
}

// reason extracts the cause from the error of an item.
func reason(raw json.RawMessage) string {
	var detail struct {
		Type   string `json:"type"`
		Reason string `json:"reason"`
		Caused struct {
			Reason string `json:"reason"`
		} `json:"caused_by"`
	}
	if json.Unmarshal(raw, &detail) != nil {
		return string(raw)
	}
	return strings.TrimSuffix(detail.Type+": "+detail.Reason+": "+detail.Caused.Reason, ": ")
}

// refresh makes writes visible to searches. Read-only users may not be allowed to do so.
func (e *elastic) refresh(ctx context.Context) error {
	if !e.behind.Swap(false) {
		return nil
	}
	err := e.call(ctx, newRequest("POST", e.path("/_refresh"), nil), nil)
	if hasStatus(err, http.StatusForbidden) {
		return nil
	}
	if err != nil {
		e.behind.Store(true)
	}
	return err
}

// search is the body of a search for a spread code. The score is bits - distance.
func (e *elastic) search(q Query, filter dsl, code []int, of shape) dsl {
	bits := of.wide()
	field := "'code'"
	if e.open {
		field = "doc['code']"
	}
	score := dsl{
		"query": all(filter),
		"script": dsl{
			"source": "params.bits - hamming(params.code, " + field + ")", "params": dsl{"bits": bits, "code": code},
		},
	}
	if q.Radius >= 0 {
		score["min_score"] = max(bits-of.radius(q.Radius), 0)
	}
	size := mostElasticHits
	if q.K > 0 {
		size = min(q.K, size)
	}
	return dsl{
		"size": size, "query": dsl{"script_score": score}, "_source": false, "track_total_hits": false,
		"sort": []dsl{{"_score": dsl{"order": "desc"}}, {"id_order": dsl{"order": "asc"}}},
	}
}

// hitsAnswer is the response to a search.
type hitsAnswer struct {
	PIT    string          `json:"pit_id"`
	Late   bool            `json:"timed_out"`
	Status int             `json:"status"`
	Error  json.RawMessage `json:"error"`
	Shards struct {
		Failed int `json:"failed"`
	} `json:"_shards"`
	Hits struct {
		Hits []struct {
			ID     string   `json:"_id"`
			Source document `json:"_source"`
			Sort   []any    `json:"sort"`
		} `json:"hits"`
	} `json:"hits"`
}

// check rejects incomplete responses.
func (e *elastic) check(a *hitsAnswer) error {
	switch {
	case len(a.Error) > 0:
		return &StatusError{e.name, a.Status, e.clean(reason(a.Error))}
	case a.Late || a.Shards.Failed > 0:
		return fmt.Errorf("%w: %s answered from only some of its shards", ErrTemporary, e.name)
	}
	return nil
}

// Search implements Engine.
func (e *elastic) Search(ctx context.Context, q Query) ([][]index.Hit, error) {
	if err := q.check(e.bits); err != nil {
		return nil, err
	}
	filter, err := elasticFilter{e.name}.condition(q.Filter)
	if err == nil {
		err = e.refresh(ctx)
	}
	if err != nil {
		return nil, err
	}
	hits := make([][]index.Hit, q.Codes.Len())
	pending := make([]dsl, len(hits)) // searches with more pages
	for i := range pending {
		hits[i], pending[i] = []index.Hit{}, e.search(q, filter, numbers(e.spread(q.Codes, i), 0), e.shape)
	}
	for first := 0; first < len(hits); first += elasticQueries {
		for {
			more, err := e.pages(ctx, q.K, pending[first:min(first+elasticQueries, len(hits))], hits[first:])
			if err != nil {
				return nil, err
			}
			if !more {
				break
			}
		}
	}
	return e.apart(ctx, e, q, hits)
}

// pages fetches the next page of every unfinished search and appends it to the hits.
func (e *elastic) pages(ctx context.Context, k int, pending []dsl, hits [][]index.Hit) (more bool, err error) {
	var lines bytes.Buffer
	var asked []int
	for i, search := range pending {
		if search != nil {
			lines.WriteString("{}\n")
			lines.Write(marshal(search))
			lines.WriteByte('\n')
			asked = append(asked, i)
		}
	}
	var answers struct {
		Responses []hitsAnswer `json:"responses"`
	}
	q := request{method: "POST", path: e.path("/_msearch"), body: lines.Bytes(), kind: "application/x-ndjson"}
	if err := e.call(ctx, q, &answers); err != nil {
		return false, err
	}
	if len(answers.Responses) != len(asked) {
		return false, fmt.Errorf("%s answered %d of %d searches", e.name, len(answers.Responses), len(asked))
	}
	for n, i := range asked {
		a, search := &answers.Responses[n], pending[i]
		if err := e.check(a); err != nil {
			return false, err
		}
		for _, h := range a.Hits.Hits {
			hit, err := e.hit(h.ID, h.Sort)
			if err != nil {
				return false, err
			}
			hits[i] = append(hits[i], hit)
		}
		got := len(a.Hits.Hits)
		if pending[i] = nil; got < search["size"].(int) || k > 0 && len(hits[i]) >= k {
			continue
		}
		search["search_after"] = a.Hits.Hits[got-1].Sort
		if k > 0 {
			search["size"] = min(k-len(hits[i]), mostElasticHits)
		}
		pending[i], more = search, true
	}
	return more, nil
}

// hit derives the distance from the score by which a hit was sorted.
func (e *elastic) hit(id string, sort []any) (index.Hit, error) {
	key, err := index.ParseID(id)
	if err != nil {
		return index.Hit{}, err
	}
	if len(sort) == 0 {
		return index.Hit{}, fmt.Errorf("%s did not return the score of %q", e.name, id)
	}
	digits, _ := sort[0].(json.Number)
	score, err := digits.Float64()
	distance := e.wide() - int(score)
	if err != nil || score != math.Trunc(score) || distance < 0 || distance > e.wide() {
		return index.Hit{}, fmt.Errorf("%s scores %q with %v, not a distance of %d bits", e.name, id, sort[0], e.wide())
	}
	return index.Hit{ID: key, Distance: distance}, nil
}

// Count implements Engine.
func (e *elastic) Count(ctx context.Context) (int, error) {
	if err := e.refresh(ctx); err != nil {
		return 0, err
	}
	var answer struct {
		Count  int `json:"count"`
		Shards struct {
			Failed int `json:"failed"`
		} `json:"_shards"`
	}
	err := e.call(ctx, newRequest("GET", e.path("/_count"), nil), &answer)
	if err == nil && answer.Shards.Failed > 0 {
		err = fmt.Errorf("%w: %s counted in only some of its shards", ErrTemporary, e.name)
	}
	return answer.Count, err
}

// Read implements Engine. It reads from a point in time, so that concurrent writes do not show.
func (e *elastic) Read(ctx context.Context, f index.Filter, take func(*index.Batch) error) error {
	filter, err := elasticFilter{e.name}.condition(f)
	if err == nil {
		err = e.refresh(ctx)
	}
	if err != nil {
		return err
	}
	opening, closing := "/_pit", func(id string) request { return newRequest("DELETE", "/_pit", dsl{"id": id}) }
	if e.open {
		opening, closing = "/_search/point_in_time", func(id string) request {
			return newRequest("DELETE", "/_search/point_in_time", dsl{"pit_id": []string{id}})
		}
	}
	var pit struct {
		ID   string `json:"id"`
		Open string `json:"pit_id"`
	}
	if err := e.call(ctx, newRequest("POST", e.path(opening+"?keep_alive="+keepAlive), nil), &pit); err != nil {
		return err
	}
	id, err := e.readPages(ctx, pit.ID+pit.Open, all(filter), take)
	ended := e.call(context.WithoutCancel(ctx), closing(id), nil)
	if err == nil && !hasStatus(ended, http.StatusNotFound) {
		err = ended
	}
	return err
}

// keepAlive is how long a point in time waits for the next page.
const keepAlive = "5m"

// readPages reads all pages from a point in time and returns its latest id.
func (e *elastic) readPages(ctx context.Context, pit string, query dsl, take func(*index.Batch) error) (string, error) {
	search := dsl{
		"size": elasticPage, "query": query, "track_total_hits": false, "sort": []dsl{{"id_order": dsl{"order": "asc"}}},
		"_source": []string{"id", "hex", "label", "tags", "attributes"},
	}
	for {
		search["pit"] = dsl{"id": pit, "keep_alive": keepAlive}
		var page hitsAnswer
		if err := e.call(ctx, newRequest("POST", "/_search", search), &page); err != nil {
			return pit, err
		}
		if err := e.check(&page); err != nil {
			return pit, err
		}
		if page.PIT != "" {
			pit = page.PIT
		}
		b, code := index.NewBatch(e.bits), hamming.NewCodes(1, e.bits)
		for _, h := range page.Hits.Hits {
			it, err := h.Source.item(code)
			if err != nil {
				return pit, fmt.Errorf("document %s: %w", strconv.Quote(h.ID), err)
			}
			b.Append(it)
			search["search_after"] = h.Sort
		}
		if len(b.IDs) > 0 {
			if err := take(b); err != nil {
				return pit, err
			}
		}
		if len(b.IDs) < elasticPage {
			return pit, nil
		}
	}
}

// item converts a document to an item with the given code.
func (d *document) item(code hamming.Codes) (index.Item, error) {
	it := index.Item{Code: code.Row(0), Label: d.Label, Tags: d.Tags}
	packed, err := hex.DecodeString(d.Hex)
	if err != nil || !code.SetBytes(0, packed) {
		return it, fmt.Errorf("its code %q does not have %d bits", d.Hex, code.Bits)
	}
	if it.ID, err = index.ParseID(d.ID); err != nil {
		return it, err
	}
	for _, a := range d.Attributes {
		if it.Attributes == nil {
			it.Attributes = map[string]index.Value{}
		}
		switch {
		case a.Text != nil:
			it.Attributes[a.Name] = index.String(*a.Text)
		case a.Number != nil:
			it.Attributes[a.Name] = index.Number(*a.Number)
		}
	}
	return it, nil
}
