package hashgrove

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/method"
	"hashgrove/internal/vectors"
)

// resolve translates the options for package method. Nowhere else are they translated.
func (o Options) resolve() (method.Options, error) {
	m := method.Options{
		Bits: cmp.Or(o.Bits, fasthash.DefaultBits), Seed: cmp.Or(o.Seed, fasthash.DefaultSeed),
		Threads: o.Threads, Detail: o.DetailBits, PCA: o.Other.PCA, Anchors: o.Other.Anchors, Rows: o.Other.Rows,
		Standardize: o.Other.Standardize, HoldOut: o.HoldOut,
	}
	if o.Custom != nil {
		m.Custom = custom{o.Custom}
	}
	if !slices.Contains(fasthash.Efforts(), cmp.Or(fasthash.Effort(o.Effort), fasthash.Normal)) {
		return m, wrong("no-such-effort", "%s %q is not quick, normal, best or paper", option("effort"), o.Effort)
	}
	f, t := &o.FastHash, &o.Trees
	m.FastHash = fasthash.Options{
		Effort: fasthash.Effort(o.Effort), Order: fasthash.Order(f.Order), Learner: fasthash.Learner(f.Learner),
		LinearColumns: f.LinearColumns, Candidates: f.Candidates, Bins: vectors.Binning(f.Bins),
		EqualRowWeights: f.EqualRowWeights,
		Inference: inference.Options{
			Method: inference.Algorithm(f.Inference), Loss: inference.Loss(f.Loss), Sweeps: f.Sweeps,
		},
		Trees: boost.Options{
			Boost: boost.Algorithm(t.Boost), Rounds: t.Rounds, Rate: t.Rate, LeafBits: t.LeafBits, Depth: t.Depth,
			NodeFeatures: t.NodeFeatures, TrimMass: t.Trim, MinNode: t.MinNode, RowShare: t.RowShare,
			ColumnShare: t.ColumnShare,
		},
		Similar: fasthash.Similarity{
			SampleSimilar: f.SampleSimilar, SampleDissimilar: f.SampleDissimilar,
			Mirrored: o.Pictures.Mirror,
		},
	}
	m.FastHash.Linear.C = f.SVMCost
	f.addOwn(&m.FastHash)
	return m, f.balance(&m.FastHash)
}

// balance sets the weights of similar and dissimilar pairs.
func (f FastHashOptions) balance(to *fasthash.Options) error {
	switch f.Balance {
	case "":
		return nil
	case "auto":
		to.BalancePairs = true
		return nil
	case "classes":
		to.Inference.BalanceClasses = true
		return nil
	}
	s, d, ok := strings.Cut(f.Balance, ":")
	similar, errS := strconv.Atoi(s)
	dissimilar, errD := strconv.Atoi(d)
	if !ok || errS != nil || errD != nil || similar < 1 || dissimilar < 1 {
		return wrong("bad-flag-value", "%s %s is not auto, classes or two whole numbers like 9:1",
			option("balance"), f.Balance)
	}
	to.Inference.SimilarWeight, to.Inference.DissimilarWeight = similar, dissimilar
	return nil
}
