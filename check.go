package hashgrove

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/fasthash"
	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/inference"
	"hashgrove/internal/gpu"
	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/method"
	"hashgrove/internal/vectors"
)

// OptionError reports an option that is invalid, alone or combined with another; use errors.As to detect it.
type OptionError struct {
	Code   message.Code
	format string
	args   []any
}

// option is the name of an option in the message of an OptionError.
type option string

// Error implements error, naming options like the flags of the command, without dashes.
func (e *OptionError) Error() string { return fmt.Sprintf(e.format, e.args...) }

// Flags returns the message with options named as flags of the command.
func (e *OptionError) Flags() string {
	args := slices.Clone(e.args)
	for i, a := range args {
		if name, ok := a.(option); ok {
			args[i] = name.flag()
		}
	}
	return fmt.Sprintf(e.format, args...)
}

// flag returns the option as it is typed.
func (n option) flag() string {
	if name := strings.ReplaceAll(string(n), "-", "_"); isSetting(name) {
		return "--set " + name
	}
	return "--" + string(n)
}

func wrong(code message.Code, format string, args ...any) error {
	return message.With(code, &OptionError{code, format, args})
}

// leastMemory is the smallest limit for Memory: Go itself takes some.
const leastMemory = 64 << 20

// Check reports invalid options before anything is read.
func (o Options) Check() error {
	if err := o.checkMethod(); err != nil {
		return err
	}
	share := 0.0
	if o.Validation != nil {
		share = *o.Validation
	}
	switch {
	case o.MinShared < 0 || o.MinShared > 255:
		return wrong("bad-flag-value", "%s %d: give a number from 1 to 255", option("min-shared"), o.MinShared)
	case o.Resume && o.Restart:
		return wrong("conflicting-flags", "%s and %s cannot be combined", option("resume"), option("restart"))
	case (o.SampleSimilar > 0) != (o.SampleDissimilar > 0) || o.SampleSimilar < 0 || o.SampleDissimilar < 0:
		return wrong("conflicting-flags", "%s and %s must be given together, both positive", option("sample-similar"),
			option("sample-dissimilar"))
	case !(share >= 0 && share < 1):
		return wrong("bad-flag-value", "%s %v is not between 0 and 1", option("validation"), share)
	case o.PCA < 0 || o.Anchors < 0:
		return wrong("bad-flag-value", "%s %d and %s %d: give positive numbers", option("pca"), o.PCA, option("anchors"),
			o.Anchors)
	case o.Memory != 0 && o.Memory < leastMemory:
		return wrong("too-small", "%s %s: nothing can be learned in less than %s", option("memory"),
			message.Size(o.Memory), message.Size(leastMemory))
	case o.Memory != 0 && o.Pictures.Features != "":
		return wrong("conflicting-flags", "%s and %s cannot be combined: write the vectors first, with \"hashgrove "+
			"features\"", option("memory"), option("features"))
	}
	if err := cmp.Or(gpu.Check(o.Device), o.checkDetail()); err != nil {
		return err
	}
	if err := o.Pictures.check(o); err != nil {
		return err
	}
	m, err := o.resolve()
	if err != nil {
		return err
	}
	if o.isFastHash() {
		m.FastHash.Bits = m.Bits
		_, err = m.FastHash.WithDefaults()
	} else if o.Custom == nil {
		_, err = method.New(o.name(), m)
	}
	return err
}

// checkDetail reports bits of detail that no code can have.
func (o Options) checkDetail() error {
	kept := o.DetailBits
	if kept == 0 && o.Grow != nil {
		kept = o.Grow.DetailBits()
	}
	most := hamming.MaxWeightedBits - cmp.Or(o.Bits, fasthash.DefaultBits)
	switch {
	case o.DetailBits < 0:
		return wrong("bad-flag-value", "%s %d: give a positive number, or 0 for none", option("detail-bits"), o.DetailBits)
	case kept > 0 && kept > most:
		return wrong("bad-flag-value", "%s %d: codes with bits of detail have %d bits at most, so there is room for %d",
			option("detail-bits"), kept, hamming.MaxWeightedBits, max(most, 0))
	}
	return nil
}

// name returns the name of the method.
func (o Options) name() string {
	if o.Custom != nil {
		return cmp.Or(o.Method, "custom")
	}
	return cmp.Or(o.Method, method.FastHash)
}

func (o Options) isFastHash() bool { return o.Custom == nil && o.name() == method.FastHash }

// checkMethod reports an unknown method, and options that do not apply to it.
func (o Options) checkMethod() error {
	name := o.name()
	if _, ok := method.Describe(name); !ok && o.Custom == nil {
		return wrong("no-such-method", "there is no method %q; the methods are %s", name, strings.Join(method.Names(), ", "))
	}
	for f := range o.foreign() {
		named, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		flag := cmp.Or(f.Tag.Get("name"), strings.ReplaceAll(named, "_", "-"))
		return wrong("wrong-method", "%s does not apply to the method %s", option(flag), name)
	}
	return nil
}

// For returns the options for another registered method, without those that do not apply to it.
func (o Options) For(name string) Options {
	o.Method, o.Custom = name, nil
	for _, v := range (&o).foreign() {
		v.SetZero()
	}
	return o
}

// foreign yields the options that are set but do not apply to the method.
func (o *Options) foreign() iter.Seq2[reflect.StructField, reflect.Value] {
	kinds := []string{"", "others"}
	switch about, _ := method.Describe(o.name()); {
	case o.Custom != nil:
		kinds = []string{""}
	case o.isFastHash():
		kinds = []string{"", "fasthash", "trees"}
	case about.Trees:
		kinds = append(kinds, "trees")
	}
	return func(yield func(reflect.StructField, reflect.Value) bool) {
		for f, v := range reflect.ValueOf(o).Elem().Fields() {
			if !v.IsZero() && !slices.Contains(kinds, f.Tag.Get("for")) && !yield(f, v) {
				return
			}
		}
	}
}

// resolve translates the options for package method.
func (o Options) resolve() (method.Options, error) {
	m := method.Options{
		Custom: o.Custom, Bits: cmp.Or(o.Bits, fasthash.DefaultBits), Seed: cmp.Or(o.Seed, fasthash.DefaultSeed),
		Threads: o.Threads, Detail: o.DetailBits, PCA: o.PCA, Anchors: o.Anchors, Rows: o.Rows,
		Standardize: o.Standardize, HoldOut: o.HoldOut,
	}
	if !slices.Contains(fasthash.Efforts(), cmp.Or(o.Effort, fasthash.Normal)) {
		return m, wrong("no-such-effort", "%s %q is not quick, normal, best or paper", option("effort"), o.Effort)
	}
	var err error
	if m.FastHash, err = o.FastHash(); err != nil {
		return m, err
	}
	m.FastHash.Similar.Mirrored, m.FastHash.Similar.Averaged = o.Pictures.Mirror, o.Pictures.Average
	return m, err
}

// FastHash returns the options specific to FastHash, before defaults.
func (o Options) FastHash() (fasthash.Options, error) {
	f := fasthash.Options{
		Effort: o.Effort, Order: fasthash.Order(o.Order), Learner: fasthash.Learner(o.Learner),
		LinearColumns: o.LinearColumns, Candidates: o.Candidates, Bins: vectors.Binning(o.Bins),
		EqualRowWeights: o.EqualRowWeights,
		Inference: inference.Options{
			Method: inference.Method(o.Inference), Loss: inference.Loss(o.Loss), Sweeps: o.Sweeps,
		},
		Trees: boost.Options{
			Boost: boost.Algorithm(o.Boost), Rounds: o.Rounds, Rate: o.Rate, LeafBits: o.LeafBits, Depth: o.Depth,
			NodeFeatures: o.NodeFeatures, TrimMass: o.Trim, MinNode: o.MinNode, RowShare: o.RowShare,
			ColumnShare: o.ColumnShare,
		},
		Similar: fasthash.Similarity{SampleSimilar: o.SampleSimilar, SampleDissimilar: o.SampleDissimilar},
	}
	f.Linear.C = o.SVMCost
	return f, o.balance(&f)
}

// balance sets the weights of similar and dissimilar pairs.
func (o Options) balance(f *fasthash.Options) error {
	switch o.Balance {
	case "":
		return nil
	case "auto":
		f.BalancePairs = true
		return nil
	case "classes":
		f.Inference.BalanceClasses = true
		return nil
	}
	s, d, ok := strings.Cut(o.Balance, ":")
	similar, errS := strconv.Atoi(s)
	dissimilar, errD := strconv.Atoi(d)
	if !ok || errS != nil || errD != nil || similar < 1 || dissimilar < 1 {
		return wrong("bad-flag-value", "%s %s is not auto, classes or two whole numbers like 9:1",
			option("balance"), o.Balance)
	}
	f.Inference.SimilarWeight, f.Inference.DissimilarWeight = similar, dissimilar
	return nil
}

// check reports mirror images that cannot be made, and a model to grow whose bits were made differently.
func (p PictureOptions) check(o Options) error {
	was := o.Grow != nil && o.Grow.Pictures != nil && o.Grow.Pictures.Averaged
	switch {
	case p.Average && !p.Mirror:
		return wrong("missing-flag", "%s needs %s: a model that adds mirror images should learn from some",
			option("mirror-average"), option("mirror"))
	case p.Features == "" && p.Mirror:
		return wrong("missing-flag", "%s needs %s, to turn the mirror images into vectors", option("mirror"),
			option("features"))
	case was && !p.Average:
		return wrong("model-averages", "the model to grow adds the scores of mirror images: repeat %s",
			option("mirror-average"))
	case o.Grow != nil && !was && p.Average:
		return wrong("model-does-not-average", "the model to grow does not add the scores of mirror images: leave out %s",
			option("mirror-average"))
	}
	return nil
}
