package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// ask implements finder.
func (w *weaviate) ask(ctx context.Context, codes hamming.Codes, limit int, c clause) ([][]index.Hit, error) {
	answers, err := w.get(ctx, w.near(codes, limit, w.where(c)))
	if err != nil {
		return nil, err
	}
	all := make([][]index.Hit, codes.Len())
	for i := range all {
		for _, r := range answers["q"+strconv.Itoa(i)] {
			id, err := index.ParseID(r.Key)
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], index.Hit{ID: id, Distance: int(r.Additional.Distance)})
		}
	}
	return all, nil
}

// weaviateRow is an object in a GraphQL response.
type weaviateRow struct {
	weaviateProperties
	Additional struct {
		ID       string
		Distance float64
		Vector   zerosAndOnes
	} `json:"_additional"`
}

// get queries objects with GraphQL and returns them by answer name.
func (w *weaviate) get(ctx context.Context, q request) (map[string][]weaviateRow, error) {
	var answer struct {
		Data   struct{ Get map[string][]weaviateRow }
		Errors []struct{ Message string }
	}
	if err := w.call(ctx, q, &answer); err != nil {
		return nil, err
	}
	if len(answer.Errors) > 0 {
		return nil, fmt.Errorf("%s says: %s", w.name, w.clean(answer.Errors[0].Message))
	}
	return answer.Data.Get, nil
}

// where writes a clause as a GraphQL argument.
func (w *weaviate) where(c clause) string {
	if c.op == "all" {
		return ""
	}
	return "where:" + w.operand(c, false) + ","
}

// operand writes a clause, or its negation, which older versions of Weaviate support only for comparisons.
func (w *weaviate) operand(c clause, negated bool) string {
	join := func(op string, parts []string) string {
		return fmt.Sprintf("{operator:%s,operands:[%s]}", op, strings.Join(parts, ","))
	}
	var parts []string
	switch c.op {
	case "not":
		return w.operand(c.parts[0], !negated)
	case "and", "or":
		for _, p := range c.parts {
			parts = append(parts, w.operand(p, negated))
		}
		return join(map[bool]string{true: "And", false: "Or"}[(c.op == "and") != negated], parts)
	}
	path, texts := "terms", slices.Clone(c.texts)
	if c.op == "ids" {
		path = "id"
		for i, id := range texts {
			texts[i] = w.uuid(id)
		}
	}
	if !negated && len(texts) > 1 {
		return fmt.Sprintf(`{path:["%s"],operator:ContainsAny,valueText:%s}`, path, marshal(texts))
	}
	operator := map[bool]string{true: "NotEqual", false: "Equal"}[negated]
	for _, text := range texts {
		parts = append(parts, fmt.Sprintf(`{path:["%s"],operator:%s,valueText:%s}`, path, operator, marshal(text)))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return join("And", parts)
}

// Search implements Engine.
func (w *weaviate) Search(ctx context.Context, q Query) ([][]index.Hit, error) {
	found, err := weaviateSkill.search(ctx, w, w.shape, q)
	if err != nil {
		return nil, err
	}
	return w.shape.apart(ctx, w, q, found)
}

// Read implements Engine. It holds all matching items in memory.
func (w *weaviate) Read(ctx context.Context, f index.Filter, take func(*index.Batch) error) error {
	return readOrdered(ctx, w, w.shape.bits, f, take)
}

// Count implements Engine.
func (w *weaviate) Count(ctx context.Context) (int, error) {
	var answer struct {
		Data struct {
			Aggregate map[string][]struct{ Meta struct{ Count int } }
		}
		Errors []struct{ Message string }
	}
	err := w.call(ctx, w.graphql(`{Aggregate{%s{meta{count}}}}`, w.class), &answer)
	if err == nil && len(answer.Errors) > 0 {
		err = fmt.Errorf("%s says: %s", w.name, w.clean(answer.Errors[0].Message))
	}
	if list := answer.Data.Aggregate[w.class]; err == nil && len(list) == 1 {
		return list[0].Meta.Count, nil
	}
	return 0, err
}

// scan implements finder: it reads few objects with one query, and many with a cursor, which does not support
// filters.
func (w *weaviate) scan(ctx context.Context, c clause, take func(*index.Batch) error) error {
	const page, few = 500, 2000
	if c.op == "ids" {
		for ids := range slices.Chunk(c.texts, page) {
			rows, err := w.objects(ctx, page, w.where(withAny("ids", slices.Clone(ids)...)))
			if err == nil {
				err = w.deliver(rows, take)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if c.op != "all" {
		rows, err := w.objects(ctx, few, w.where(c))
		if err != nil {
			return err
		}
		if len(rows) < few {
			return w.deliver(rows, take)
		}
	}
	for after := ""; ; {
		rows, err := w.objects(ctx, page, fmt.Sprintf("after:%s,", marshal(after)))
		if err != nil || len(rows) == 0 {
			return err
		}
		after = rows[len(rows)-1].Additional.ID
		if err := w.deliver(rows, take); err != nil {
			return err
		}
	}
}

// objects queries whole objects; arguments ends with a comma.
func (w *weaviate) objects(ctx context.Context, limit int, arguments string) ([]weaviateRow, error) {
	rows, err := w.get(ctx, w.graphql(`{Get{%s(%slimit:%d){key label tags attributes _additional{id vector}}}}`,
		w.class, arguments, limit))
	return rows[w.class], err
}

// deliver passes on objects as items.
func (w *weaviate) deliver(rows []weaviateRow, take func(*index.Batch) error) error {
	if len(rows) == 0 {
		return nil
	}
	of := w.shape
	b, code, wide := index.NewBatch(of.bits), hamming.NewCodes(1, of.bits), hamming.NewCodes(1, of.wide())
	for _, r := range rows {
		it := index.Item{Code: code.Row(0), Label: r.Label}
		if len(r.Tags) > 0 {
			it.Tags = r.Tags
		}
		var err error
		if it.ID, err = index.ParseID(r.Key); err != nil {
			return err
		}
		if len(r.Additional.Vector) != of.wide() {
			return fmt.Errorf("item %q has a vector of %d numbers instead of %d", r.Key, len(r.Additional.Vector), of.wide())
		}
		for bit, x := range r.Additional.Vector {
			wide.SetBit(0, bit, x == 1)
		}
		if !of.gather(code, wide, 0) {
			return fmt.Errorf("item %q has a vector that is no code of %d bits", r.Key, of.bits)
		}
		if r.Attributes != "" {
			if err := json.Unmarshal([]byte(r.Attributes), &it.Attributes); err != nil {
				return fmt.Errorf("item %q has attributes that are neither numbers nor texts: %w", r.Key, err)
			}
		}
		b.Append(it)
	}
	return take(b)
}
