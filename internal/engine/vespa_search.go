package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// vespaTimeout is how long a search may take; half a second is what Vespa has by itself, and what it has found until
// then would be all.
const vespaTimeout = "100s"

// vespaItem names the fields of an item.
const vespaItem = "key, code, label, tags, attributes"

// query is a search for some fields of documents that match a condition.
func (v *vespa) query(fields, where string, hits int, more map[string]any) request {
	body := map[string]any{
		"yql": "select " + fields + " from sources " + v.table + " where " + where, "hits": hits, "timeout": vespaTimeout,
		"ranking": "unranked", "ranking.softtimeout.enable": false,
	}
	maps.Copy(body, more)
	return newRequest(http.MethodPost, "/search/", body)
}

// near is a search for the documents nearest to code i.
func (v *vespa) near(codes hamming.Codes, i, limit int, condition string) request {
	where := fmt.Sprintf("{targetHits: %d, approximate: false}nearestNeighbor(code, q)", limit)
	if condition != "" {
		where += " and " + condition
	}
	cells := make([]string, 0, codes.Bytes())
	for _, b := range codes.AppendBytes(nil, i) {
		cells = append(cells, strconv.Itoa(int(int8(b))))
	}
	return v.query("key", where, limit, map[string]any{
		"ranking": "hamming", "input.query(q)": "[" + strings.Join(cells, ",") + "]",
	})
}

// vespaRoot is the answer to a search.
type vespaRoot struct {
	Fields   struct{ TotalCount int }
	Coverage struct {
		Full     *bool
		Coverage float64
	}
	Errors   []struct{ Summary, Message string }
	Children []struct {
		Fields struct {
			vespaFields
			Features map[string]float64 `json:"matchfeatures"`
		}
	}
}

// find searches. What looks at a part of the documents alone is no answer.
func (v *vespa) find(ctx context.Context, q request) (vespaRoot, error) {
	var answer struct{ Root vespaRoot }
	if err := v.call(ctx, q, &answer); err != nil {
		return vespaRoot{}, err
	}
	root := answer.Root
	if len(root.Errors) > 0 {
		e := root.Errors[0]
		return root, fmt.Errorf("%s says: %s", v.name, v.clean(strings.TrimSpace(e.Summary+" "+e.Message)))
	}
	if root.Coverage.Full != nil && !*root.Coverage.Full {
		return root, fmt.Errorf("%w: Vespa searched %v%% of the documents", ErrTemporary, root.Coverage.Coverage)
	}
	return root, nil
}

// condition writes a clause in YQL. A negation stands beside what it takes from.
func (v *vespa) condition(c clause) string {
	return c.write("and", "or", "(true and !(%s))", func(c clause) string {
		texts := make([]string, len(c.texts))
		for i, text := range c.texts {
			if texts[i] = vespaTerm(text); c.op == "ids" {
				texts[i] = idTerm(text)
			}
		}
		if c.op == "all" {
			return "true"
		}
		return "terms in " + vespaStrings(texts)
	})
}

// ask implements finder.
func (v *vespa) ask(ctx context.Context, codes hamming.Codes, limit int, c clause) ([][]index.Hit, error) {
	condition := v.condition(c)
	if c.op == "all" {
		condition = ""
	}
	all := make([][]index.Hit, codes.Len())
	for i := range all {
		root, err := v.find(ctx, v.near(codes, i, limit, condition))
		if err != nil {
			return nil, err
		}
		for _, child := range root.Children {
			id, err := index.ParseID(child.Fields.Key)
			if err != nil {
				return nil, err
			}
			distance, ok := child.Fields.Features["distance(field,code)"]
			if !ok {
				return nil, fmt.Errorf("%s tells no distance of %q: is the schema the one that a dry run shows?",
					v.name, id.String())
			}
			all[i] = append(all[i], index.Hit{ID: id, Distance: int(math.Round(distance))})
		}
	}
	return all, nil
}

// scan implements finder: few documents come from a search, and many from a visit, which takes no such condition.
func (v *vespa) scan(ctx context.Context, c clause, take func(*index.Batch) error) error {
	if c.op == "ids" {
		const some = 500
		for ids := range slices.Chunk(c.texts, some) {
			root, err := v.find(ctx, v.query(vespaItem, v.condition(withAny("ids", slices.Clone(ids)...)), len(ids), nil))
			if err == nil {
				err = v.deliver(root.fields(), take)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if c.op != "all" {
		root, err := v.find(ctx, v.query(vespaItem, v.condition(c), vespaMost, nil))
		if err != nil {
			return err
		}
		if len(root.Children) == root.Fields.TotalCount {
			return v.deliver(root.fields(), take)
		}
	}
	return v.visit(ctx, take)
}

// fields are those of the hits.
func (r vespaRoot) fields() []vespaFields {
	list := make([]vespaFields, len(r.Children))
	for i, child := range r.Children {
		list[i] = child.Fields.vespaFields
	}
	return list
}

// visit hands over all documents.
func (v *vespa) visit(ctx context.Context, take func(*index.Batch) error) error {
	query := url.Values{
		"fieldSet": {v.table + ":" + strings.ReplaceAll(vespaItem, ", ", ",")}, "wantedDocumentCount": {"500"},
	}
	for {
		var answer struct {
			Documents    []struct{ Fields vespaFields }
			Continuation string
		}
		path := "/document/v1/" + vespaSpace + "/" + v.table + "/docid?" + query.Encode()
		if err := v.call(ctx, newRequest(http.MethodGet, path, nil), &answer); err != nil {
			return err
		}
		list := make([]vespaFields, len(answer.Documents))
		for i, d := range answer.Documents {
			list[i] = d.Fields
		}
		if err := v.deliver(list, take); err != nil {
			return err
		}
		if answer.Continuation == "" {
			return nil
		}
		query.Set("continuation", answer.Continuation)
	}
}

// deliver hands over documents as items.
func (v *vespa) deliver(list []vespaFields, take func(*index.Batch) error) error {
	if len(list) == 0 {
		return nil
	}
	b, code := index.NewBatch(v.bits), hamming.NewCodes(1, v.bits)
	for _, f := range list {
		it := index.Item{Code: code.Row(0), Label: f.Label}
		if len(f.Tags) > 0 {
			it.Tags = f.Tags
		}
		var err error
		if it.ID, err = index.ParseID(f.Key); err != nil {
			return err
		}
		if !code.SetBytes(0, f.Code) {
			return fmt.Errorf("item %q has a code of %d bytes, or with bits beyond %d", f.Key, len(f.Code), v.bits)
		}
		if f.Attributes != "" {
			if err := json.Unmarshal([]byte(f.Attributes), &it.Attributes); err != nil {
				return fmt.Errorf("item %q has attributes that are neither numbers nor texts: %w", f.Key, err)
			}
		}
		b.Append(it)
	}
	return take(b)
}

// vespaStrings writes texts of hex digits as YQL has them.
func vespaStrings(texts []string) string { return `("` + strings.Join(texts, `", "`) + `")` }
