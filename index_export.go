package hashgrove

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"hashgrove/api"
	"hashgrove/internal/dataset"
	"hashgrove/internal/fileio"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
)

// ItemForms returns the forms in which items are written: jsonl has an object on each line with id, code, label, tags
// and an object of attributes; csv and parquet have columns for them; hgc is a code file.
func ItemForms() []string { return []string{"jsonl", "csv", "parquet", "hgc"} }

// WriteItems writes the items that match a filter, or all items for "", in order of id and in one of ItemForms, and
// returns their number.
func (ix *Index) WriteItems(ctx context.Context, w io.Writer, where, form string) (int, error) {
	e := &itemExport{ctx: ctx}
	write := map[string]func(io.Writer) error{
		"jsonl": e.writeLines, "csv": e.writeCSV, "parquet": e.writeParquet, "hgc": e.writeCodes,
	}[form]
	if write == nil {
		return 0, api.Errorf(api.ErrInvalid, "items as %s: choose %s", form, strings.Join(ItemForms(), ", "))
	}
	f, err := search.ParseFilter(where)
	if err != nil {
		return 0, err
	}
	described := index.And(f, index.Label(), index.Tag()) // so that attributes are known, and their kinds
	if e.Selection, err = ix.selection(ctx, "(items) "+where, described, 0); err == nil {
		e.hits, err = e.Matches(f)
	}
	if err == nil {
		err = write(w)
	}
	return len(e.hits), search.Coded(err)
}

// WriteItemsFile is WriteItems to a file, all or nothing.
func (ix *Index) WriteItemsFile(ctx context.Context, path, where, form string) (n int, err error) {
	err = fileio.WriteFile(path, func(w io.Writer) (err error) {
		n, err = ix.WriteItems(ctx, w, where, form)
		return err
	})
	return n, err
}

// itemExport holds the items to write.
type itemExport struct {
	*store.Selection
	ctx  context.Context
	hits []index.Hit
}

// each passes on the items, some at a time.
func (e *itemExport) each(take func([]index.Item) error) error {
	for part := range slices.Chunk(e.hits, 1<<12) {
		items, err := e.Items(e.ctx, part)
		if err == nil {
			err = e.ctx.Err()
		}
		if err == nil {
			err = take(items)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eachOf is each for items one by one, as package api has them.
func (e *itemExport) eachOf(take func(api.Item) error) error {
	return e.each(func(items []index.Item) error {
		for _, it := range items {
			if err := take(search.Item(it, e.Bits())); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeLines writes JSON lines. Attributes are always present, so that reading recognises the format.
func (e *itemExport) writeLines(to io.Writer) error {
	w := json.NewEncoder(to)
	w.SetEscapeHTML(false)
	return e.eachOf(func(it api.Item) error {
		if it.Attributes == nil {
			it.Attributes = map[string]any{}
		}
		return w.Encode(struct {
			ID         api.ID         `json:"id"`
			Code       string         `json:"code"`
			Label      string         `json:"label,omitempty"`
			Tags       []string       `json:"tags,omitempty"`
			Attributes map[string]any `json:"attributes"`
		}{it.ID, it.Code, it.Label, it.Tags, it.Attributes})
	})
}

func (e *itemExport) writeCSV(to io.Writer) error {
	fields := []string{"id", "code", "label", "tags"}
	for _, a := range e.Attributes() {
		if slices.Contains(fields[:4], a.Name) {
			return fmt.Errorf("an attribute is called %s, like a column of the table: export JSON lines", a.Name)
		}
		fields = append(fields, a.Name)
	}
	w := csv.NewWriter(to)
	if err := w.Write(message.Cells(fields)); err != nil {
		return err
	}
	err := e.eachOf(func(it api.Item) error {
		row := []string{string(it.ID), it.Code, it.Label, strings.Join(it.Tags, ";")}
		for _, name := range fields[4:] {
			text := ""
			switch v := it.Attributes[name].(type) {
			case float64:
				text = index.Number(v).String()
			case string:
				text = v
			}
			row = append(row, text)
		}
		return w.Write(message.Cells(row))
	})
	w.Flush()
	if err == nil {
		err = w.Error()
	}
	return err
}

// writeParquet writes a typed table: integer ids, numeric attributes and codes are not written as text.
func (e *itemExport) writeParquet(to io.Writer) error {
	t := dataset.CodeTable{
		Bits: e.Bits(), Fingerprint: e.Fingerprint(), Label: true, Tags: true, Attributes: e.Attributes(),
		Integers: !slices.ContainsFunc(e.hits, func(h index.Hit) bool { _, ok := h.ID.Integer(); return !ok }),
	}
	if err := t.Begin(to); err != nil {
		return err
	}
	err := e.each(func(items []index.Item) error {
		for _, it := range items {
			if err := t.Write(it); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.Close()
}

func (e *itemExport) writeCodes(to io.Writer) error {
	w, err := hamming.NewWriter(to, hamming.HGC,
		hamming.Header{Bits: e.Bits(), Rows: len(e.hits), Fingerprint: e.Fingerprint()})
	if err != nil {
		return err
	}
	err = e.each(func(items []index.Item) error {
		codes, ids := hamming.NewCodes(len(items), e.Bits()), make([]string, len(items))
		for i, it := range items {
			copy(codes.Row(i), it.Code)
			ids[i] = it.ID.String()
		}
		return w.Write(codes, ids)
	})
	if err != nil {
		return err
	}
	return w.Close()
}
