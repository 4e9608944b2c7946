package hashgrove

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"hashgrove/internal/dataset"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/fileio"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/store"
)

// FileInfo describes a model, a file of codes or an index. Its JSON has all that is known.
type FileInfo struct {
	Path        string   // of the file
	Type        string   // "model", "codes" or "index"
	Bits        int      // all of a code
	DetailBits  int      // the last ones of them
	Fingerprint string   // the beginning of that of the model, which made the codes
	Items       int      // codes or items; 0 for a model
	Warnings    []string // what reading the file met, in sentences

	about aboutFile
}

// aboutFile is the JSON of FileInfo.
type aboutFile struct {
	File        string `json:"file"`
	Type        string `json:"type"`
	Bits        int    `json:"bits,omitempty"`
	DetailBits  int    `json:"detail_bits,omitempty"`
	Fingerprint string `json:"fingerprint"`

	Kind     string      `json:"kind,omitempty"`
	Dims     int         `json:"dims,omitempty"`
	Features string      `json:"features,omitempty"` // kind of the model's extractor
	Pictures string      `json:"pictures,omitempty"` // how a model prepares them
	Info     *model.Info `json:"info,omitempty"`     // without the sketch
	Sketched int         `json:"sketched_rows,omitempty"`

	Ranking *Ranking `json:"ranking,omitempty"` // how searches rank by default

	Codes int  `json:"codes,omitempty"`
	IDs   bool `json:"ids,omitempty"`

	// For an index; Kind, Dims, Features and Pictures describe its model.
	Items      *int              `json:"items,omitempty"`
	Labels     bool              `json:"labels,omitempty"` // whether any item has one
	Tags       bool              `json:"tags,omitempty"`
	Attributes []index.Attribute `json:"attributes,omitempty"`
	Distinct   int               `json:"distinct_codes,omitempty"`
	FileBytes  int64             `json:"file_bytes,omitempty"`
	FreeBytes  int64             `json:"free_bytes,omitempty"`
	Writes     uint64            `json:"writes,omitempty"`
	Note       string            `json:"note,omitempty"`

	encoder  model.Encoder
	warnings []string
}

// Describe says what is in a file: a model, codes, an index or a backup of one. Progress may be nil.
func Describe(ctx context.Context, path string, progress func(Step)) (*FileInfo, error) {
	return describe(ctx, path, func() (*aboutFile, error) { return describeIndex(ctx, path, steps(progress)) })
}

// Verify is like Describe for people who want to know whether the file is undamaged: it checks every byte. It says less
// about an index.
func Verify(ctx context.Context, path string, progress func(Step)) (*FileInfo, error) {
	return describe(ctx, path, func() (*aboutFile, error) { return verifyIndex(ctx, path, steps(progress)) })
}

// describe reads a whole file of any kind.
func describe(ctx context.Context, path string, ofIndex func() (*aboutFile, error)) (*FileInfo, error) {
	f, err := aboutAny(ctx, path, ofIndex)
	if err != nil {
		return nil, err
	}
	items := f.Codes
	if f.Items != nil {
		items = *f.Items
	}
	return &FileInfo{path, f.Type, f.Bits, f.DetailBits, f.Fingerprint, items, f.warnings, *f}, nil
}

func aboutAny(ctx context.Context, path string, ofIndex func() (*aboutFile, error)) (*aboutFile, error) {
	kind, ours, err := fileio.FileKind(path)
	if err != nil {
		return nil, err
	}
	if ours && kind == fileio.Model {
		return describeModel(path)
	}
	f, err := readCodes(ctx, path)
	if errors.Is(err, hamming.ErrKind) {
		r, err := ofIndex()
		if errors.Is(err, hamming.ErrKind) {
			return nil, fmt.Errorf("%s: neither a model, nor codes, nor an index", path)
		}
		return r, err
	}
	if err != nil {
		return nil, err
	}
	about := aboutCodes(path, "codes", f.Codes.Bits, f.Fingerprint)
	about.Codes, about.IDs = f.Codes.Len(), f.IDs != nil
	return about, nil
}

// readCodes reads a file of codes, also of NumPy.
func readCodes(ctx context.Context, path string) (*hamming.Table, error) {
	f, err := hamming.ReadFile(path)
	if format, _, _ := dataset.FormatOf(path); !errors.Is(err, hamming.ErrKind) || format != "npy" {
		return f, err
	}
	set, err := dataset.Open(dataset.Spec{Paths: []string{path}, Codes: true})
	if err != nil {
		return nil, err
	}
	in, err := dataset.FromPacked(set, path)
	if err != nil {
		return nil, err
	}
	b, err := in.Read(ctx, set.Rows(), 0, func(int) {})
	return &hamming.Table{Codes: b.Codes}, err
}

// aboutCodes begins the description of a file with codes.
func aboutCodes(path, kind string, bits int, print hamming.Fingerprint) *aboutFile {
	return &aboutFile{
		File: path, Type: kind, Bits: bits, DetailBits: print.Detail(bits), Fingerprint: print.String(),
	}
}

func describeModel(path string) (*aboutFile, error) {
	m, err := model.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := &aboutFile{
		File: path, Type: "model", Bits: m.Encoder.Bits(), DetailBits: m.DetailBits(), Fingerprint: m.Fingerprint().String(),
		Info: &m.Info, Sketched: m.Info.Sketch.Len(),
	}
	f.fillModel(m)
	m.Info.Sketch = nil // thousands of digits
	return f, nil
}

// verifyIndex checks a whole index.
func verifyIndex(ctx context.Context, path string, progress steps) (*aboutFile, error) {
	v, err := store.Verify(ctx, path, progress.of("checking"))
	if err != nil {
		return nil, err
	}
	f := aboutCodes(path, "index", v.Bits, v.Fingerprint)
	f.Items, f.FileBytes, f.FreeBytes, f.Writes = &v.Items, v.FileBytes, v.FreeBytes, v.Writes
	if v.Recovered {
		f.warnings = []string{path + ": the last write was not finished and is ignored"}
	}
	return f, nil
}

// describeIndex opens an index and describes it.
func describeIndex(ctx context.Context, path string, progress steps) (*aboutFile, error) {
	s, err := store.Open(ctx, path, store.OpenOptions{ReadOnly: true, OnDisk: true, Progress: progress.of("opening")})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	i := s.Info()
	f := aboutCodes(path, "index", i.Bits, i.Fingerprint)
	f.Items, f.FileBytes, f.FreeBytes, f.Writes, f.Note = &i.Items, i.FileBytes, i.FreeBytes, i.Writes, i.Note
	if i.Recovered {
		f.warnings = []string{path + unfinished}
	}
	// A filter on labels and tags makes a selection read attributes as well.
	x, err := s.Select(ctx, index.And(index.Label(), index.Tag()), progress.of("reading"))
	if err != nil {
		return nil, err
	}
	f.Distinct = x.Codes()
	f.Attributes = x.Attributes()
	if x.Len() > 0 {
		f.Labels, f.Tags = x.CheckFilter(index.Label()) == nil, x.CheckFilter(index.Tag()) == nil
	}
	m, err := s.Model()
	if err != nil {
		return nil, err
	}
	if m != nil {
		f.fillModel(m)
	}
	return f, nil
}

const unfinished = ": the last write was not finished and is left out"

// fillModel fills in what a model takes as input.
func (f *aboutFile) fillModel(m *model.Model) {
	f.Kind, f.Dims, f.encoder = model.ClassPart(m.Encoder).Kind(), m.Encoder.Dim(), m.Encoder
	f.Ranking = rankingOf(m)
	if m.Features != nil {
		f.Features = m.Features.Kind()
	}
	if m.Pictures != nil {
		f.Pictures = m.Pictures.String()
	}
}

// MarshalJSON writes all that is known.
func (f *FileInfo) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a page escapes it itself
	err := e.Encode(f.about)
	return b.Bytes(), err
}

// WriteText describes the file in lines for people.
func (f *FileInfo) WriteText(w io.Writer) error {
	a, b := &f.about, new(bytes.Buffer)
	fmt.Fprintf(b, "%s: %s of %s, fingerprint %s\n", a.File, a.Type,
		message.Bits(a.Bits-a.DetailBits, a.DetailBits), a.Fingerprint)
	switch a.Type {
	case "codes":
		ids := "no ids"
		if a.IDs {
			ids = "ids"
		}
		fmt.Fprintf(b, "%d codes, with %s\n", a.Codes, ids)
	case "index":
		a.writeIndex(b)
	default:
		if err := a.writeModel(b); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// functions names the hash functions of a model and the columns it adds to a vector for them.
func (f *aboutFile) functions() (kind, more string) {
	if b, _, ok := model.Behind(f.encoder); ok && b.Dim() > f.Dims {
		return b.Kind(), fmt.Sprintf(" and %s that it adds", message.Count(b.Dim()-f.Dims, "column", "columns"))
	}
	return f.Kind, ""
}

// input says how a model takes pictures.
func (f *aboutFile) input() (text string) {
	if f.Features != "" {
		text = fmt.Sprintf("takes pictures and makes its own %s features\n", f.Features)
	}
	if f.Pictures != "" {
		text += fmt.Sprintf("pictures become %s\n", f.Pictures)
	}
	return text
}

// writeModel describes a model after its first line.
func (f *aboutFile) writeModel(w io.Writer) error {
	kind, more := f.functions()
	fmt.Fprintf(w, "method %s, %s over %d dimensions%s, written by version %s\n",
		f.Info.Method, kind, f.Dims, more, f.Info.Version)
	if text := learnedColumns(f.Info); text != "" {
		fmt.Fprintf(w, "vector: %s\n", message.Printable(text))
	}
	fmt.Fprint(w, f.input())
	for _, text := range []string{f.Info.Scale, f.Info.Linear} {
		if text != "" {
			fmt.Fprintln(w, message.Printable(text))
		}
	}
	from := 1
	for _, r := range f.Info.Runs {
		fmt.Fprintf(w, "bits %d to %d: %d rows, seed %d, data %.16s\n", from, r.Bits, r.Rows, r.Seed, r.Data)
		options, err := json.Marshal(r.Options)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%soptions %s\n", chosenOptions(r), options)
		from = r.Bits + 1
	}
	if len(f.Info.HeldOut) > 0 {
		fmt.Fprintf(w, "classes held out of training: %q\n", f.Info.HeldOut)
	}
	fmt.Fprint(w, FiguresText(figuresOf(f.Info.NewItems), figuresOf(f.Info.LearnedItems)), f.Ranking)
	if f.Sketched > 0 {
		fmt.Fprintf(w, "a sketch of %d rows recognises its training rows\n", f.Sketched)
	}
	return nil
}

// learnedColumns formats the columns stored in a model, or returns "".
func learnedColumns(f *model.Info) string {
	text := cmp.Or(f.Vector, message.Runs(f.Features))
	for _, c := range [][2]string{{"label", f.Label}, {"tags", f.Tags}} {
		if c[1] != "" && text != "" {
			text += fmt.Sprintf("; %s: %s", c[0], c[1])
		}
	}
	return text
}

// chosenOptions describes what effort and defaults chose for a FastHash run. It returns "" for models that do not
// record it.
func chosenOptions(r model.Run) string {
	var o fasthash.Options
	if json.Unmarshal(r.Options, &o) != nil || o.Effort == "" {
		return ""
	}
	return o.Summary() + "\n"
}

// writeIndex describes the contents of an index after its first line.
func (f *aboutFile) writeIndex(w io.Writer) {
	fmt.Fprintf(w, "%d items with %d distinct codes\n", *f.Items, f.Distinct)
	kind, more := f.functions()
	if kind == "" {
		fmt.Fprintln(w, "it has no model, so it can only be searched by code")
	} else {
		fmt.Fprintf(w, "its model takes vectors of %d dimensions (%s%s)\n%s", f.Dims, kind, more, f.input())
	}
	fmt.Fprint(w, f.Ranking)
	fields := []string{"id"}
	if f.Labels {
		fields = append(fields, "label")
	}
	if f.Tags {
		fields = append(fields, "tag")
	}
	for _, known := range f.Attributes {
		fields = append(fields, known.String())
	}
	fmt.Fprintf(w, "filters can use %s\n", message.Printable(message.List(fields)))
	fmt.Fprintf(w, "file %s, of which %s are free, after %s\n",
		message.Size(f.FileBytes), message.Size(f.FreeBytes), message.Count(int(f.Writes), "write", "writes"))
	if f.Note != "" {
		fmt.Fprintf(w, "note: %s\n", message.Printable(f.Note))
	}
}
