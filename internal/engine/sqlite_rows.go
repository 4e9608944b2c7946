package engine

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// sqlBatch holds items as rows of the tables.
type sqlBatch struct {
	ids, items, codes, tags, attributes []string
}

// add adds an item, whose code is row i.
func (r *sqlBatch) add(of shape, c hamming.Codes, i int, it index.Item, vec bool) {
	id, label, number := sqlText(it.ID.String()), "NULL", "NULL"
	if it.Label != "" {
		label = sqlText(it.Label)
	}
	if n, ok := it.ID.Integer(); ok {
		number = strconv.FormatInt(n, 10)
	}
	var item strings.Builder
	fmt.Fprintf(&item, "(%s, %s, %s", id, number, label)
	if vec {
		r.codes = append(r.codes, fmt.Sprintf("(%s, %s)", id, vecCode(of.spread(c, i), 0)))
	} else {
		for _, word := range c.Row(i) {
			fmt.Fprintf(&item, ", %d", int64(word))
		}
	}
	item.WriteByte(')')
	r.ids, r.items = append(r.ids, id), append(r.items, item.String())
	for _, tag := range slices.Compact(slices.Sorted(slices.Values(it.Tags))) {
		r.tags = append(r.tags, fmt.Sprintf("(%s, %s)", id, sqlText(tag)))
	}
	for _, name := range slices.Sorted(maps.Keys(it.Attributes)) {
		if x, ok := it.Attributes[name].Number(); ok {
			r.attributes = append(r.attributes, fmt.Sprintf("(%s, %s, %s, NULL, %d)", id, sqlText(name),
				strconv.FormatFloat(x, 'e', -1, 64), numberKey(x)))
			continue
		}
		text, _ := it.Attributes[name].Text()
		r.attributes = append(r.attributes, fmt.Sprintf("(%s, %s, NULL, %s, NULL)", id, sqlText(name), sqlText(text)))
	}
}

// example adds two items that show what a batch looks like.
func (r *sqlBatch) example(of shape, vec bool) {
	c := hamming.NewCodes(2, of.bits)
	c.SetBit(1, 0, true)
	r.add(of, c, 0, index.Item{ID: index.Int(17), Label: "boots", Tags: []string{"sale"}}, vec)
	r.add(of, c, 1, index.Item{ID: index.Text("sku-9"), Attributes: map[string]index.Value{
		"price": index.Number(29.5), "colour": index.String("red"),
	}}, vec)
}

// writeSQL returns the transaction that writes a batch. A constraint aborts it if the table is no longer the same.
func (s *sqlite) writeSQL(r *sqlBatch, width int, identity string) []string {
	list := []string{
		fmt.Sprintf(`CREATE TEMPORARY TABLE same (identity TEXT CONSTRAINT %s CHECK (identity IS %s))`,
			removedCheck, sqlText(identity)),
		"BEGIN IMMEDIATE",
		fmt.Sprintf("INSERT INTO same SELECT (SELECT identity FROM hashgrove_tables WHERE name = %s)", sqlText(s.table)),
	}
	return append(append(list, s.insertSQL(r, width)...), "COMMIT")
}

// insertSQL inserts items, replacing those with the same ids.
func (s *sqlite) insertSQL(r *sqlBatch, width int) (list []string) {
	columns := ""
	if !s.vec {
		columns = ", " + eachWord(width, "w#")
	}
	join := func(rows []string) string { return strings.Join(rows, ",\n") }
	ids := strings.Join(r.ids, ", ")
	if s.vec {
		list = append(list, fmt.Sprintf("DELETE FROM %s WHERE rowid IN (SELECT item FROM %s WHERE id IN (%s))",
			s.name("_codes"), s.name(""), ids))
	}
	list = append(list,
		fmt.Sprintf("DELETE FROM %s WHERE id IN (%s)", s.name(""), ids),
		fmt.Sprintf("INSERT INTO %s (id, id_number, label%s) VALUES\n%s", s.name(""), columns, join(r.items)))
	if s.vec {
		list = append(list, fmt.Sprintf("INSERT INTO %s (rowid, code)\nSELECT item, vec_bit(column2) FROM (VALUES\n%s) "+
			"JOIN %s ON id = column1", s.name("_codes"), join(r.codes), s.name("")))
	}
	if len(r.tags) > 0 {
		list = append(list, fmt.Sprintf("INSERT INTO %s (item, tag)\nSELECT item, column2 FROM (VALUES\n%s) "+
			"JOIN %s ON id = column1", s.name("_tags"), join(r.tags), s.name("")))
	}
	if len(r.attributes) > 0 {
		list = append(list, fmt.Sprintf("INSERT INTO %s (item, name, number, text, number_key)\n"+
			"SELECT item, column2, column3, column4, column5 FROM (VALUES\n%s) JOIN %s ON id = column1",
			s.name("_attributes"), join(r.attributes), s.name("")))
	}
	return list
}

// Write implements Engine.
func (s *sqlite) Write(ctx context.Context, b *index.Batch) error {
	order, err := orderOf(b, s.bits)
	if err != nil || len(order) == 0 {
		return err
	}
	var rows sqlBatch
	for _, row := range order {
		rows.add(s.shape, b.Codes, row, b.Item(row), s.vec)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.run(ctx, s.writeSQL(&rows, s.bits, s.identity), func(string) error { return errOutput })
}

// Count implements Engine.
func (s *sqlite) Count(ctx context.Context) (n int, err error) {
	err = s.run(ctx, []string{"SELECT count(*) FROM " + s.name("")}, func(line string) (err error) {
		n, err = strconv.Atoi(line)
		return err
	})
	return n, err
}

// readSQL returns the statement that reads items: id, label, tags, attributes and code.
func (s *sqlite) readSQL(condition string) string {
	code, from := "printf('"+strings.Repeat("%016x", words(s.bits))+"', "+eachWord(s.bits, "w#")+")", s.name("")+" AS i"
	if s.vec {
		code, from = "hex(c.code)", from+" JOIN "+s.name("_codes")+" AS c ON c.rowid = i.item"
	}
	return fmt.Sprintf(`SELECT hex(CAST(id AS BLOB)), hex(CAST(label AS BLOB)),
  (SELECT group_concat(hex(CAST(tag AS BLOB)), ',') FROM %s AS t WHERE t.item = i.item),
  (SELECT group_concat(hex(CAST(name AS BLOB)) || ':' ||
    CASE WHEN text IS NULL THEN '=' || number_key ELSE hex(CAST(text AS BLOB)) END, ',')
    FROM %s AS a WHERE a.item = i.item), %s
FROM %s WHERE %s ORDER BY id_number NULLS LAST, id`, s.name("_tags"), s.name("_attributes"), code, from, condition)
}

// Read implements Engine.
func (s *sqlite) Read(ctx context.Context, f index.Filter, take func(*index.Batch) error) error {
	condition, err := sqliteFilter{s}.condition(f)
	if err != nil {
		return err
	}
	const some = 4096
	b, code := index.NewBatch(s.bits), hamming.NewCodes(1, s.bits)
	err = s.run(ctx, []string{s.readSQL(condition)}, func(line string) error {
		it, err := s.item(line, code)
		if err != nil {
			return err
		}
		if b.Append(it); len(b.IDs) < some {
			return nil
		}
		full := b
		b = index.NewBatch(s.bits)
		return take(full)
	})
	if err != nil || len(b.IDs) == 0 {
		return err
	}
	return take(b)
}

// item parses a line of readSQL as an item with the given code.
func (s *sqlite) item(line string, code hamming.Codes) (index.Item, error) {
	fields := strings.Split(line, "|")
	if len(fields) != 5 {
		return index.Item{}, errOutput
	}
	var failed error
	text := func(digits string) string {
		b, err := hex.DecodeString(digits)
		if err != nil {
			failed = errOutput
		}
		return string(b)
	}
	it := index.Item{Code: code.Row(0), Label: text(fields[1])}
	if fields[2] != "" {
		for digits := range strings.SplitSeq(fields[2], ",") {
			it.Tags = append(it.Tags, text(digits))
		}
	}
	if fields[3] != "" {
		it.Attributes = map[string]index.Value{}
		for pair := range strings.SplitSeq(fields[3], ",") {
			name, value, _ := strings.Cut(pair, ":")
			if key, number := strings.CutPrefix(value, "="); number {
				n, err := strconv.ParseInt(key, 10, 64)
				if err != nil {
					failed = errOutput
				}
				it.Attributes[text(name)] = index.Number(keyNumber(n))
			} else {
				it.Attributes[text(name)] = index.String(text(value))
			}
		}
	}
	packed := []byte(text(fields[4]))
	if s.vec {
		for i, b := range packed {
			packed[i] = bits.Reverse8(b)
		}
	}
	of := s.shape
	if !s.vec {
		of.detail = 0 // plain columns hold the code itself
	}
	bytes := (of.wide() + 7) / 8
	for _, b := range packed[min(bytes, len(packed)):] {
		if b != 0 {
			failed = errOutput
		}
	}
	id, err := unhexID(fields[0])
	if it.ID = id; failed == nil {
		failed = err
	}
	if failed == nil && (len(packed) < bytes || !of.setBytes(code, packed[:bytes])) {
		failed = fmt.Errorf("item %q has a code that is not one of %d bits", id.String(), code.Bits)
	}
	return it, failed
}
