package baseline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Common is what all methods have in common. A zero value means the method's own default.
type Common struct {
	Bits    int
	Seed    uint64
	Threads int // 0 for all cores; never changes the encoder

	PCA       int // dimensions that PCA leaves before the method sees the rows; 0 means no PCA
	Anchors   int // points that kernel methods and anchor graphs compare with
	Rows      int // to learn from, at most; negative means all
	MinShared int // tags that similar rows share
}

// Description is a method by name.
type Description struct {
	Name       string // as people type it
	Title      string // as tables print it
	Supervised bool   // learns from classes or tags
	AnyBits    bool   // the data decide the number of bits
	Prefix     bool   // fewer bits are the first of more, so one training serves all lengths
	Source     string // where it was published

	make func(o Common) Method
}

// Methods describes all methods, in the order of tables: without learning, unsupervised, supervised.
func Methods() []Description { return slices.Clone(methods) }

var methods = []Description{
	{Name: "lsh", Title: "LSH", Prefix: true, Source: "Charikar, STOC 2002",
		make: func(o Common) Method { return LSH{Bits: o.Bits, Seed: o.Seed, Centre: true} }},
	{Name: "sign", Title: "Sign", AnyBits: true, Prefix: true, Source: "binary quantisation: the sign of every centred column",
		make: func(Common) Method { return Sign{} }},
	{Name: "pca-itq", Title: "PCA-ITQ", Source: "Gong and Lazebnik, CVPR 2011",
		make: func(o Common) Method { return PCAITQ{Bits: o.Bits, Seed: o.Seed, Threads: o.Threads} }},
	{Name: "agh", Title: "AGH, one layer", Source: "Liu, Wang, Kumar and Chang, ICML 2011",
		make: func(o Common) Method {
			return AGH{Bits: o.Bits, Seed: o.Seed, Threads: o.Threads, Anchors: o.Anchors}
		}},
	{Name: "agh2", Title: "AGH, two layers", Source: "Liu, Wang, Kumar and Chang, ICML 2011",
		make: func(o Common) Method {
			return AGH{Bits: o.Bits, Seed: o.Seed, Threads: o.Threads, Anchors: o.Anchors, Layers: 2}
		}},
	{Name: "spherical", Title: "Spherical hashing", Source: "Heo, Lee, He, Chang and Yoon, CVPR 2012",
		make: func(o Common) Method { return Spherical{Bits: o.Bits, Seed: o.Seed, Threads: o.Threads} }},
	{Name: "mdsh", Title: "MDSH", Source: "Weiss, Fergus and Torralba, ECCV 2012",
		make: func(o Common) Method { return MDSH{Bits: o.Bits, Seed: o.Seed, Threads: o.Threads} }},
	{Name: "ksh", Title: "KSH", Supervised: true, Source: "Liu, Wang, Ji, Jiang and Chang, CVPR 2012",
		make: func(o Common) Method {
			return KSH{Bits: o.Bits, Seed: o.Seed, Anchors: o.Anchors, Rows: o.Rows, MinShared: o.MinShared, Threads: o.Threads}
		}},
	{Name: "tsh", Title: "TSH", Supervised: true, Source: "Lin, Shen, Suter and van den Hengel, ICCV 2013: spectral, linear SVM",
		make: func(o Common) Method { return o.tsh(TSHLinear) }},
	{Name: "tsh-kernel", Title: "TSH kernel", Supervised: true, Source: "TSH with a linear SVM of Gaussian features",
		make: func(o Common) Method { return o.tsh(TSHKernel) }},
	{Name: "tsh-budgeted", Title: "TSH budgeted", Supervised: true, Source: "TSH with kernel SVMs on a budget (Wang, Crammer and Vucetic, JMLR 2012)",
		make: func(o Common) Method { return o.tsh(TSHBudgeted) }},
	{Name: "tsh-trees", Title: "TSH trees", Supervised: true, Source: "TSH with boosted trees",
		make: func(o Common) Method { return o.tsh(TSHTrees) }},
	{Name: "bre", Title: "BREs", Supervised: true, Source: "Kulis and Darrell, NIPS 2009",
		make: func(o Common) Method {
			return BRE{Bits: o.Bits, Seed: o.Seed, Rows: o.Rows, MinShared: o.MinShared, Threads: o.Threads}
		}},
	{Name: "splh", Title: "SPLH", Supervised: true, Prefix: true, Source: "Wang, Kumar and Chang, ICML 2010",
		make: func(o Common) Method {
			return SPLH{Bits: o.Bits, Seed: o.Seed, Labelled: o.Rows, MinShared: o.MinShared, Threads: o.Threads}
		}},
	{Name: "sth", Title: "STHs", Supervised: true, Source: "Zhang, Wang, Cai and Lu, SIGIR 2010",
		make: func(o Common) Method {
			return STH{Bits: o.Bits, Seed: o.Seed, Rows: o.Rows, MinShared: o.MinShared, Threads: o.Threads}
		}},
	{Name: "sth-kernel", Title: "STHs kernel", Supervised: true, Source: "STHs with linear SVMs of Gaussian features",
		make: func(o Common) Method {
			return STH{Bits: o.Bits, Seed: o.Seed, Anchors: cmp.Or(o.Anchors, 1000), Rows: o.Rows, MinShared: o.MinShared, Threads: o.Threads}
		}},
	{Name: "cca-itq", Title: "CCA+ITQ", Supervised: true, Source: "Gong and Lazebnik, CVPR 2011",
		make: func(o Common) Method {
			return CCAITQ{Bits: o.Bits, Seed: o.Seed, Rows: o.Rows, Threads: o.Threads}
		}},
	{Name: "sdh", Title: "SDH", Supervised: true, Source: "Shen, Shen, Liu and Shen, CVPR 2015",
		make: func(o Common) Method {
			return SDH{Bits: o.Bits, Seed: o.Seed, Anchors: o.Anchors, Rows: o.Rows, Threads: o.Threads}
		}},
	{Name: "fsdh", Title: "FSDH", Supervised: true, Source: "Gui, Liu, Sun, Tao and Tan, TPAMI 2018",
		make: func(o Common) Method {
			return FSDH{Bits: o.Bits, Seed: o.Seed, Anchors: o.Anchors, Rows: o.Rows, Threads: o.Threads}
		}},
	{Name: "classifier", Title: "Classifier", Supervised: true, Prefix: true, Source: "hashed scores of logistic regression (Sablayrolles et al., ICASSP 2017)",
		make: func(o Common) Method { return Classifier{Bits: o.Bits, Seed: o.Seed, Threads: o.Threads} }},
	{Name: "classifier-onehot", Title: "Classifier, one-hot", Supervised: true, AnyBits: true, Source: "the answer of logistic regression (Sablayrolles et al., ICASSP 2017)",
		make: func(o Common) Method { return Classifier{OneHot: true, Threads: o.Threads} }},
}

// Names lists the names of all methods.
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

// New returns the method of a name.
func New(name string, o Common) (Method, error) {
	d, ok := Describe(name)
	if !ok {
		return nil, fmt.Errorf("there is no method %q; the methods are %s", name, strings.Join(Names(), ", "))
	}
	m := d.make(o)
	if o.PCA != 0 {
		m = PCA{Dims: o.PCA, Then: m, Seed: o.Seed, Threads: o.Threads}
	}
	return m, nil
}
