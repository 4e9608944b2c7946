package engine

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"hashgrove/internal/index"
)

// Layouts implements Loader. Codes are bit strings, first bit first.
//
//	sql      a script for psql that creates the table, fills it and creates its indexes
//	copy     the text format of COPY
//	csv      the same columns as CSV without a header
//	jsonl    an object per line
//	parquet  the same columns, for programs that read Parquet; attributes are JSON
func (p *postgres) Layouts(s Space) []Layout {
	into := p.items() + " (" + strings.Join(columns, ", ") + ")"
	var before, after []string // indexes are created after the items are loaded
	for _, text := range p.creation(s) {
		if strings.HasPrefix(text, "CREATE INDEX") {
			after = append(after, text+";\n")
		} else {
			before = append(before, text+";\n")
		}
	}
	fill := "make the table first; then, in psql: \\copy " + into
	return []Layout{
		{
			Name: "sql", Load: "psql -v ON_ERROR_STOP=1 -f FILE makes the table and fills it",
			Head:   "BEGIN;\n" + strings.Join(before, "") + "COPY " + into + " FROM stdin;\n",
			Tail:   "\\.\n" + strings.Join(after, "") + "COMMIT;\n",
			Append: appendCopy,
		},
		{Name: "copy", Load: fill + " FROM 'FILE'", Append: appendCopy},
		{Name: "csv", Load: fill + " FROM 'FILE' (FORMAT csv)", Append: appendCSV},
		{
			Name: "jsonl", Append: appendJSON,
			Load: "make the table first; then, in psql: CREATE TEMPORARY TABLE lines (line jsonb); " +
				`\copy lines FROM 'FILE' (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02') INSERT INTO ` + into + " SELECT " +
				strings.Join(columns, ", ") + " FROM lines, jsonb_populate_record(NULL::" + p.items() + ", line)",
		},
		{
			Name: "parquet", Load: "a program that reads Parquet copies it into the columns " + strings.Join(columns, ", "),
			Columns: columns, Samples: []any{"", int64(0), "", "", []string(nil), ""},
			Row: func(b *index.Batch, i int) ([]any, error) {
				t, err := newTextRow(b, i)
				if err != nil {
					return nil, err
				}
				row := []any{t.ID, nil, t.Code, nil, t.Tags, string(t.Attributes)}
				if t.Number != nil {
					row[1] = *t.Number
				}
				if t.Label != nil {
					row[3] = *t.Label
				}
				return row, nil
			},
		},
	}
}

// textRow is a row of the table as text.
type textRow struct {
	ID         string          `json:"id"`
	Number     *int64          `json:"id_number"`
	Code       string          `json:"code"`
	Label      *string         `json:"label"`
	Tags       []string        `json:"tags"`
	Attributes json.RawMessage `json:"attributes"`
}

func newTextRow(b *index.Batch, i int) (t textRow, err error) {
	values, err := row(b.Codes, i, b.Item(i))
	if err != nil {
		return t, err
	}
	bits := values[2].(pgtype.Bits)
	code := make([]byte, bits.Len)
	for j := range code {
		code[j] = '0' + bits.Bytes[j/8]>>(7-j%8)&1
	}
	t = textRow{ID: values[0].(string), Code: string(code), Tags: values[4].([]string), Attributes: values[5].([]byte)}
	t.Number, _ = values[1].(*int64)
	t.Label, _ = values[3].(*string)
	return t, nil
}

// fields returns the columns as text, nil if absent.
func (t textRow) fields() []*string {
	var number *string
	if t.Number != nil {
		text := strconv.FormatInt(*t.Number, 10)
		number = &text
	}
	var list []string
	for _, tag := range t.Tags {
		list = append(list, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(tag)+`"`)
	}
	tags, attributes := "{"+strings.Join(list, ",")+"}", string(t.Attributes)
	return []*string{&t.ID, number, &t.Code, t.Label, &tags, &attributes}
}

// copyEscapes are the escapes of COPY.
var copyEscapes = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\b", `\b`, "\f", `\f`, "\v", `\v`)

func appendCopy(dst []byte, b *index.Batch, i int) ([]byte, error) {
	t, err := newTextRow(b, i)
	if err != nil {
		return dst, err
	}
	for j, field := range t.fields() {
		if j > 0 {
			dst = append(dst, '\t')
		}
		if field == nil {
			dst = append(dst, `\N`...)
		} else {
			dst = append(dst, copyEscapes.Replace(*field)...)
		}
	}
	return append(dst, '\n'), nil
}

// appendCSV leaves absent fields empty; no stored text is empty.
func appendCSV(dst []byte, b *index.Batch, i int) ([]byte, error) {
	t, err := newTextRow(b, i)
	if err != nil {
		return dst, err
	}
	var line bytes.Buffer
	record := make([]string, len(columns))
	for j, field := range t.fields() {
		if field != nil {
			record[j] = *field
		}
	}
	w := csv.NewWriter(&line)
	if err := w.Write(record); err != nil {
		return dst, fmt.Errorf("writing CSV: %w", err)
	}
	w.Flush()
	return append(dst, line.Bytes()...), w.Error()
}

func appendJSON(dst []byte, b *index.Batch, i int) ([]byte, error) {
	t, err := newTextRow(b, i)
	if err != nil {
		return dst, err
	}
	line, err := json.Marshal(t)
	return append(append(dst, line...), '\n'), err
}
