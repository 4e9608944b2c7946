package fasthash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// columns.Auto and AutoKernel try what helps, on some of the rows, a sixth of which no fit sees:
//
//	bits     Step 1 infers the first few bits of all these rows
//	trees    few of them predict each bit, with the columns alone, with linear scores, and, for AutoKernel, with
//	         those of a kernel too
//	judge    whose bits of the rows held out are right more often: linear scores by more than half the deviation of
//	         the sum over rows, those of a kernel, which cost time to encode, by twice that beyond linear ones
//
// With 50 trees instead of 150, Fashion-MNIST took columns that harm 200 trees. This costs about a quarter of
// training 64 bits with 200 trees from 5,000 rows, and hundredths from many more.

const (
	trialRows   = 10_000
	trialBits   = 6
	trialRounds = 150               // for trialRows rows, and more for fewer: few trees need scores more than many do
	trialWork   = 1_500_000         // rows times trees of a bit
	trialParts  = columns.Parts + 1 // the last is held out

	trialBytes = 1 << 28 // of values that are kept in memory, since about ten passes over all rows would look for them

	leastGain  = 0.75 // percent of bits: less is not worth a column, and harms where many trees do without
	linearGain = 0.5  // deviations by which linear scores must help: they cost little, and rarely do harm
	kernelGain = 1.0  // deviations by which kernel scores must help further: they cost microseconds to encode
)

// tryColumns returns which columns help, and why, in words.
func (t *training) tryColumns(ctx context.Context, train *supervision.Data) (kind, why string, err error) {
	d := train
	if d.Rows > trialRows && t.Similar.PerPicture() == 1 {
		d = d.Only(d.HoldOut(1-trialRows/float64(d.Rows), t.Seed))
		if bytes := 4 * int64(d.Rows) * int64(d.Dim()); t.Spill == nil && bytes <= trialBytes {
			kept := vectors.Cache(d.Source, trialBytes, "")
			defer func() { err = cmp.Or(err, kept.Close()) }()
			d.Source = kept
		}
	}
	o := t.columns(columns.Linear)
	if o.Part, err = columns.Divide(ctx, d, trialParts, o); err != nil {
		return columns.Off, err.Error(), nil
	}
	trial := &columnTrial{training: t, data: d}
	for i, part := range o.Part {
		if part == columns.Parts {
			o.Part[i] = columns.Held
			trial.held = append(trial.held, int32(i))
		} else {
			trial.learned = append(trial.learned, int32(i))
		}
	}
	if err := trial.inferBits(ctx); err != nil {
		return "", "", err
	}
	if t.LinearColumns == columns.AutoKernel {
		o.Kind = columns.Kernel
	}
	added, err := columns.Fit(ctx, d, o) // before the trees: a device may still be starting
	if errors.Is(err, columns.ErrSameRows) {
		return columns.Off, err.Error(), nil
	} else if err != nil {
		return "", "", err
	}
	plain, err := trial.right(ctx, d)
	if err != nil {
		return "", "", err
	}
	some := added.Values.Cols
	if o.Kind == columns.Kernel {
		some /= 2 // the linear ones
	}
	linear, err := trial.right(ctx, added.Beside(d, some))
	if err != nil {
		return "", "", err
	}
	kind, best := columns.Off, plain
	if beats(linear, plain, linearGain) {
		kind, best = columns.Linear, linear
	}
	why = fmt.Sprintf("quick trees predict %.1f %% of the bits of rows held out without them, %.1f %% with linear scores",
		percent(plain), percent(linear))
	if o.Kind == columns.Linear {
		return kind, why, nil
	}
	kernel, err := trial.right(ctx, added.Beside(d, added.Values.Cols))
	if err != nil {
		return "", "", err
	}
	if beats(kernel, best, kernelGain) {
		kind = columns.Kernel
	}
	return kind, fmt.Sprintf("%s, %.1f %% with those of a kernel too", why, percent(kernel)), nil
}

// trialTrees returns how many trees predict a bit of this many rows.
func (t Options) trialTrees(rows int) int {
	return min(t.Trees.Rounds, max(trialRounds, trialWork/rows))
}

// percent returns the share of right bits.
func percent(right []int) float64 {
	sum := 0
	for _, n := range right {
		sum += n
	}
	return 100 * float64(sum) / float64(max(trialBits*len(right), 1))
}

// beats reports whether rows have more right bits in a than in b, by more than the given deviations of the sum and by
// the least gain. It counts rows because the bits of a row tend to be right or wrong together.
func beats(a, b []int, deviations float64) bool {
	sum, square := 0.0, 0.0
	for i := range a {
		d := float64(a[i] - b[i])
		sum += d
		square += float64(d * d)
	}
	return sum > deviations*math.Sqrt(square) && percent(a) > percent(b)+leastGain
}

// columnTrial holds the rows on which columns are tried.
type columnTrial struct {
	*training
	data          *supervision.Data
	learned, held []int32
	bits          [][]int8 // of all rows
}

// inferBits runs Step 1 for a few bits, each given the ones before.
func (s *columnTrial) inferBits(ctx context.Context) error {
	y, err := s.data.Affinity(s.data.Rows)
	if err != nil {
		return err
	}
	o := s.Inference
	o.Threads, o.Length = s.Threads, 0
	step1, err := inference.New(y, trialBits, o, s.Seed)
	if err != nil {
		return err
	}
	for range trialBits {
		z, err := step1.Infer(ctx)
		if err != nil {
			return err
		}
		s.bits = append(s.bits, slices.Clone(z))
		step1.Push(z)
	}
	return nil
}

// right counts, for each held-out row, the bits that quick trees predict correctly from the columns of d.
func (s *columnTrial) right(ctx context.Context, d *supervision.Data) ([]int, error) {
	q, err := d.QuantizerBy(ctx, s.Bins)
	if err != nil {
		return nil, err
	}
	x, err := vectors.Quantize(ctx, d, d.Rows, q, s.Threads)
	if err != nil {
		return nil, err
	}
	learned, err := x.Take(ctx, s.Threads, s.learned)
	if err != nil {
		return nil, err
	}
	held, err := x.Take(ctx, s.Threads, s.held)
	if err != nil {
		return nil, err
	}
	trees := s.Trees
	trees.Rounds = s.trialTrees(d.Rows)
	trees.Favoured = d.Dim() - s.data.Dim()
	fit, err := s.trainer(ctx, learned, trees)
	if err != nil {
		return nil, err
	}
	defer release(fit)
	right := make([]int, len(s.held))
	said, target := make([]int8, len(s.held)), make([]int8, len(s.learned))
	for k, z := range s.bits {
		for r, i := range s.learned {
			target[r] = z[i]
		}
		f, err := fit.Fit(ctx, target, nil, s.Seed, k+1)
		if err != nil {
			return nil, err
		}
		if err := model.Outputs(ctx, f, held, s.Threads, said); err != nil {
			return nil, err
		}
		for r, i := range s.held {
			if said[r] == z[i] {
				right[r]++
			}
		}
	}
	return right, nil
}
