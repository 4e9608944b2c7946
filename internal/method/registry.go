package method

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hashgrove/internal/fasthash"
)

// FastHash is the name of the default method.
const FastHash = "fasthash"

// Description describes a method.
type Description struct {
	Name       string // as people type it
	Title      string // as tables print it
	Supervised bool   // learns from supervision
	AnyBits    bool   // the data decide the number of bits
	Prefix     bool   // fewer bits are the first of more, so one training serves all lengths
	Trees      bool   // learns boosted trees, by the options that FastHash has for them
	ScaleFree  bool   // the scales of the columns do not matter to it, or it takes care of them itself
	Source     string // where it was published

	make func(o Options) Method
}

// methods lists all methods, in the order of tables: FastHash, without learning, unsupervised, supervised.
var methods = []Description{
	{Name: FastHash, Title: "FastHash", Supervised: true, Prefix: true, ScaleFree: true, Trees: true,
		Source: "Lin, Shen, Shi, van den Hengel and Suter, CVPR 2014",
		make: func(o Options) Method {
			o.FastHash.Bits, o.FastHash.Seed, o.FastHash.Threads = o.Bits, o.Seed, o.Threads
			o.FastHash.Similar.HeldOut = o.HoldOut
			return fasthash.Trainer{Options: o.FastHash, Run: o.Run}
		}},
	{Name: "lsh", Title: "LSH", Prefix: true, Source: "Charikar, STOC 2002",
		make: func(o Options) Method { return encoderOnly{lsh{o}} }},
	{Name: "sign", Title: "Sign", AnyBits: true, Prefix: true, ScaleFree: true,
		Source: "binary quantisation: the sign of every centred column",
		make:   func(Options) Method { return encoderOnly{sign{}} }},
	{Name: "pca-itq", Title: "PCA-ITQ", Source: "Gong and Lazebnik, CVPR 2011",
		make: func(o Options) Method { return encoderOnly{pcaITQ{o}} }},
	{Name: "agh", Title: "AGH, one layer", Source: "Liu, Wang, Kumar and Chang, ICML 2011",
		make: func(o Options) Method { return encoderOnly{agh{Options: o, Layers: 1}} }},
	{Name: "agh2", Title: "AGH, two layers", Source: "Liu, Wang, Kumar and Chang, ICML 2011",
		make: func(o Options) Method { return encoderOnly{agh{Options: o, Layers: 2}} }},
	{Name: "spherical", Title: "Spherical hashing", Source: "Heo, Lee, He, Chang and Yoon, CVPR 2012",
		make: func(o Options) Method { return encoderOnly{spherical{o}} }},
	{Name: "mdsh", Title: "MDSH", Source: "Weiss, Fergus and Torralba, ECCV 2012",
		make: func(o Options) Method { return mdsh{Options: o} }},
	{Name: "ksh", Title: "KSH", Supervised: true, Source: "Liu, Wang, Ji, Jiang and Chang, CVPR 2012",
		make: func(o Options) Method { return encoderOnly{ksh{o}} }},
	{Name: "tsh", Title: "TSH", Supervised: true, ScaleFree: true,
		Source: "Lin, Shen, Suter and van den Hengel, ICCV 2013: spectral, linear SVM",
		make:   func(o Options) Method { return encoderOnly{tsh{Options: o, Learner: tshLinear}} }},
	{Name: "tsh-kernel", Title: "TSH kernel", Supervised: true, Source: "TSH with a linear SVM of Gaussian features",
		make: func(o Options) Method { return encoderOnly{tsh{Options: o, Learner: tshKernel}} }},
	{Name: "tsh-budgeted", Title: "TSH budgeted", Supervised: true,
		Source: "TSH with kernel SVMs on a budget (Wang, Crammer and Vucetic, JMLR 2012)",
		make:   func(o Options) Method { return encoderOnly{tsh{Options: o, Learner: tshBudgeted}} }},
	{Name: "tsh-trees", Title: "TSH trees", Supervised: true, ScaleFree: true, Trees: true,
		Source: "TSH with boosted trees",
		make:   func(o Options) Method { return encoderOnly{tsh{Options: o, Learner: tshTrees}} }},
	{Name: "bre", Title: "BREs", Supervised: true, Source: "Kulis and Darrell, NIPS 2009",
		make: func(o Options) Method { return encoderOnly{bre{Options: o}} }},
	{Name: "splh", Title: "SPLH", Supervised: true, Prefix: true, ScaleFree: true,
		Source: "Wang, Kumar and Chang, ICML 2010",
		make:   func(o Options) Method { return encoderOnly{splh{o}} }},
	{Name: "sth", Title: "STHs", Supervised: true, Source: "Zhang, Wang, Cai and Lu, SIGIR 2010",
		make: func(o Options) Method { return encoderOnly{sth{Options: o}} }},
	{Name: "sth-kernel", Title: "STHs kernel", Supervised: true, Source: "STHs with linear SVMs of Gaussian features",
		make: func(o Options) Method { return encoderOnly{sth{Options: o, Kernel: true}} }},
	{Name: "cca-itq", Title: "CCA+ITQ", Supervised: true, Source: "Gong and Lazebnik, CVPR 2011",
		make: func(o Options) Method { return encoderOnly{ccaITQ{Options: o}} }},
	{Name: "sdh", Title: "SDH", Supervised: true, Source: "Shen, Shen, Liu and Shen, CVPR 2015",
		make: func(o Options) Method { return encoderOnly{sdh{Options: o}} }},
	{Name: "fsdh", Title: "FSDH", Supervised: true, Source: "Gui, Liu, Sun, Tao and Tan, TPAMI 2018",
		make: func(o Options) Method { return encoderOnly{sdh{Options: o, Fast: true}} }},
	{Name: "classifier", Title: "Classifier", Supervised: true, Prefix: true, ScaleFree: true,
		Source: "hashed scores of logistic regression (Sablayrolles et al., ICASSP 2017)",
		make:   func(o Options) Method { return classifier{Options: o} }},
	{Name: "classifier-onehot", Title: "Classifier, one-hot", Supervised: true, AnyBits: true, ScaleFree: true,
		Source: "the answer of logistic regression (Sablayrolles et al., ICASSP 2017)",
		make:   func(o Options) Method { return classifier{Options: o, OneHot: true} }},
}

// Names returns the names of all methods.
func Names() []string {
	names := make([]string, len(methods))
	for i, d := range methods {
		names[i] = d.Name
	}
	return names
}

// Describe finds a method by name.
func Describe(name string) (Description, bool) {
	i := slices.IndexFunc(methods, func(d Description) bool { return d.Name == name })
	if i < 0 {
		return Description{}, false
	}
	return methods[i], true
}

// New returns the named method, or the caller's own.
func New(name string, o Options) (Method, error) {
	if o.Custom != nil {
		return o.Custom, nil
	}
	d, ok := Describe(name)
	if !ok {
		return nil, fmt.Errorf("there is no method %q; the methods are %s", name, strings.Join(Names(), ", "))
	}
	if err := o.checkStandardize(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	m := d.make(o)
	if o.PCA != 0 {
		m = pca{dims: o.PCA, then: m, seed: o.Seed, threads: o.Threads}
	}
	if !d.ScaleFree || o.PCA != 0 {
		m = scaled{o, m}
	}
	return m, nil
}

func (o Options) withDefaults() Options {
	o.Bits, o.Seed = cmp.Or(o.Bits, fasthash.DefaultBits), cmp.Or(o.Seed, fasthash.DefaultSeed)
	return o
}
