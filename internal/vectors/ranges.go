package vectors

import (
	"context"
	"errors"
	"math"
	"sync/atomic"

	"hashgrove/internal/par"
)

// Ranges collects what a quantiser needs to know about the training data.
type Ranges struct {
	Rows     int
	Min, Max []float32 // least and greatest value of each column
	Bytes    bool      // every value is a whole number from 0 to 255

	// Missing counts the missing values (NaN) of each column; nil if no value may be missing. To allow missing values,
	// set it to zeros before adding rows.
	Missing []int

	sample rowSample
	team   *par.Team
}

// NewRanges returns the ranges of zero rows.
func NewRanges(dim int) *Ranges {
	r := &Ranges{Min: make([]float32, dim), Max: make([]float32, dim), Bytes: true}
	for j := range dim {
		r.Min[j], r.Max[j] = float32(math.Inf(1)), float32(math.Inf(-1))
	}
	return r
}

// Add adds rows, on all cores.
func (r *Ranges) Add(x Matrix) { r.add(x) }

// AddChecked is Add for unchecked rows: it returns an error for values that are not finite, or that are missing but may
// not be.
func (r *Ranges) AddChecked(c Chunk) error {
	if r.add(c.X) {
		return nil
	}
	return c.CheckValues(r.Missing != nil)
}

// add adds rows and reports whether all values are finite.
func (r *Ranges) add(x Matrix) bool {
	if r.team == nil {
		r.team = par.NewTeam(0)
	}
	// Blocks of columns are whole cache lines, and small enough to keep all cores busy.
	const least, most = 16, 64
	width := max((x.Cols/most+least-1)/least*least, least)
	var fractions, infinite atomic.Bool
	r.team.Blocks(x.Cols, width, func(_, lo, hi int) {
		bytes, finite := r.addColumns(x, lo, hi)
		if !bytes {
			fractions.Store(true)
		}
		if !finite {
			infinite.Store(true)
		}
	})
	r.Bytes = r.Bytes && !fractions.Load()
	r.sample.add(x, r.Rows)
	r.Rows += x.Rows
	return !infinite.Load()
}

// addColumns adds some columns. It reports whether all values are bytes, if that still matters, and whether all are
// finite.
func (r *Ranges) addColumns(x Matrix, first, end int) (bytes, finite bool) {
	lo, hi := r.Min[first:end], r.Max[first:end]
	hi = hi[:len(lo)]
	bytes = r.Bytes
	top := uint32(0) // greatest magnitude
	for i := range x.Rows {
		row := x.Row(i)[first:end]
		row = row[:len(lo)]
		for j, v := range row {
			if v < lo[j] {
				lo[j] = v
			}
			if v > hi[j] {
				hi[j] = v
			}
			top = max(top, math.Float32bits(v)&^(1<<31))
		}
		for j := 0; bytes && j < len(row); j++ {
			v := row[j]
			bytes = v >= 0 && v <= 255 && v == float32(uint8(v))
		}
		if r.Missing == nil {
			continue
		}
		for j, v := range row {
			if v != v {
				r.Missing[first+j]++
			}
		}
	}
	return bytes, top <= math.Float32bits(math.MaxFloat32)
}

// Constant returns the columns with a single value. Being missing sometimes counts as another value.
func (r *Ranges) Constant() []int {
	var list []int
	for j := range r.Min {
		missing := 0
		if r.Missing != nil {
			missing = r.Missing[j]
		}
		if r.Min[j] == r.Max[j] && missing == 0 || missing == r.Rows {
			list = append(list, j)
		}
	}
	return list
}

// Read adds all rows of a source.
func (r *Ranges) Read(ctx context.Context, src Source) error {
	for c, err := range src.Chunks(ctx) {
		if err != nil {
			return err
		}
		r.Add(c.X)
	}
	return nil
}

// QuantizerBy returns a quantiser with the given binning.
func (r *Ranges) QuantizerBy(how Binning) (Quantizer, error) {
	if r.Rows == 0 {
		return Quantizer{}, errors.New("no rows to compute ranges from")
	}
	if err := how.Check(); err != nil {
		return Quantizer{}, err
	}
	q := Quantizer{Lo: make([]float32, len(r.Min)), Hi: make([]float32, len(r.Max)), Missing: r.Missing != nil}
	if r.Bytes && !q.Missing {
		for j := range q.Lo {
			q.Hi[j] = Bins - 1
		}
		return q, nil
	}
	for j := range q.Lo {
		q.setEnds(j, r.Min[j], r.Max[j])
	}
	if how != Linear {
		r.sample.refine(&q, r, how)
	}
	return q, q.Check()
}

// setEnds gives column j linear bins between two values, widened by a thousandth of their distance, plus one bin below
// if values may be missing.
func (q *Quantizer) setEnds(j int, least, greatest float32) {
	if !(least <= greatest) { // all values are missing
		least, greatest = 0, 1
	}
	lo, hi := float64(least), float64(greatest)
	widen := (hi - lo) / 1000
	below := widen
	if q.Missing {
		below += (hi - lo) / (Bins - 2)
	}
	q.Lo[j] = widened(lo-below, least, -math.MaxFloat32)
	q.Hi[j] = widened(hi+widen, greatest, math.MaxFloat32)
}

// widened rounds to a float32 that lies beyond value, but not beyond the limit.
func widened(to float64, value, limit float32) float32 {
	w := float32(to)
	if math.IsInf(float64(w), 0) {
		w = limit
	}
	if w == value {
		w = math.Nextafter32(value, limit)
	}
	return w
}
