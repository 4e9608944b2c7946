package engine

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"strings"

	"hashgrove/internal/index"
)

// Bulk files for engines reached over HTTP. Each line is the body of a request that a push would send, so that curl
// can send it; Milvus also has its own importer.

// bulkGroup is the number of items per request body.
const bulkGroup = 500

// optional returns a text for a nullable column.
func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// column is a table column with a value of its type.
type column struct {
	name   string
	sample any
}

// tableLayout lays out items as rows, for programs that read Parquet.
func tableLayout(columns []column, row func(b *index.Batch, i int) ([]any, error)) Layout {
	l := Layout{Name: "parquet", Row: row}
	for _, c := range columns {
		l.Columns, l.Samples = append(l.Columns, c.name), append(l.Samples, c.sample)
	}
	l.Load = "a program that reads Parquet copies it into the fields " + strings.Join(l.Columns, ", ")
	return l
}

// appendJSONOf appends the JSON of an engine's representation of an item.
func appendJSONOf[T any](
	s Space, item func(of shape, b *index.Batch, i int) (T, error),
) func([]byte, *index.Batch, int) ([]byte, error) {
	of := s.shape()
	return func(dst []byte, b *index.Batch, i int) ([]byte, error) {
		v, err := item(of, b, i)
		if err != nil {
			return dst, err
		}
		return append(dst, marshal(v)...), nil
	}
}

// bodies is a layout whose lines are bodies of the write request q, given with an empty list of items. before says
// what must be created first, answers what the responses mean.
func (r *rest) bodies(q request, before, answers string) Layout {
	open, end, _ := strings.Cut(string(q.body), "[]")
	return Layout{
		Name: "jsonl", Load: r.sending(q, 1, before, answers),
		Group: bulkGroup, Open: open + "[", Between: ",", Close: "]" + end + "\n",
	}
}

// sending explains how to send the file, the given number of lines at a time. The URL is escaped for the shell.
func (r *rest) sending(q request, lines int, before, answers string) string {
	address := strings.NewReplacer("$", `\$`, "'", "%27").Replace(r.base.String() + q.path)
	return fmt.Sprintf(`make the %s first, as a dry run shows; a password or key belongs into ~/.curlrc, and %s; then: `+
		`split -l %d --filter='curl -fsS -X %s -H "Content-Type: %s" --data-binary @- "%s"' FILE`,
		before, answers, lines, q.method, cmp.Or(q.kind, "application/json"), address)
}

// Layouts implements Loader.
//
//	jsonl    the lines of _bulk requests
//	parquet  the fields of documents; the nested attributes are JSON
func (e *elastic) Layouts(s Space) []Layout {
	of := s.shape()
	lines := Layout{Name: "jsonl", Append: func(dst []byte, b *index.Batch, i int) ([]byte, error) {
		return e.appendLines(of, dst, b, i)
	}}
	lines.Load = e.sending(e.bulk(nil), 2*bulkGroup, "index", `every answer should say "errors":false`)
	columns := []column{
		{"id", ""}, {"id_order", ""}, {"code", []int8(nil)}, {"hex", ""}, {"label", ""}, {"tags", []string(nil)},
		{"attributes", ""},
	}
	return []Layout{lines, tableLayout(columns, func(b *index.Batch, i int) ([]any, error) {
		d, err := e.document(of, b, i)
		if err != nil {
			return nil, err
		}
		code := make([]int8, len(d.Code))
		for j, x := range d.Code {
			code[j] = int8(x)
		}
		attributes := ""
		if len(d.Attributes) > 0 {
			attributes = string(marshal(d.Attributes))
		}
		return []any{d.ID, d.Order, code, d.Hex, optional(d.Label), d.Tags, optional(attributes)}, nil
	})}
}

// Layouts implements Loader.
//
//	jsonl    bodies of requests that upsert points
//	parquet  points; the payload is JSON
func (q *qdrant) Layouts(s Space) []Layout {
	lines := q.bodies(q.upsert([]qdrantPoint{}), "collection and its indexes", `every answer should say "completed"`)
	lines.Append = appendJSONOf(s, q.point)
	columns := []column{{"id", ""}, {"vector", []float32(nil)}, {"payload", ""}}
	return []Layout{lines, tableLayout(columns, func(b *index.Batch, i int) ([]any, error) {
		p, err := q.point(s.shape(), b, i)
		if err != nil {
			return nil, err
		}
		vector := make([]float32, len(p.Vector))
		for j, x := range p.Vector {
			vector[j] = float32(x)
		}
		return []any{fmt.Sprint(p.ID), vector, string(marshal(p.Payload))}, nil
	})}
}

// Layouts implements Loader.
//
//	jsonl    bodies of requests that write batches of objects
//	parquet  objects with their properties; the attributes are JSON
func (w *weaviate) Layouts(s Space) []Layout {
	write, _ := w.batch(s.shape(), nil, nil) // no item, so nothing to refuse
	lines := w.bodies(write, "class", `no answer should say "FAILED"`)
	lines.Append = appendJSONOf(s, w.object)
	columns := []column{
		{"id", ""}, {"vector", []float32(nil)}, {"key", ""}, {"label", ""}, {"tags", []string(nil)}, {"attributes", ""},
		{"terms", []string(nil)},
	}
	return []Layout{lines, tableLayout(columns, func(b *index.Batch, i int) ([]any, error) {
		o, err := w.object(s.shape(), b, i)
		if err != nil {
			return nil, err
		}
		vector := make([]float32, len(o.Vector))
		for j, x := range o.Vector {
			vector[j] = float32(x)
		}
		p := o.Properties
		return []any{o.ID, vector, p.Key, optional(p.Label), p.Tags, optional(p.Attributes), p.Terms}, nil
	})}
}

// milvusRow is an entity as Milvus's importer reads it, with the bytes of the code as numbers.
type milvusRow struct {
	milvusEntity
	Code []int `json:"code"` // replaces the entity's
}

// Layouts implements Loader.
//
//	parquet  rows for an import; codes are lists of bytes, attributes JSON
//	json     the same as a list of objects
//	jsonl    bodies of requests that upsert entities
func (m *milvus) Layouts(s Space) []Layout {
	create := m.post("jobs/import/create", map[string]any{"files": [][]string{{"FILE"}}})
	load := "make the collection first, as a dry run shows; an import adds and does not replace, so it is for items " +
		"that are not there; put the file into the storage of Milvus and send: " +
		strings.ReplaceAll(create.String(), "\n", " ")
	columns := []column{
		{"id", ""}, {"code", []byte(nil)}, {"label", ""}, {"tags", []string(nil)}, {"attributes", ""},
		{"terms", []string(nil)},
	}
	table := tableLayout(columns, func(b *index.Batch, i int) ([]any, error) {
		e, err := m.entity(s.shape(), b, i)
		return []any{e.ID, e.Code, e.Label, []string(e.Tags), string(marshal(e.Attributes)), e.Terms}, err
	})
	table.Load = load
	list := Layout{Name: "json", Load: load, Head: "[\n", Between: ",\n", Tail: "\n]\n"}
	list.Append = appendJSONOf(s, func(of shape, b *index.Batch, i int) (milvusRow, error) {
		e, err := m.entity(of, b, i)
		row := milvusRow{milvusEntity: e}
		for _, x := range e.Code {
			row.Code = append(row.Code, int(x))
		}
		return row, err
	})
	write, _ := m.upsert(s.shape(), nil, nil) // no item, so nothing to refuse
	lines := m.bodies(write, "collection", `every answer should say "code":0`)
	lines.Append = appendJSONOf(s, m.entity)
	return []Layout{table, list, lines}
}

// plainTable lays out items as rows for engines without columns of their own: codes are hex digits, attributes JSON.
func plainTable() Layout {
	columns := []column{{"id", ""}, {"code", ""}, {"label", ""}, {"tags", []string(nil)}, {"attributes", ""}}
	return tableLayout(columns, func(b *index.Batch, i int) ([]any, error) {
		it, attributes := b.Item(i), ""
		if len(it.Attributes) > 0 {
			attributes = string(marshal(it.Attributes))
		}
		code := hex.EncodeToString(b.Codes.AppendBytes(nil, i))
		return []any{it.ID.String(), code, optional(it.Label), it.Tags, optional(attributes)}, eachText(it, inJSON)
	})
}
