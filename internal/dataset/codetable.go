package dataset

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"hashgrove/internal/dataset/columnfile"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/vectors"
)

// CodeTable describes a Parquet file of codes: columns id, label and tags, attributes, and the code as unsigned 64-bit
// integers (see Spec.Codes). The metadata have the length of the codes and the fingerprint of their model.
type CodeTable struct {
	Bits         int
	Fingerprint  hamming.Fingerprint
	Integers     bool // all ids are integers
	Label, Tags  bool // there are such columns
	Attributes   []index.Attribute
	out          columnfile.Writer
	row          []any
	first, words int // columns of attributes begin at first, those of the code are the last
}

// Begin starts the file.
func (t *CodeTable) Begin(w io.Writer) (err error) {
	names, samples := []string{"id"}, []any{""}
	if t.Integers {
		samples[0] = int64(0)
	}
	if t.Label {
		names, samples = append(names, "label"), append(samples, "")
	}
	if t.Tags {
		names, samples = append(names, "tags"), append(samples, []string(nil))
	}
	t.first, t.words = len(names), (t.Bits+63)/64
	code := []string{codeColumn}
	for i := range t.words {
		if t.words > 1 {
			code = append(code[:i], codeColumn+"_"+strconv.Itoa(i))
		}
		samples = append(samples, uint64(0))
	}
	for _, a := range t.Attributes {
		if slices.Contains(names, a.Name) || slices.Contains(code, a.Name) {
			return fmt.Errorf("an attribute is called %s, like a column of the table: export JSON lines", a.Name)
		}
		sample := any("")
		if a.Kind == index.NumberKind {
			sample = 0.0
		}
		names, samples = append(names, a.Name), slices.Insert(samples, len(names), sample)
	}
	if t.out, err = columnfile.Create(w, append(names, code...), samples); err != nil {
		return err
	}
	t.out.Mark(BitsKey, strconv.Itoa(t.Bits))
	if t.Fingerprint != (hamming.Fingerprint{}) {
		t.out.Mark(FingerprintKey, t.Fingerprint.Full())
	}
	t.row = make([]any, len(samples))
	return nil
}

// Write appends an item.
func (t *CodeTable) Write(it index.Item) error {
	clear(t.row)
	if n, ok := it.ID.Integer(); ok && t.Integers {
		t.row[0] = n
	} else {
		t.row[0] = it.ID.String()
	}
	if t.Label && it.Label != "" {
		t.row[1] = it.Label
	}
	if t.Tags {
		t.row[t.first-1] = it.Tags
	}
	for i, a := range t.Attributes {
		v, ok := it.Attributes[a.Name]
		number, isNumber := v.Number()
		switch text, _ := v.Text(); {
		case !ok:
		case a.Kind == index.NumberKind && isNumber:
			t.row[t.first+i] = number
		case isNumber:
			t.row[t.first+i] = v.String()
		default:
			t.row[t.first+i] = text
		}
	}
	for i, word := range it.Code {
		t.row[len(t.row)-t.words+i] = word
	}
	return t.out.Write(t.row)
}

// WriteChunk appends rows with their codes; first is the number of the first, which names rows without ids.
func (t *CodeTable) WriteChunk(first int, codes hamming.Codes, chunk vectors.Chunk) error {
	for i := range codes.Len() {
		it, err := FromRow(chunk, i, first+i)
		if err != nil {
			return err
		}
		it.Code = codes.Row(i)
		if err := t.Write(it); err != nil {
			return err
		}
	}
	return nil
}

// Close writes the end of the file.
func (t *CodeTable) Close() error { return t.out.Close() }
