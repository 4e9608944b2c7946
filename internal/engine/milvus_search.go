package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// filter writes a clause in Milvus's filter language.
func (m *milvus) filter(c clause) string {
	return c.write("and", "or", "not (%s)", func(c clause) string {
		switch c.op {
		case "terms":
			return "array_contains_any(terms, " + milvusList(c.texts) + ")"
		case "ids":
			return "id in " + milvusList(c.texts)
		case "number":
			return fmt.Sprintf("attributes[%s] %s %s", milvusLiteral(c.name), c.compare,
				strconv.FormatFloat(c.value, 'g', -1, 64))
		}
		return "" // all
	})
}

// milvusLiteral quotes a text.
func milvusLiteral(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func milvusList(texts []string) string {
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = milvusLiteral(text)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// ask implements finder.
func (m *milvus) ask(ctx context.Context, codes hamming.Codes, limit int, c clause) ([][]index.Hit, error) {
	var rows []milvusEntity
	counts, err := m.send(ctx, m.near(codes, limit, m.filter(c)), &rows)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 && len(counts) == 0 {
		counts = make([]int, codes.Len())
	}
	all := make([][]index.Hit, 0, codes.Len())
	for _, n := range counts {
		if n < 0 || n > len(rows) {
			return nil, errors.New("the response of Milvus contradicts its own number of hits")
		}
		hits := make([]index.Hit, n)
		for i, r := range rows[:n] {
			if hits[i].ID, err = index.ParseID(r.ID); err != nil {
				return nil, err
			}
			hits[i].Distance = int(math.Round(r.Distance))
		}
		all, rows = append(all, hits), rows[n:]
	}
	return all, nil
}

// Search implements Engine.
func (m *milvus) Search(ctx context.Context, q Query) ([][]index.Hit, error) {
	found, err := milvusSkill.search(ctx, m, m.shape, q)
	if err != nil {
		return nil, err
	}
	return m.apart(ctx, m, q, found)
}

// Read implements Engine. It holds all matching items in memory.
func (m *milvus) Read(ctx context.Context, f index.Filter, take func(*index.Batch) error) error {
	return readOrdered(ctx, m, m.bits, f, take)
}

// Count implements Engine.
func (m *milvus) Count(ctx context.Context) (int, error) { return m.count(ctx, "") }

func (m *milvus) count(ctx context.Context, filter string) (int, error) {
	var rows []map[string]json.Number
	_, err := m.send(ctx, m.post("entities/query", map[string]any{
		"filter": filter, "outputFields": []string{"count(*)"}, "consistencyLevel": "Strong",
	}), &rows)
	if err != nil {
		return 0, err
	}
	if len(rows) != 1 {
		return 0, fmt.Errorf("%s returned a count in %d rows", m.name, len(rows))
	}
	return strconv.Atoi(rows[0]["count(*)"].String())
}

// scan implements finder.
func (m *milvus) scan(ctx context.Context, c clause, take func(*index.Batch) error) error {
	return m.span(ctx, m.filter(c), "", "", take)
}

// milvusPage is the number of entities read at a time.
const milvusPage = 1000

// span passes on the matching entities whose ids, as texts, are after one and up to another; "" means no bound. A
// query returns at most a page, and does not promise which of the matching entities. So span counts the matches up
// to the last id of the page. If the page lacks some, it reads the range up to the middle id by itself and continues
// from there.
func (m *milvus) span(ctx context.Context, filter, after, last string, take func(*index.Batch) error) error {
	bounded := func(after, last string) string {
		var parts []string
		if filter != "" {
			parts = append(parts, "("+filter+")")
		}
		if after != "" {
			parts = append(parts, "id > "+milvusLiteral(after))
		}
		if last != "" {
			parts = append(parts, "id <= "+milvusLiteral(last))
		}
		return strings.Join(parts, " and ")
	}
	for {
		var rows []milvusEntity
		_, err := m.send(ctx, m.post("entities/query", map[string]any{
			"filter": bounded(after, last), "limit": milvusPage, "consistencyLevel": "Strong",
			"outputFields": []string{"id", "code", "label", "tags", "attributes"},
		}), &rows)
		if err != nil {
			return err
		}
		slices.SortFunc(rows, func(a, b milvusEntity) int { return strings.Compare(a.ID, b.ID) })
		full := len(rows) >= milvusPage
		if full {
			end := rows[len(rows)-1].ID
			n, err := m.count(ctx, bounded(after, end))
			if err != nil {
				return err
			}
			if n != len(rows) {
				middle := rows[len(rows)/2].ID
				if err := m.span(ctx, filter, after, middle, take); err != nil {
					return err
				}
				after = middle
				continue
			}
			after = end
		}
		if err := m.deliver(rows, take); err != nil || !full {
			return err
		}
	}
}

// deliver passes on entities as items.
func (m *milvus) deliver(rows []milvusEntity, take func(*index.Batch) error) error {
	if len(rows) == 0 {
		return nil
	}
	b, code := index.NewBatch(m.bits), hamming.NewCodes(1, m.bits)
	for _, r := range rows {
		it := index.Item{Code: code.Row(0), Label: r.Label}
		if len(r.Tags) > 0 {
			it.Tags = r.Tags
		}
		if len(r.Attributes) > 0 {
			it.Attributes = r.Attributes
		}
		var err error
		if it.ID, err = index.ParseID(r.ID); err != nil {
			return err
		}
		if !m.setBytes(code, r.Code) {
			return fmt.Errorf("item %q has %d bytes that are no code of %d bits", r.ID, len(r.Code), m.bits)
		}
		b.Append(it)
	}
	return take(b)
}
