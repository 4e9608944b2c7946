package workshop

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/index"
	"hashgrove/internal/items"
	"hashgrove/internal/model"
	"hashgrove/internal/store"
)

// What training leaves behind: an index of all rows, their vectors, and attributes to filter by.

// index encodes all rows and writes the index.
func (t *training) index() (Collection, error) {
	j, m := t.job, t.model
	c := Collection{Name: "try-" + strconv.Itoa(j.number), Path: j.indexFile(), Report: j.reportFile()}
	if columns := t.set.Columns(); columns.List && len(columns.Vector) == 1 {
		m.Info.Vector = columns.Vector[0]
	}
	src, err := m.Source(t.set, t.options.Threads)
	if err != nil {
		return c, err
	}
	in := items.FromRows(m, src, j.name)
	if columns := t.attributeColumns(); len(columns) > 0 {
		if in.Attributes, err = t.set.Attributes(columns); err != nil {
			return c, err
		}
	}
	b, err := in.Read(t.ctx, j.about.Rows, t.options.Threads, func(int) {})
	if err != nil {
		return c, err
	}
	if j.format == formatPictures {
		c.Pictures, c.Vectors = j.data(), j.data()
		nameItems(b, j.data()+"/", j.files)
	} else if c.Vectors, err = t.saveVectors(); err != nil {
		return c, err
	}
	if err := model.WriteFile(j.modelFile(), m); err != nil {
		return c, err
	}
	s, err := store.Create(t.ctx, c.Path, store.Options{
		Model: m, Bits: b.Codes.Bits, Fingerprint: b.Fingerprint, Note: "made from " + j.name,
		Index: index.Config{Threads: t.options.Threads}, Items: b,
	})
	if err != nil {
		return c, err
	}
	return c, s.Close()
}

// saveVectors writes the vectors that were learned from, with their ids, for explanations and reranking: the upload
// itself may have other columns and rows.
func (t *training) saveVectors() (path string, err error) {
	path = filepath.Join(t.job.dir, "vectors.jsonl")
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<18)
	for chunk, err := range t.set.Chunks(t.ctx) {
		if err != nil {
			return "", err
		}
		for i := range chunk.X.Rows {
			it, err := items.FromRow(chunk, i, chunk.First+i)
			if err != nil {
				return "", err
			}
			line, err := json.Marshal(struct {
				ID     index.ID  `json:"id"`
				Vector []float32 `json:"vector"`
			}{it.ID, chunk.X.Row(i)})
			if err != nil {
				return "", err
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return "", err
			}
		}
	}
	return path, w.Flush()
}

const (
	// mostNumbers is the largest number of vector columns that also become attributes: enough for a table that people
	// read, not for one with hundreds of columns.
	mostNumbers = 16

	mostAttributes      = 64        // columns that become attributes
	mostAttributeValues = 1_000_000 // of all rows, because they are kept in memory
)

// attributeColumns returns the columns that become attributes.
func (t *training) attributeColumns() []string {
	s := t.job.survey
	if s == nil || !s.Named {
		return nil
	}
	taken := t.set.Columns()
	var list []string
	for _, c := range s.Columns {
		isVector := slices.Contains(taken.Vector, c.Name)
		special := []string{t.ask.Label, taken.ID, taken.Tags, "id", "ids", "label", "tag", "tags"}
		if slices.Contains(special, c.Name) || c.Kind == "list" || isVector && len(taken.Vector) > mostNumbers {
			continue
		}
		list = append(list, c.Name)
	}
	most := min(mostAttributes, max(4, mostAttributeValues/s.Rows))
	if len(list) > most {
		t.notes = append(t.notes, fmt.Sprintf("Only the first %d of %d other columns became attributes.", most, len(list)))
		list = list[:most]
	}
	return list
}

// nameItems uses the paths of pictures below their folder as ids, and adds their names in the zip as an attribute.
func nameItems(b *index.Batch, folder string, files map[string]string) {
	b.Attributes = make([]map[string]index.Value, len(b.IDs))
	for i, id := range b.IDs {
		name := strings.TrimPrefix(id.String(), folder)
		b.IDs[i] = index.Text(name)
		b.Attributes[i] = map[string]index.Value{"file": index.String(files[name])}
	}
}
