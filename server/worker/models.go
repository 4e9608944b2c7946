package worker

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"

	"hashgrove"
	"hashgrove/api"
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
	return arrayOf(b.Bytes()), err
}

// load reads a model from the bytes of its file.
func (c *call) load() (any, []Array, error) {
	a, err := c.array(0, "the bytes of a model")
	if err != nil {
		return nil, nil, err
	}
	m, err := model.Read(bytes.NewReader(a.data))
	if err != nil {
		return nil, nil, err
	}
	return c.hold(inside.NewModel(m).(*hashgrove.Model)), nil, nil
}

// shorter returns a model of the first bits.
func (c *call) shorter(p *encodeParams) (any, []Array, error) {
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

// encodeParams are those of encode and shorter.
type encodeParams struct {
	Model   uint64 `json:"model"`
	Bits    int    `json:"bits"`
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
		return nil, []Array{arrayOf(all.Data, all.Rows, all.Cols)}, inRows(err, m, x, p.First)
	}
	codes, err := inside.Model(m).Encode(c.ctx, x, threads)
	if err != nil {
		return nil, nil, inRows(err, m, x, p.First)
	}
	packed := make([]byte, 0, codes.Len()*codes.Bytes())
	for i := range codes.Len() {
		packed = codes.AppendBytes(packed, i)
	}
	return nil, []Array{arrayOf(packed, x.Rows, codes.Bytes())}, nil
}

// inRows makes an error about a value name its row among all that are encoded.
func inRows(err error, m *hashgrove.Model, x vectors.Matrix, first int) error {
	own := inside.Model(m)
	if err == nil || x.Cols != own.Dim() {
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

// rows returns an array of the call as a list of vectors.
func (c *call) rows(i int) ([][]float32, error) {
	x, err := c.vectors(i)
	rows := make([][]float32, x.Rows)
	for i := range rows {
		rows[i] = x.Row(i)
	}
	return rows, err
}

// rowParams describe vectors to learn from, which are the first array; pairs (i8, three columns) are the second.
type rowParams struct {
	Names   []string   `json:"names,omitempty"` // of the columns
	Label   string     `json:"label,omitempty"` // name of the column of classes or tags
	Classes []string   `json:"classes,omitempty"`
	Tags    [][]string `json:"tags,omitempty"`
	Pairs   bool       `json:"pairs,omitempty"`
	Missing bool       `json:"missing,omitempty"` // NaN stands for a missing value
}

// table returns the rows of a call, without pairs.
func (c *call) table(r *rowParams) (vectors.Table, error) {
	x, err := c.vectors(0)
	if err != nil {
		return vectors.Table{}, err
	}
	t := vectors.Table{X: x, Labels: r.Classes, Tags: r.Tags,
		Known: vectors.Schema{Names: r.Names, Missing: r.Missing}}
	if r.Names != nil && len(r.Names) != x.Cols {
		return t, api.Errorf(api.ErrInvalid, "%d names for %d columns", len(r.Names), x.Cols)
	}
	if r.Tags != nil {
		t.Known.Tags = r.Label
	}
	if r.Classes != nil {
		t.Known.Label = r.Label
	}
	for i, name := range r.Classes {
		if r.Classes[i] = supervision.CanonicalLabel(name); r.Classes[i] == "" {
			return t, api.Errorf(api.ErrInvalid, "row %d has no class: leave such rows out, or give them one", i)
		}
	}
	return t, t.CheckLengths()
}

// data returns the rows of a call to learn from.
func (c *call) data(r *rowParams) (*hashgrove.Data, error) {
	t, err := c.table(r)
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
	a, err := c.array(1, "pairs")
	if err != nil {
		return nil, err
	}
	if len(a.Shape) != 2 || a.Shape[1] != 3 || a.Type != Int64 {
		return nil, api.Errorf(api.ErrInvalid, "pairs are rows of three whole numbers, not of the shape %v", a.Shape)
	}
	list, rows := make([]hashgrove.Pair, a.Shape[0]), int64(t.X.Rows)
	for i, of := range slices.Collect(slices.Chunk(valuesOf[int64](a), 3)) {
		if of[0] < 0 || of[1] < 0 || of[0] >= rows || of[1] >= rows || of[2] < -1 || of[2] > 1 {
			return nil, api.Errorf(api.ErrInvalid, "pair %d is %d, %d, %d: give two rows from 0 to %d, and 1, -1 or 0",
				i, of[0], of[1], of[2], rows-1)
		}
		list[i] = hashgrove.Pair{A: int32(of[0]), B: int32(of[1]), Y: int8(of[2])}
	}
	return d.WithPairs(list), nil
}

// note is a choice or a doubt.
type note struct {
	Code  string `json:"code"`
	Text  string `json:"text"`
	Doubt bool   `json:"doubt,omitempty"`
}

type trainParams struct {
	rowParams
	Options hashgrove.Options `json:"options"`
	Memory  int64             `json:"memory,omitempty"`
}

// train learns a model.
func (c *call) train(p *trainParams) (any, []Array, error) {
	d, err := c.data(&p.rowParams)
	if err != nil {
		return nil, nil, err
	}
	o := p.Options
	o.Threads = cmp.Or(o.Threads, c.threads)
	if o.Memory = p.Memory; o.Memory > 0 {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(o.Memory - o.Memory/10))
	}
	o.Progress = c.training
	made, err := hashgrove.Train(c.ctx, d, o)
	if err != nil {
		return nil, nil, err
	}
	b, err := file(made.Model)
	if err != nil {
		return nil, nil, err
	}
	notes := []note{}
	for _, n := range made.Report.Notes {
		notes = append(notes, note{n.Code, n.Text, n.Doubt})
	}
	report := map[string]any{
		"method": made.Report.Method, "rows": made.Report.Rows, "held_out": made.Report.HeldOut, "notes": notes,
		"seconds": made.Report.Total.Seconds(), "learning_seconds": made.Report.Learning.Seconds(),
	}
	return map[string]any{"about": c.hold(made.Model), "report": report}, []Array{b}, nil
}

// training passes on the progress of a training.
func (c *call) training(p hashgrove.Progress) {
	if p.Learned != nil {
		c.progress(map[string]any{"done": p.Bit, "total": p.Bits, "note": fmt.Sprintf("error %.4f", p.Learned.TrainError)})
	}
}
