package columns

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

// Scores that take the place of the columns. With s_t the linear or kernel score of class t and π_t the share of its
// rows,
//
//	u_t(x) = (s_t(x) - π_t) / √π_t                   so that rare classes count as much as frequent ones
//	p_t(x) = exp(β u_t) / (sum of the same over all)  shares; or u_t itself, β = 0
//
// Whether scores are linear or of a kernel, and β, are those whose codes - the classes having random ones - find rows
// of other parts best, by classes alike. Where hardly a class is too small to be judged, they are to be found by
// queries and by classes alike, and u_t may also be divided by the fourth root of π_t: that suits queries as unequal
// as the rows.

// form is what is made of the scores: u, or its shares if β is not 0.
type form struct {
	beta float64
	mild bool // u is divided by the fourth root
}

// forms lists what to choose from.
var forms = [...]form{{}, {mild: true}, {beta: 0.5}, {beta: 1}, {beta: 2}, {beta: 4}}

// Forms are chosen by queries too if nine of ten classes have this many rows.
const judgedLeast = 10

func (f form) String() string {
	if f.mild {
		return "with mild weights of classes"
	}
	return fmt.Sprintf("of sharpness %v", f.beta)
}

// MostClasses limits the classes or tags with a score that takes the place of the columns.
const MostClasses = 4096

const (
	judgeBits    = 64
	judgeQueries = 300 // of each part
	judgeBase    = 4000
)

// FitClasses fits a score for every class or tag, and says in words which kind it chose.
func FitClasses(ctx context.Context, d *supervision.Data, o Options) (best *Columns, why string, err error) {
	if o.Part, err = Divide(ctx, d, Parts, o); err != nil {
		return nil, "", err
	}
	most := -1.0
	for _, kind := range []string{Linear, Kernel} {
		if kind == Kernel && (o.Kind == Linear || o.Kind == Auto) || kind == Linear && o.Kind == Kernel {
			continue
		}
		f := newFit(d, o, kind == Kernel, MostClasses)
		f.Balanced = false // u weighs classes
		s, err := f.run(ctx)
		if err != nil {
			return nil, "", err
		}
		share := shares(d, o.Part, len(s.Names))
		for _, to := range forms {
			if to.beta > 0 && d.Labels == nil { // any number of tags may be right
				continue
			}
			if to.mild && !byQueries(d) {
				continue
			}
			maps := to.maps(share)
			values, err := model.Transform(ctx, o.Threads, s.Values, maps...)
			if err != nil {
				return nil, "", err
			}
			found, err := o.judge(ctx, d, values)
			if err != nil {
				return nil, "", err
			}
			if found > most {
				most = found
				best = &Columns{append(s.Maps[:len(s.Maps):len(s.Maps)], maps...), s.Names, values}
				why = fmt.Sprintf("%s scores, %v, find rows of other parts best: MAP %.3f", kind, to, found)
			}
		}
	}
	return best, why, nil
}

// shares returns the share of rows of each class or tag with a score, in the order of the scores.
func shares(d *supervision.Data, part []uint8, n int) []float64 {
	share, rows := make([]float64, n), 0.0
	for i, k := range part {
		if k == Held {
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

// byQueries reports whether there are classes, unequal ones, and nearly all are large enough to be judged.
func byQueries(d *supervision.Data) bool {
	if d.Labels == nil {
		return false
	}
	sizes := slices.DeleteFunc(d.Labels.Counts(), func(n int) bool { return n == 0 })
	slices.Sort(sizes)
	return sizes[len(sizes)/10] >= judgedLeast && sizes[0] < sizes[len(sizes)-1]
}

// maps returns the maps from scores to u, for β = 0, or to p.
func (f form) maps(share []float64) []model.Map {
	n := len(share)
	m := &model.Affine{Weight: vectors.Matrix{Rows: n, Cols: n}, Mean: linalg.Float32s(share)}
	for _, p := range share {
		factor := 1 / math.Sqrt(p)
		switch {
		case f.mild:
			factor = math.Sqrt(factor)
		case f.beta > 0:
			factor *= f.beta
		}
		m.Scale = append(m.Scale, float32(factor))
	}
	if f.beta == 0 {
		return []model.Map{m}
	}
	return []model.Map{m, &model.Winner{Cols: n, Soft: true}}
}

// judge returns how well codes of the values find rows: the classes or tags get random codes, and rows of each part
// search those of the others.
func (o Options) judge(ctx context.Context, d *supervision.Data, values vectors.Matrix) (float64, error) {
	codes := o.randomCodes(values)
	order := rand.New(rand.NewPCG(o.Seed, 'J')).Perm(d.Rows)
	sum := 0.0
	for f := range uint8(Parts) {
		asks, base := make([]bool, d.Rows), make([]bool, d.Rows)
		queries, items := 0, 0
		for _, i := range order {
			switch k := o.Part[i]; {
			case k == Held:
			case k == f && queries < judgeQueries:
				asks[i] = true
				queries++
			case k != f && items < judgeBase:
				base[i] = true
				items++
			}
		}
		r, err := Judge(ctx, d.Only(asks), d.Only(base), kept(codes, asks), kept(codes, base), o.Threads)
		if err != nil {
			return 0, err
		}
		switch {
		case d.Labels == nil:
			sum += r.MAP
		case byQueries(d):
			sum += float64((r.MAP + r.MacroMAP) / 2)
		default:
			sum += r.MacroMAP // in which rare classes count as much as frequent ones
		}
	}
	return sum / Parts, nil
}

// randomCodes returns the codes of all rows if every class or tag has a random one, half of them -1 in every bit.
func (o Options) randomCodes(values vectors.Matrix) hamming.Codes {
	rng := rand.New(rand.NewPCG(o.Seed, 'K'))
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

// Judge judges codes by what queries find.
func Judge(
	ctx context.Context, queries, base *supervision.Data, asked, codes hamming.Codes, threads int,
) (*eval.Report, error) {
	truth, err := eval.TruthOf(queries, base)
	if err != nil {
		return nil, err
	}
	o := eval.Options{Threads: threads}
	if queries.Labels != nil {
		o.Classes, o.ClassNames = queries.Labels.Class, queries.Labels.Names
	}
	return eval.Retrieval(ctx, asked, codes, truth, o)
}
