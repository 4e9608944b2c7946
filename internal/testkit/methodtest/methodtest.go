// Package methodtest makes random rows for tests of methods and solvers.
package methodtest

import (
	"context"
	"math/rand/v2"
	"strconv"

	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// ClusterMatrix draws non-negative vectors around one centre for each class.
func ClusterMatrix(seed uint64, rows, cols, classes int) (vectors.Matrix, []int32) {
	centre, rng := rand.New(rand.NewPCG(7, 7)), rand.New(rand.NewPCG(seed, 1))
	c := make([]float32, classes*cols)
	for i := range c {
		c[i] = 20 + float32(4*centre.Float32())
	}
	x := vectors.Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
	class := make([]int32, rows)
	for i := range rows {
		class[i] = int32(rng.IntN(classes))
		for j := range cols {
			x.Data[i*cols+j] = c[int(class[i])*cols+j] + float32(2*float32(rng.Float32()))
		}
	}
	return x, class
}

// Classed returns clusters as a source with labels.
func Classed(seed uint64, rows, cols, classes int) vectors.Source {
	x, class := ClusterMatrix(seed, rows, cols, classes)
	return vectors.WithLabels(x, ClassNames(class))
}

// ClassNames returns labels for numbered classes.
func ClassNames(class []int32) []string {
	list := make([]string, len(class))
	for i, c := range class {
		list[i] = strconv.Itoa(int(c))
	}
	return list
}

// Tagged returns clusters in which every row has the two tags of its class, and often one more, or none.
func Tagged(seed uint64, rows, cols, classes int) vectors.Table {
	x, class := ClusterMatrix(seed, rows, cols, classes)
	rng := rand.New(rand.NewPCG(seed, 2))
	tags := make([][]string, rows)
	for i, c := range class {
		switch n := strconv.Itoa(int(c)); rng.IntN(8) {
		case 0:
			tags[i] = []string{"a" + n}
		case 1:
			tags[i] = nil
		case 2, 3:
			tags[i] = []string{"a" + n, "b" + n, "a" + strconv.Itoa(rng.IntN(classes))}
		default:
			tags[i] = []string{"a" + n, "b" + n}
		}
	}
	return vectors.Table{X: x, Tags: tags}
}

// paired adds pairs to rows.
type paired struct {
	vectors.Source
	pairs []supervision.Pair
}

// WithPairs adds pairs to the rows of a source.
func WithPairs(x vectors.Source, pairs []supervision.Pair) vectors.Source { return paired{x, pairs} }

// Data scans a source into data that methods learn from.
func Data(src vectors.Source) (*supervision.Data, error) {
	if m, ok := src.(vectors.Matrix); ok && m.Rows == 0 {
		return &supervision.Data{Source: m}, nil
	}
	d, err := supervision.Scan(context.Background(), src, supervision.ScanOptions{})
	if p, ok := src.(paired); ok && err == nil {
		err = d.SetPairs(p.pairs)
	}
	return d, err
}

// RandomRows draws rows with dependent columns: each is a mixture of a few.
func RandomRows(seed uint64, rows, cols int) vectors.Matrix {
	rng := rand.New(rand.NewPCG(seed, 5))
	few := min(cols, 20)
	mix := make([]float64, few*cols)
	for i := range mix {
		mix[i] = rng.NormFloat64()
	}
	x := vectors.Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
	for i := range rows {
		row := x.Row(i)
		for j := range row {
			row[j] = float32(0.3 * rng.NormFloat64())
		}
		for k := range few {
			f := rng.NormFloat64() / float64(k+1)
			for j := range row {
				row[j] += float32(f * mix[k*cols+j])
			}
		}
	}
	return x
}

// NormalRows draws rows of independent columns with decreasing spread, off the origin.
func NormalRows(seed uint64, rows, cols int) vectors.Matrix {
	rng := rand.New(rand.NewPCG(seed, 3))
	x := vectors.Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
	for i := range x.Data {
		x.Data[i] = 3 + float32(rng.NormFloat64()/(1+float64(float64(i%cols)/8)))
	}
	return x
}
