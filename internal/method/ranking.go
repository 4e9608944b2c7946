// Which ranking suits the codes of a model: Hamming distance, the query's margins, or the expected code
// (model.Ranking). The rows held out search in each other, and the ranking with the best MAP wins, if it beats the
// usual one by more than chance explains (eval.Ahead, by queries and by classes alike); else the usual one stays:
//
//	classes, tags    the expected code, which was best on nearly all sets; tau and mix hardly matter
//	otherwise        Hamming distance, and for methods that do not learn from classes or tags
//
// The codes of training rows that the expected code needs are those of up to rankingRows rows.

package method

import (
	"context"
	"math"
	"slices"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
	"hashgrove/internal/vectors"
)

const (
	rankingRows  = 100_000
	usualTau     = 0.3
	usualMix     = 0.25
	rankingLeast = 30 // queries: fewer cannot choose
)

// Values of tau and mix that are tried.
var (
	rankingTaus  = [...]float64{0.1, 0.3, 1}
	rankingMixes = [...]float64{0, usualMix, 0.5}
)

// AddRanking gives a model that learned from classes or tags, but not through Train, the codes of its rows and the
// usual ranking.
func AddRanking(ctx context.Context, m *model.Model, learned *supervision.Data, o Options) error {
	return o.addRanking(ctx, m, learned, true, nil)
}

// addRanking chooses the ranking of a model; v holds the rows held out and may be nil.
func (o Options) addRanking(
	ctx context.Context, m *model.Model, d *supervision.Data, supervised bool, v *validation,
) error {
	if m.Encoder.Bits() > hamming.MaxWeightedBits {
		return nil
	}
	codes, err := o.learnedCodes(ctx, m, d)
	if err != nil || codes.Len() == 0 {
		return err
	}
	usual := model.ByHamming
	if kind := d.Kind(); supervised && (kind == supervision.ByClasses || kind == supervision.ByTags) {
		usual = model.ByExpected
	}
	m.Ranking = model.NewRanking(usual, usualTau, usualMix, codes, rowWeights(d, codes.Len()))
	if v == nil {
		return nil
	}
	return v.chooseRanking(ctx, m, o)
}

// learnedCodes returns the class bits of rows that the model has learned from.
func (o Options) learnedCodes(ctx context.Context, m *model.Model, d *supervision.Data) (hamming.Codes, error) {
	class := &model.Model{Encoder: model.ClassPart(m.Encoder)}
	some := make([]bool, d.Rows)
	for i := 0; i < d.Rows; i += max(d.Rows/rankingRows, 1) {
		some[i] = true
	}
	return class.EncodeAll(ctx, vectors.Select(d.Source, some), o.Threads)
}

// rowWeights returns how often each of some evenly drawn rows counts among the learned codes, in sixteenths of a row of
// the largest class: a row of one of n counts 1/√n. If all counted alike, a query of a rare class would expect the code
// of a frequent one, and the rows held out cannot tell: they have few of it.
func rowWeights(d *supervision.Data, rows int) []uint32 {
	if d.Labels == nil {
		return nil
	}
	sizes := d.Labels.Counts()
	most, weight := float64(slices.Max(sizes)), make([]uint32, rows)
	for i := range weight {
		weight[i] = uint32(math.Round(16 * math.Sqrt(most/float64(sizes[d.Labels.Class[i*max(d.Rows/rankingRows, 1)]]))))
	}
	return weight
}

// chooseRanking tries the rankings on the rows held out.
func (v *validation) chooseRanking(ctx context.Context, m *model.Model, o Options) error {
	truth, err := eval.TruthOf(v.new.Data, v.new.Data)
	if err != nil {
		return err
	}
	truth = truth.WithoutItself()
	try := func(r model.Ranking) (_ *eval.Report, err error) {
		c := v.codes
		if r.Rank == model.ByExpected {
			if c.Expected, err = (&model.Model{Encoder: m.Encoder, Ranking: &r}).Expected(ctx, c.Margins); err != nil {
				return nil, err
			}
		}
		return c.Report(ctx, eval.Ranking(r.Rank), truth, eval.Options{K: []int{1}, CurveTo: 1, Threads: o.Threads})
	}
	chosen := *m.Ranking
	best, err := try(chosen)
	if err != nil || best == nil || best.Judged < rankingLeast {
		return err
	}
	var class []int32
	if v.new.Labels != nil {
		class = v.new.Labels.Class
	}
	usual, most := best.AP, 0.0
	for _, r := range rankingsToTry(*m.Ranking) {
		found, err := try(r)
		if err != nil {
			return err
		}
		if ahead, chance := eval.Ahead(found.AP, usual, class); ahead > max(most, chance) {
			most, chosen = ahead, r
		}
	}
	m.Ranking = &chosen
	return nil
}

// rankingsToTry lists all rankings by the same codes.
func rankingsToTry(r model.Ranking) []model.Ranking {
	var list []model.Ranking
	for _, rank := range []string{model.ByHamming, model.ByMargins} {
		r.Rank = rank
		list = append(list, r)
	}
	r.Rank = model.ByExpected
	for _, r.Tau = range rankingTaus {
		for _, r.Mix = range rankingMixes {
			list = append(list, r)
		}
	}
	return list
}
