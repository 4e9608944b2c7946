package fasthash

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// The learner Scores predicts a bit without trees, from how much a row looks like each class. With s_t the linear or
// kernel score of class t (linear.go) and π_t the share of its rows,
//
//	u_t(x) = (s_t(x) - π_t) / √π_t                   so that rare classes count as much as frequent ones
//	p_t(x) = exp(β u_t) / (sum of the same over all)  shares; or u_t itself, β = 0
//	h_k(x) = sign(sum over t of c_kt p_t(x))          c_kt the mean of the bit z_k over the rows of class t
//
// Trees need many rows to learn what a class looks like, and learn it again for every bit. Here all rows of a class
// teach one score that all bits share, so with few rows a class, or with many classes, this predicts bits better.
// For tags, the weights c_k are those of ridge regression of z_k on the scores.
//
// Training rows have the scores of fits that did not see them. Whether scores are linear or of a kernel, and β, are
// those whose codes - the classes having random ones - find rows of other folds best. Step 1 gives all classes the same
// weight, so that the codes of rare ones are as far from others as those of frequent ones.

// sharpness lists the β to choose from.
var sharpness = [...]float64{0, 0.5, 1, 2, 4}

const (
	mostClasses  = 4096 // classes or tags with a score for this learner
	judgeBits    = 64
	judgeQueries = 300 // of each fold
	judgeBase    = 4000
	bitRidge     = 0.01 // of the weights of tags, in mean squares of a column
)

// fitClassScores fits the columns of the learner Scores, and says in words which it chose.
func (t *training) fitClassScores(
	ctx context.Context, d *supervision.Data, asked string, fold []uint8,
) (best *scores, why string, err error) {
	kinds := []string{LinearScores, KernelScores}
	if asked == LinearScores || asked == KernelScores {
		kinds = []string{asked}
	} else if asked == LinearAuto {
		kinds = kinds[:1]
	}
	most := -1.0
	for _, kind := range kinds {
		s, err := t.fitTargets(ctx, d, kind, fold, mostClasses)
		if err != nil {
			return nil, "", err
		}
		share := shares(d, fold, len(s.names))
		for _, beta := range sharpness {
			if beta > 0 && d.Labels == nil {
				break // any number of tags may be right
			}
			maps := sharpen(share, beta)
			values, err := model.Transform(ctx, t.Threads, s.values, maps...)
			if err != nil {
				return nil, "", err
			}
			found, err := t.judgeScores(ctx, d, values, fold)
			if err != nil {
				return nil, "", err
			}
			if found > most {
				most, t.kind = found, kind
				best = &scores{append(s.maps[:len(s.maps):len(s.maps)], maps...), s.names, values, s.shape}
				why = fmt.Sprintf("%s scores, of sharpness %v, find rows of other parts best: MAP %.3f", kind, beta, found)
			}
		}
	}
	return best, why, nil
}

// shares returns the share of rows of each class or tag with a score, in the order of the scores.
func shares(d *supervision.Data, fold []uint8, n int) []float64 {
	share, rows := make([]float64, n), 0.0
	for i, k := range fold {
		if k == heldFold {
			continue
		}
		rows++
		if d.Labels != nil {
			share[d.Labels.Class[i]]++
			continue
		}
		for _, tag := range d.Tags.Row(i) {
			share[tag]++
		}
	}
	for t := range share {
		share[t] = max(share[t], 0.5) / rows
	}
	return share
}

// sharpen returns the maps from scores to u, for β = 0, or to p.
func sharpen(share []float64, beta float64) []model.Map {
	n := len(share)
	m := &model.Affine{Weight: vectors.Matrix{Rows: n, Cols: n}, Mean: linalg.Float32s(share)}
	for _, p := range share {
		factor := 1 / math.Sqrt(p)
		if beta > 0 {
			factor *= beta
		}
		m.Scale = append(m.Scale, float32(factor))
	}
	if beta == 0 {
		return []model.Map{m}
	}
	return []model.Map{m, &model.Winner{Cols: n, Soft: true}}
}

// judgeScores returns how well codes of the values find rows: the classes or tags get random codes, and rows of each
// fold search those of the others.
func (t *training) judgeScores(
	ctx context.Context, d *supervision.Data, values vectors.Matrix, fold []uint8,
) (float64, error) {
	codes := t.randomCodes(values)
	order := rand.New(rand.NewPCG(t.Seed, 'J')).Perm(d.Rows)
	sum := 0.0
	for f := range uint8(scoreFolds) {
		asks, base := make([]bool, d.Rows), make([]bool, d.Rows)
		queries, items := 0, 0
		for _, i := range order {
			switch k := fold[i]; {
			case k == heldFold:
			case k == f && queries < judgeQueries:
				asks[i] = true
				queries++
			case k != f && items < judgeBase:
				base[i] = true
				items++
			}
		}
		_, found, err := t.found(ctx, d.Only(asks), d.Only(base), kept(codes, asks), kept(codes, base))
		if err != nil {
			return 0, err
		}
		sum += found
	}
	return sum / scoreFolds, nil
}

// randomCodes returns the codes of all rows if every class or tag has a random one, half of them -1 in every bit.
func (t *training) randomCodes(values vectors.Matrix) hamming.Codes {
	rng := rand.New(rand.NewPCG(t.Seed, 'K'))
	codes := hamming.NewCodes(values.Rows, judgeBits)
	weight := make([]float64, values.Cols)
	for k := range judgeBits {
		for at, c := range rng.Perm(values.Cols) {
			weight[c] = float64(1 - 2*(at%2))
		}
		for i := range values.Rows {
			s := 0.0
			for c, v := range values.Row(i) {
				s += float64(weight[c] * float64(v))
			}
			codes.SetBit(i, k, s >= 0)
		}
	}
	return codes
}

// kept returns the codes of some rows.
func kept(codes hamming.Codes, part []bool) hamming.Codes {
	out := hamming.NewCodes(0, codes.Bits)
	for i, in := range part {
		if in {
			out.Data = append(out.Data, codes.Row(i)...)
		}
	}
	return out
}

// found returns the MAP of codes: the mean over queries, and that over classes, in which rare ones count as much as
// frequent ones. Without classes both are the same.
func (t *training) found(
	ctx context.Context, queries, base *supervision.Data, asked, codes hamming.Codes,
) (plain, even float64, err error) {
	truth, err := eval.TruthOf(queries, base)
	if err != nil {
		return 0, 0, err
	}
	o := eval.Options{Threads: t.Threads}
	if queries.Labels != nil {
		o.Classes, o.ClassNames = queries.Labels.Class, queries.Labels.Names
	}
	r, err := eval.Retrieval(ctx, asked, codes, truth, o)
	if err != nil {
		return 0, 0, err
	}
	if queries.Labels == nil {
		return r.MAP, r.MAP, nil
	}
	sum, n := 0.0, 0.0
	for _, c := range r.PerClass {
		if c.Base > 0 {
			sum += c.MAP
			n++
		}
	}
	return r.MAP, sum / max(n, 1), nil
}

// scoreFitter fits bits to columns of scores.
type scoreFitter struct {
	x       *vectors.Columns
	class   []int32 // of each row, the number of its column; nil for tags
	threads int
	factor  *linalg.Cholesky // of tags
	mean    []float64
	output  []int8
}

// newScoreFitter returns the fitter of rows; without classes it regresses bits on the columns.
func newScoreFitter(ctx context.Context, x *vectors.Columns, class []int32, threads int) (*scoreFitter, error) {
	f := &scoreFitter{x: x, class: class, threads: threads, output: make([]int8, x.Rows)}
	if class != nil {
		return f, nil
	}
	n := x.Dim()
	f.mean = make([]float64, n)
	column := make([][]float64, n)
	trace := 0.0
	for j := range n {
		column[j] = make([]float64, x.Rows)
		sum := 0
		for _, b := range x.Column(j) {
			sum += int(b)
		}
		f.mean[j] = float64(sum) / float64(x.Rows)
		for i, b := range x.Column(j) {
			column[j][i] = float64(f.step(j) * (float64(b) - f.mean[j]))
		}
		trace += linalg.Dot(column[j], column[j])
	}
	a := make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			a[i*n+j] = linalg.Dot(column[i], column[j])
		}
	}
	var err error
	f.factor, err = linalg.NewCholesky(ctx, a, n, max(bitRidge*trace/float64(n), 1e-30), threads)
	return f, err
}

// step returns the width of a bin of column j.
func (f *scoreFitter) step(j int) float64 {
	return (float64(f.x.Hi[j]) - float64(f.x.Lo[j])) / (vectors.Bins - 1)
}

// Fit implements fitter.
func (f *scoreFitter) Fit(
	ctx context.Context, z []int8, _ []float64, _ uint64, _ int,
) (model.Function, []int8, float64, error) {
	code, bias := make([]float64, f.x.Dim()), 0.0
	if f.class != nil {
		f.classMeans(z, code)
	} else if err := f.regress(ctx, z, code, &bias); err != nil {
		return nil, nil, 0, err
	}
	h := f.hyperplane(code, bias)
	if err := model.Outputs(ctx, h, f.x, f.threads, f.output); err != nil {
		return nil, nil, 0, err
	}
	wrong := 0
	for i, v := range f.output {
		if v != z[i] {
			wrong++
		}
	}
	return h, f.output, float64(wrong) / float64(len(z)), nil
}

// classMeans sets the mean of the bit over the rows of each class.
func (f *scoreFitter) classMeans(z []int8, code []float64) {
	count := make([]float64, len(code))
	for i, k := range f.class {
		code[k] += float64(z[i])
		count[k]++
	}
	for k, n := range count {
		code[k] /= max(n, 1)
	}
}

// regress sets the weights of ridge regression of the bit.
func (f *scoreFitter) regress(ctx context.Context, z []int8, code []float64, bias *float64) error {
	middle := 0
	for _, v := range z {
		middle += int(v)
	}
	mean := float64(middle) / float64(len(z))
	for j := range code {
		sum := 0
		for i, b := range f.x.Column(j) {
			sum += int(b) * int(z[i])
		}
		code[j] = float64(f.step(j) * (float64(sum) - float64(f.mean[j]*float64(middle))))
	}
	if err := f.factor.Solve(ctx, code, 1); err != nil {
		return err
	}
	*bias = mean
	for j, c := range code { // of values, not of values less their mean
		*bias -= float64(c * (float64(f.x.Lo[j]) + float64(f.step(j)*f.mean[j])))
	}
	return nil
}

// weightUnit is the weight of a bin of the widest column if its class has the code 1: all bits have the same unit, so
// that their margins can be compared.
const weightUnit = 1 << 20

// hyperplane returns the function sign(bias + sum of code_t v_t) of the bins of the columns.
func (f *scoreFitter) hyperplane(code []float64, bias float64) *model.Linear {
	widest := 0.0
	for j := range code {
		widest = max(widest, f.step(j))
	}
	unit := weightUnit / widest
	const limit = 1 << 30
	h := &model.Linear{Weight: make([]int32, len(code))}
	sum := float64(bias * unit)
	for j, c := range code {
		sum += float64(float64(c*unit) * float64(f.x.Lo[j]))
		h.Weight[j] = int32(math.Round(min(max(float64(c*unit)*f.step(j), -limit), limit)))
	}
	h.Bias = int64(math.Round(min(max(sum, -1<<60), 1<<60)))
	return h
}

// needsScores reports why the learner Scores cannot learn from the data.
func (t Options) needsScores(d *supervision.Data) error {
	if code, why := t.noScores(d); code != "" {
		return message.New(code, "the learner %s predicts bits from scores of classes or tags: %s", Scores, why)
	}
	if n := max(labelCount(d), tagCount(d)); n > mostClasses {
		return message.New("too-many", "the learner %s is for at most %d classes or tags, and there are %d", Scores,
			mostClasses, n)
	}
	if d.Missing {
		return message.New("missing-values", "the learner %s needs a value in every column: learn trees, or leave out or "+
			"fill in what is missing", Scores)
	}
	return nil
}

func labelCount(d *supervision.Data) int {
	if d.Labels == nil {
		return 0
	}
	return len(d.Labels.Names)
}

func tagCount(d *supervision.Data) int {
	if d.Tags == nil {
		return 0
	}
	return len(d.Tags.Names)
}
