package fasthash

import (
	"context"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/vectors"
)

// regress takes the sums over all rows and returns the fit without each fold, and the fit to all.
func (f *scoreFit) regress(ctx context.Context) ([]linalg.Regression, linalg.Regression, error) {
	side := f.Dim()
	if len(f.basis) > 0 {
		side = f.basis[0].Out()
	}
	sums := linalg.NewFolds(scoreFolds, side, len(f.names), f.threads)
	for c, err := range f.Chunks(ctx) {
		if err != nil {
			return nil, linalg.Regression{}, err
		}
		for lo := 0; lo < c.X.Rows; lo += regressRows {
			z, err := f.standard(ctx, c.X.Slice(lo, min(lo+regressRows, c.X.Rows)))
			if err == nil {
				z, err = model.Transform(ctx, f.threads, z, f.basis...)
			}
			if err != nil {
				return nil, linalg.Regression{}, err
			}
			for i := range z.Rows {
				if err := f.addRow(ctx, sums, c.First+lo+i, z.Row(i)); err != nil {
					return nil, linalg.Regression{}, err
				}
			}
			if err := sums.Keep(ctx); err != nil {
				return nil, linalg.Regression{}, err
			}
		}
	}
	if f.kernel {
		return sums.CrossFit(ctx, kernelPenalties[:])
	}
	return sums.CrossFit(ctx, scorePenalties[:])
}

// regressRows is the number of rows whose φ is in memory at a time.
const regressRows = 8192

// addRow adds φ of a row to the sums, unless no fit may see it.
func (f *scoreFit) addRow(ctx context.Context, sums *linalg.Folds, row int, z []float32) error {
	if f.fold[row] == heldFold {
		return nil
	}
	f.list = f.list[:0]
	f.each(row, func(k int32) {
		if place, ok := f.target[k]; ok {
			f.list = append(f.list, place)
		}
	})
	weight := 1.0
	if f.count != nil {
		weight = f.count[f.Labels.Class[row]]
	}
	return sums.Add(ctx, int(f.fold[row]), z, f.list, weight)
}

// chain returns the successive maps from vectors to the scores of regressions.
func (f *scoreFit) chain(ctx context.Context, fits ...linalg.Regression) ([]model.Map, error) {
	out := &model.Affine{}
	for _, r := range fits {
		out.Weight.Rows += r.Weight.Rows
		out.Weight.Data = append(out.Weight.Data, r.Weight.Data...)
		out.Bias = append(out.Bias, linalg.Float32s(r.Bias)...)
	}
	out.Weight.Cols = fits[0].Weight.Cols
	if f.kernel {
		return []model.Map{f.unit, f.basis[0], out}, nil
	}
	if len(f.basis) > 0 {
		var err error
		if out.Weight, err = f.product(ctx, out.Weight, f.basis[0].(*model.Affine).Weight); err != nil {
			return nil, err
		}
	}
	// One step instead of two: fold the scale into the weights.
	out.Mean = f.unit.Mean
	for k := range out.Weight.Rows {
		row := out.Weight.Row(k)
		for j, s := range f.unit.Scale {
			row[j] *= s
		}
	}
	return []model.Map{out}, nil
}

// product returns a b.
func (f *scoreFit) product(ctx context.Context, a, b vectors.Matrix) (vectors.Matrix, error) {
	across := vectors.Matrix{Rows: a.Cols, Cols: a.Rows, Data: make([]float32, len(a.Data))}
	for i := range a.Rows {
		for j, v := range a.Row(i) {
			across.Row(j)[i] = v
		}
	}
	sum, err := linalg.TransposeProduct(ctx, f.threads, across, b)
	return vectors.Matrix{Rows: a.Rows, Cols: b.Cols, Data: linalg.Float32s(sum)}, err
}

// apply scores every row by the fit to the folds other than its own; rows in no fold use the last fit.
func (f *scoreFit) apply(ctx context.Context, fits []linalg.Regression) (vectors.Matrix, error) {
	n := len(f.names)
	y := vectors.Matrix{Rows: f.Rows, Cols: n, Data: make([]float32, f.Rows*n)}
	maps, err := f.chain(ctx, fits...)
	if err != nil {
		return y, err
	}
	all := model.Extension{Maps: maps}
	for c, err := range f.Chunks(ctx) {
		if err != nil {
			return y, err
		}
		z, err := model.Transform(ctx, f.threads, c.X, &all)
		if err != nil {
			return y, err
		}
		for i := range z.Rows {
			at := min(int(f.fold[c.First+i]), scoreFolds)*n + c.X.Cols
			copy(y.Row(c.First+i), z.Row(i)[at:at+n])
		}
	}
	return y, nil
}
