package worker

import (
	"bytes"
	"cmp"
	"runtime/debug"
	"slices"
	"time"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/search"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// aboutModel describes a model that the worker holds.
type aboutModel struct {
	Model       uint64     `json:"model"` // its number
	Bits        int        `json:"bits"`  // with those of detail
	DetailBits  int        `json:"detail_bits,omitempty"`
	Dim         int        `json:"dim"`
	Fingerprint string     `json:"fingerprint"`
	Rank        string     `json:"rank"` // how searches rank by default
	Missing     bool       `json:"missing,omitempty"`
	Pictures    bool       `json:"pictures,omitempty"`
	Info        model.Info `json:"info"` // without the sketch of the rows
}

// hold keeps a model and describes it.
func (c *call) hold(m *hashgrove.Model) aboutModel {
	x := inside.Model(m)
	about := aboutModel{
		Model: c.keep(m), Bits: m.Bits(), DetailBits: x.DetailBits(), Dim: x.Dim(), Fingerprint: m.Fingerprint(),
		Rank: x.Rank(), Missing: x.TakesMissing(), Pictures: x.Pictures != nil, Info: x.Info,
	}
	about.Info.Sketch = nil
	return about
}

// file returns the bytes of a model's file.
func file(m *hashgrove.Model) (Array, error) {
	var b bytes.Buffer
	err := model.Write(&b, inside.Model(m))
	return byteArray(b.Bytes()), err
}

// load reads a model from the bytes of its file.
func (c *call) load() (any, []Array, error) {
	a, err := c.array(0, "the bytes of a model")
	if err != nil {
		return nil, nil, err
	}
	m, err := model.Read(bytes.NewReader(a.bytes))
	if err != nil {
		return nil, nil, search.Coded(err)
	}
	return c.hold(inside.NewModel(m).(*hashgrove.Model)), nil, nil
}

type shorterParams struct {
	Model uint64 `json:"model"`
	Bits  int    `json:"bits"`
}

// shorter returns a model of the first bits.
func (c *call) shorter(p *shorterParams) (any, []Array, error) {
	m, err := c.model(p.Model)
	if err != nil {
		return nil, nil, err
	}
	short, err := m.Shorter(p.Bits)
	if err != nil {
		return nil, nil, err
	}
	b, err := file(short)
	return c.hold(short), []Array{b}, err
}

type encodeParams struct {
	Model   uint64 `json:"model"`
	Margins bool   `json:"margins"`
	First   int    `json:"first"` // number of the first row, for errors
	Threads int    `json:"threads"`
}

// encode turns vectors into codes or margins.
func (c *call) encode(p *encodeParams) (any, []Array, error) {
	m, err := c.model(p.Model)
	if err != nil {
		return nil, nil, err
	}
	x, err := c.vectors(0)
	if err != nil {
		return nil, nil, err
	}
	threads := search.Threads(x.Rows, cmp.Or(p.Threads, c.threads))
	if p.Margins {
		all, err := inside.Model(m).Margins(c.ctx, x, threads)
		if err != nil {
			return nil, nil, inRows(err, m, x, p.First)
		}
		return nil, []Array{floatArray(all)}, nil
	}
	codes, err := inside.Model(m).Encode(c.ctx, x, threads)
	if err != nil {
		return nil, nil, inRows(err, m, x, p.First)
	}
	packed := make([]byte, 0, codes.Len()*codes.Bytes())
	for i := range codes.Len() {
		packed = codes.AppendBytes(packed, i)
	}
	return nil, []Array{byteArray(packed, x.Rows, codes.Bytes())}, nil
}

// inRows makes an error about a value name its row among all that are encoded.
func inRows(err error, m *hashgrove.Model, x vectors.Matrix, first int) error {
	own := inside.Model(m)
	if x.Cols != own.Dim() {
		return err
	}
	return cmp.Or(vectors.Chunk{First: first, X: x}.CheckValues(own.TakesMissing()), err)
}

// vectors returns an array of the call as vectors.
func (c *call) vectors(i int) (vectors.Matrix, error) {
	a, err := c.array(i, "vectors")
	if err != nil {
		return vectors.Matrix{}, err
	}
	return a.matrix()
}

// rows describe vectors to learn from. The arrays are the vectors, then those of what is given: the classes of the rows
// by number (i4); starts (i8, one more than rows) and numbers (i4) of the rows' tags; pairs (i8, three columns).
type rows struct {
	Names   []string `json:"names,omitempty"`   // of the columns
	Label   string   `json:"label,omitempty"`   // name of the column of classes or tags
	Classes []string `json:"classes,omitempty"` // names
	Tags    []string `json:"tags,omitempty"`    // names
	Pairs   bool     `json:"pairs,omitempty"`
	Missing bool     `json:"missing,omitempty"` // NaN stands for a missing value
}

// table returns the rows of a call, without its pairs, and the number of its arrays that it used.
func (c *call) table(r *rows) (_ vectors.Named, used int, err error) {
	x, err := c.vectors(0)
	if err != nil {
		return vectors.Named{}, 0, err
	}
	t := vectors.Named{Table: vectors.Table{X: x}, Known: vectors.Schema{Names: r.Names, Missing: r.Missing}}
	if r.Names != nil && len(r.Names) != x.Cols {
		return t, 0, message.New("bad-frame", "%d names for %d columns", len(r.Names), x.Cols)
	}
	used = 1
	if r.Classes != nil {
		t.Known.Label = r.Label
		if t.Labels, err = c.classes(used, r.Classes); err != nil {
			return t, 0, err
		}
		used++
	}
	if r.Tags != nil {
		t.Known.Tags = r.Label
		if t.Tags, err = c.tags(used, r.Tags); err != nil {
			return t, 0, err
		}
		used += 2
	}
	return t, used, t.CheckLengths()
}

// classes returns the class of every row by name.
func (c *call) classes(at int, names []string) ([]string, error) {
	a, err := c.array(at, "the classes of the rows")
	if err != nil {
		return nil, err
	}
	names = slices.Clone(names)
	for i, name := range names {
		names[i] = supervision.CanonicalLabel(name)
	}
	labels := make([]string, len(a.int32s))
	for i, class := range a.int32s {
		if class < 0 || int(class) >= len(names) || names[class] == "" {
			return nil, api.Errorf(api.ErrInvalid, "row %d has no label", i)
		}
		labels[i] = names[class]
	}
	return labels, nil
}

// tags returns the tags of every row by name.
func (c *call) tags(at int, names []string) ([][]string, error) {
	starts, err := c.array(at, "where the tags of rows start")
	if err != nil {
		return nil, err
	}
	numbers, err := c.array(at+1, "the tags of the rows")
	if err != nil {
		return nil, err
	}
	if len(starts.int64s) == 0 {
		return nil, message.New("bad-frame", "the starts of the tags have one entry more than there are rows")
	}
	list := make([][]string, len(starts.int64s)-1)
	for i := range list {
		lo, hi := starts.int64s[i], starts.int64s[i+1]
		if lo < 0 || hi < lo || hi > int64(len(numbers.int32s)) {
			return nil, message.New("bad-frame", "the tags of row %d are %d to %d of %d", i, lo, hi, len(numbers.int32s))
		}
		list[i] = make([]string, 0, hi-lo)
		for _, tag := range numbers.int32s[lo:hi] {
			if tag < 0 || int(tag) >= len(names) {
				return nil, message.New("bad-frame", "row %d has a tag of the number %d", i, tag)
			}
			list[i] = append(list[i], names[tag])
		}
	}
	return list, nil
}

// data returns the rows of a call to learn from.
func (c *call) data(r *rows) (*hashgrove.Data, error) {
	t, used, err := c.table(r)
	if err != nil {
		return nil, err
	}
	d := inside.NewData(t).(*hashgrove.Data)
	if r.Missing {
		d = d.WithMissing()
	}
	if !r.Pairs {
		return d, nil
	}
	a, err := c.array(used, "pairs")
	if err != nil {
		return nil, err
	}
	if len(a.Shape) != 2 || a.Shape[1] != 3 || a.Type != Int64 {
		return nil, message.New("bad-frame", "pairs are rows of three whole numbers, not of the shape %v", a.Shape)
	}
	list := make([]hashgrove.Pair, a.Shape[0])
	for i := range list {
		three := a.int64s[3*i : 3*i+3]
		rows := int64(t.X.Rows)
		if three[0] < 0 || three[1] < 0 || three[0] >= rows || three[1] >= rows || three[2] < -1 || three[2] > 1 {
			return nil, api.Errorf(api.ErrInvalid, "pair %d is %d, %d, %d: give two rows from 0 to %d, and 1, -1 or 0",
				i, three[0], three[1], three[2], rows-1)
		}
		list[i] = hashgrove.Pair{A: int32(three[0]), B: int32(three[1]), Y: int8(three[2])}
	}
	return d.WithPairs(list), nil
}

// bitProgress reports a learned bit.
type bitProgress struct {
	Bit       int     `json:"bit"` // from 1
	Bits      int     `json:"bits"`
	Objective float64 `json:"objective"`
	Error     float64 `json:"error"`
}

// noteProgress reports a choice or a doubt.
type noteProgress struct {
	Code  string `json:"code"`
	Text  string `json:"text"`
	Doubt bool   `json:"doubt,omitempty"`
}

type trainParams struct {
	rows
	Options hashgrove.Options `json:"options"`
	Grow    uint64            `json:"grow,omitempty"` // a model to start from
	Memory  int64             `json:"memory,omitempty"`
}

// train learns a model.
func (c *call) train(p *trainParams) (any, []Array, error) {
	d, err := c.data(&p.rows)
	if err != nil {
		return nil, nil, err
	}
	o := p.Options
	o.Threads = cmp.Or(o.Threads, c.threads)
	if o.Memory = p.Memory; o.Memory > 0 {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(o.Memory - o.Memory/10))
	}
	if p.Grow != 0 {
		m, err := c.model(p.Grow)
		if err != nil {
			return nil, nil, err
		}
		o.Grow = m
	}
	o.Progress = c.training()
	made, err := hashgrove.Train(c.ctx, d, o)
	if err != nil {
		return nil, nil, err
	}
	b, err := file(made.Model)
	if err != nil {
		return nil, nil, err
	}
	report := map[string]any{
		"method": made.Report.Method, "rows": made.Report.Rows, "held_out": made.Report.HeldOut,
		"notes":   notes(made.Report.Notes),
		"seconds": made.Report.Total.Seconds(), "learning_seconds": made.Report.Learning.Seconds(),
	}
	return map[string]any{"about": c.hold(made.Model), "report": report}, []Array{b}, nil
}

// notes returns the notes of a training.
func notes(from []hashgrove.Note) []noteProgress {
	list := make([]noteProgress, len(from))
	for i, n := range from {
		list[i] = noteProgress{n.Code, n.Text, n.Doubt}
	}
	return list
}

// training passes on the progress of a training; rows that are read, ten times a second.
func (c *call) training() func(hashgrove.Progress) {
	var shown time.Time
	return func(p hashgrove.Progress) {
		switch {
		case p.Note != nil:
			c.progress(noteProgress{p.Note.Code, p.Note.Text, p.Note.Doubt})
		case p.Learned != nil:
			c.progress(bitProgress{p.Bit, p.Bits, p.Learned.Objective, p.Learned.TrainError})
		case time.Since(shown) > 100*time.Millisecond:
			shown = time.Now()
			c.progress(map[string]int{"rows": p.Rows})
		}
	}
}
