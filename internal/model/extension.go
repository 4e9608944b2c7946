package model

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	"hashgrove/internal/vectors"
)

// Extension keeps all columns and adds others: y is x, followed by the values of x under Maps, in sequence. So
// trees, which compare single columns, can also compare sums over columns. A missing value, NaN, counts as the mean of
// its column if the first map is an Affine with means, and as zero otherwise.
type Extension struct {
	Maps []Map // none of them an Extension
}

func (m *Extension) dim() int {
	if len(m.Maps) == 0 || m.Maps[0] == nil {
		return 0
	}
	return m.Maps[0].dim()
}

// Added returns the number of columns that it adds.
func (m *Extension) Added() int {
	if len(m.Maps) == 0 || m.Maps[len(m.Maps)-1] == nil {
		return 0
	}
	return m.Maps[len(m.Maps)-1].Out()
}

// Out implements Map.
func (m *Extension) Out() int { return m.dim() + m.Added() }

// Check implements Map.
func (m *Extension) Check() error {
	if len(m.Maps) < 1 || len(m.Maps) > maxMaps {
		return fmt.Errorf("an extension by %d maps, outside of 1 to %d", len(m.Maps), maxMaps)
	}
	for i, inner := range m.Maps {
		if inner == nil {
			return fmt.Errorf("map %d of an extension is missing", i)
		}
		if _, nested := inner.(*Extension); nested {
			return errors.New("an extension within an extension")
		}
		if err := inner.Check(); err != nil {
			return fmt.Errorf("map %d of an extension: %w", i, err)
		}
		if i > 0 && m.Maps[i-1].Out() != inner.dim() {
			return fmt.Errorf("map %d of an extension takes %d values of %d", i, inner.dim(), m.Maps[i-1].Out())
		}
	}
	return checkMapSize(m)
}

func (m *Extension) apply(dst, x vectors.Matrix) {
	d, added := x.Cols, m.Added()
	for i := range x.Rows {
		copy(dst.Row(i)[:d], x.Row(i))
	}
	if !finite(x.Data) {
		x = m.filled(x)
	}
	lent := borrow(x.Rows * added)
	defer giveBack(lent)
	y := vectors.Matrix{Rows: x.Rows, Cols: added, Data: *lent}
	apply(y, x, m.Maps)
	for i := range x.Rows {
		copy(dst.Row(i)[d:], y.Row(i))
	}
}

// filled returns a copy of x without missing values.
func (m *Extension) filled(x vectors.Matrix) vectors.Matrix {
	if first, ok := m.Maps[0].(*Affine); ok {
		return filledIn(x, first.Mean)
	}
	return filledIn(x, nil)
}

// filledIn returns a copy of x in which the mean of the column, or zero without means, stands for a missing value.
func filledIn(x vectors.Matrix, mean []float32) vectors.Matrix {
	x.Data = append([]float32(nil), x.Data...)
	for i, v := range x.Data {
		if !math.IsNaN(float64(v)) {
			continue
		}
		if x.Data[i] = 0; mean != nil {
			x.Data[i] = mean[i%len(mean)]
		}
	}
	return x
}

func (m *Extension) tag() byte { return extensionTag }

func (m *Extension) code(c *codec) { codeMaps(c, &m.Maps, true) }

// EqualMaps reports whether two maps have the same bytes.
func EqualMaps(a, b Map) bool { return bytes.Equal(bytesOfMap(a), bytesOfMap(b)) }

func bytesOfMap(m Map) []byte {
	c := new(codec)
	codeMap(c, &m, false)
	return c.b
}

// Behind returns the trees or hyperplanes of an encoder, and a function that returns the vector they take for x, to
// which an encoder may first add columns. ok is false for other encoders, and for those behind maps that keep no column
// as is.
func Behind(e Encoder) (b *Binned, row func(x []float32) []float32, ok bool) {
	row, e = func(x []float32) []float32 { return x }, ClassPart(e)
	if b, ok = e.(*Binned); ok {
		return b, row, true
	}
	m, ok := e.(*Mapped)
	if !ok {
		return nil, nil, false
	}
	for _, step := range m.Maps {
		if _, ok := step.(*Extension); !ok {
			return nil, nil, false
		}
	}
	b, ok = m.Encoder.(*Binned)
	return b, m.columns, ok
}

// columns returns a vector as the encoder behind the maps sees it. One of the wrong length stays as it is, and the
// caller will report it.
func (e *Mapped) columns(x []float32) []float32 {
	if len(x) != e.Dim() {
		return x
	}
	y := vectors.Matrix{Rows: 1, Cols: e.Encoder.Dim(), Data: make([]float32, e.Encoder.Dim())}
	apply(y, vectors.Matrix{Rows: 1, Cols: len(x), Data: x}, e.Maps)
	return y.Data
}

// BehindScores is Behind for an encoder of the learner that predicts bits from scores of classes or tags: its columns
// are those scores, of which the last maps make shares, or numbers that are zero where a class is as likely as it was
// frequent.
func BehindScores(e Encoder) (b *Binned, row func(x []float32) []float32, ok bool) {
	m, ok := ClassPart(e).(*Mapped)
	if !ok {
		return nil, nil, false
	}
	last := len(m.Maps) - 1
	if w, ok := m.Maps[last].(*Winner); ok && w.Soft {
		last--
	}
	if last < 1 {
		return nil, nil, false
	}
	fit, fitted := m.Maps[last-1].(*Affine)
	to, scaled := m.Maps[last].(*Affine)
	b, ok = m.Encoder.(*Binned)
	if !ok || !fitted || !scaled || b.Kind() != kindLinear || fit.Bias == nil || to.Weight.Data != nil {
		return nil, nil, false
	}
	return b, m.columns, true
}

// ColumnName returns the name of a column as trees count them, added columns after those of the vectors, or "".
func (f *Info) ColumnName(column, dim int) string {
	switch {
	case column < dim && column < len(f.Features):
		return f.Features[column]
	case column >= dim && column-dim < len(f.Added):
		return f.Added[column-dim]
	case column >= dim && column-dim < len(f.Scored):
		return "score for " + f.Scored[column-dim]
	}
	return ""
}

// ColumnTitle returns a column's name for people: of an added column what it is a score for.
func (f *Info) ColumnTitle(column, dim int) string {
	name := f.ColumnName(column, dim)
	if column < dim {
		return name
	}
	if of, ok := strings.CutPrefix(name, "linear:"); ok {
		return "score for " + of
	}
	if of, ok := strings.CutPrefix(name, "kernel:"); ok {
		return "kernel score for " + of
	}
	return name
}

// extensions returns the number of columns that an encoder adds to vectors.
func extensions(e Encoder) int {
	n := 0
	if m, ok := ClassPart(e).(*Mapped); ok {
		for _, step := range m.Maps {
			if x, ok := step.(*Extension); ok {
				n += x.Added()
			}
		}
	}
	return n
}
