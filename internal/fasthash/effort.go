package fasthash

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/columns"
	"hashgrove/internal/message"
	"hashgrove/internal/supervision"
)

// Effort is a single dial for training time. It sets what the user has not set, according to the size of the data; the
// model records its name and all it chose.
type Effort string

// The efforts, from least to greatest, and the paper's own settings.
const (
	Quick  = "quick"
	Normal = "normal" // the default
	Best   = "best"
	Paper  = "paper" // those of Lin et al., CVPR 2014, and of their released code
)

// Efforts returns the efforts from least to greatest, then the paper's.
func Efforts() []Effort { return []Effort{Quick, Normal, Best, Paper} }

// anySize marks the last line of an effort, for data of any size.
const anySize = math.MaxInt

// paperTrees are the trees of the paper.
var paperTrees = boost.Options{Boost: boost.AdaBoost, Rounds: 200, Depth: 4}

// Up to fewRows rows of up to fewClasses classes, trees see samples of the rows and columns. That helped on breast
// cancer and did no harm on wine and iris: with two classes, bits with the same target would otherwise get the same
// trees. With many classes it does harm.
const (
	fewRows    = 1000
	fewClasses = 5
)

func fewRowsTrees(rounds int) boost.Options {
	return boost.Options{Boost: boost.AdaBoost, Rounds: rounds, Depth: 4, RowShare: 0.5, ColumnShare: 0.5}
}

// effortLine holds the choices of an effort for data up to a size: trees, extra columns, and, for classes and pairs,
// the candidates for each bit, which do not help with tags.
type effortLine struct {
	effort     Effort
	rows       int
	classes    int
	trees      boost.Options
	linear     string
	candidates int
}

// Beyond mediumRows rows, trees of depth 4 no longer follow the bits closely enough: on 40,000 rows of GIST deeper
// trees help new and learned items alike.
const mediumRows = 15_000

// logistic returns trees with a high rate. With lower rates, the same number of trees makes codes of one class so alike
// that those nearest to a query are no longer the best.
func logistic(rounds, depth int, rate, columns float64) boost.Options {
	return boost.Options{Boost: boost.Logistic, Rounds: rounds, Depth: depth, Rate: rate, ColumnShare: columns}
}

// efforts lists the choices of each effort; the first line that is large enough for the data counts. Fields left at
// zero get the default of their package.
var efforts = []effortLine{
	{Quick, fewRows, fewClasses, fewRowsTrees(200), "", 0},
	{Quick, anySize, anySize, logistic(100, 4, 0.7, 0.3), columns.Auto, 0},

	{Normal, fewRows, fewClasses, fewRowsTrees(200), columns.Auto, 6},
	{Normal, mediumRows, anySize, logistic(200, 4, 0.5, 0.5), columns.AutoKernel, 6},
	{Normal, anySize, anySize, logistic(200, 6, 0.5, 0.5), columns.AutoKernel, 6},

	{Best, fewRows, fewClasses, fewRowsTrees(600), columns.AutoKernel, 6},
	{Best, mediumRows, anySize, logistic(600, 5, 0.7, 0.3), columns.AutoKernel, 6},
	{Best, anySize, anySize, logistic(400, 7, 0.5, 0.3), columns.AutoKernel, 6},

	{Paper, anySize, anySize, paperTrees, "", 0},
}

// Few rows of unequal classes: at least half of the classes have less than a fifth of the rows of the largest. All
// efforts but the paper's then weight classes equally (inference.Options.BalanceClasses) and use this line, so that
// rare classes are found as well as frequent ones. More or deeper trees overfit the few rows; with many classes a bit
// depends on many scores and takes more trees.
const unequalRatio = 5

func unequalLine(classes int) effortLine {
	return effortLine{linear: columns.Kernel, candidates: 6, trees: boost.Options{
		Boost: boost.Logistic, Rounds: min(max(10*classes, 100), 400), Depth: 2, Rate: 0.1,
		NodeFeatures: max(classes, 10)}}
}

// unequalClasses returns the number of classes if the data are few rows of unequal classes, else 0.
func unequalClasses(d *supervision.Data) int {
	if d.Rows > fewRows || d.Kind() != supervision.ByClasses {
		return 0
	}
	sizes := classSizes(d) // all rows of a class may have been set aside
	if n := len(sizes); n >= 2 && unequalRatio*sizes[(n-1)/2] < sizes[n-1] {
		return n
	}
	return 0
}

// codeMicroseconds holds about how long a code may take on one core for each effort.
var codeMicroseconds = map[Effort]int{Quick: 5, Normal: 15, Best: 60, Paper: 15}

// about is what options depend on in the data.
type about struct {
	rows    int
	classes int // or tags; 0 if unknown
	unequal int // number of classes, if the data are few rows of unequal classes, else 0
}

// aboutOf describes data.
func aboutOf(d *supervision.Data) about {
	return about{d.Rows, classCount(d), unequalClasses(d)}
}

// withEffort fills in the choices of the effort for such data. Fields already set stay, and a rate implies logistic
// boosting. With the boosting algorithm that the effort does not use, trees start from the paper's numbers, since those
// of the effort do not suit them.
func (t Options) withEffort(d about) (Options, error) {
	t.Effort = cmp.Or(t.Effort, Normal)
	for _, line := range efforts {
		if line.effort != t.Effort || d.rows > line.rows || d.classes > line.classes {
			continue
		}
		if d.unequal > 0 && t.Effort != Paper && t.mayGrowTrees() && t.Order != TSH {
			line = unequalLine(d.unequal)
			weighted := t.BalancePairs || t.Inference.SimilarWeight != 0 || t.Inference.DissimilarWeight != 0
			t.Inference.BalanceClasses = t.Inference.BalanceClasses || !weighted
		}
		trees := line.trees
		if logisticOnly := t.Trees.Rate != 0 || t.Trees.Ridge != 0 || t.Trees.LeafBits != 0; logisticOnly &&
			t.Effort != Paper {
			t.Trees.Boost = cmp.Or(t.Trees.Boost, boost.Logistic)
		}
		if t.Trees.Boost != "" && t.Trees.Boost != trees.Boost {
			trees = paperTrees
			trees.Boost = t.Trees.Boost
		}
		t.Trees = filledIn(t.Trees, trees)
		if t.Learner == Scores {
			t.LinearColumns = cmp.Or(t.LinearColumns, columns.AutoKernel)
			return t, nil
		}
		if !t.mayGrowTrees() || t.Order == TSH {
			return t, nil // Two-Step Hashing is for comparison, with its authors' settings
		}
		t.LinearColumns = cmp.Or(t.LinearColumns, line.linear)
		if t.Similar.From != supervision.ByTags {
			t.Candidates = cmp.Or(t.Candidates, line.candidates)
		}
		return t, nil
	}
	return t, message.New("no-such-effort", "there is no effort %q; the efforts are %s", t.Effort, effortNames())
}

// filledIn fills the unset fields of t from another set of options.
func filledIn(t, from boost.Options) boost.Options {
	t.Boost = cmp.Or(t.Boost, from.Boost)
	t.Rounds, t.Depth = cmp.Or(t.Rounds, from.Rounds), cmp.Or(t.Depth, from.Depth)
	t.NodeFeatures, t.MinNode = cmp.Or(t.NodeFeatures, from.NodeFeatures), cmp.Or(t.MinNode, from.MinNode)
	t.TrimMass = cmp.Or(t.TrimMass, from.TrimMass)
	t.Rate, t.Ridge, t.LeafBits = cmp.Or(t.Rate, from.Rate), cmp.Or(t.Ridge, from.Ridge), cmp.Or(t.LeafBits, from.LeafBits)
	t.RowShare, t.ColumnShare = cmp.Or(t.RowShare, from.RowShare), cmp.Or(t.ColumnShare, from.ColumnShare)
	return t
}

func effortNames() string {
	var names []string
	for _, e := range Efforts() {
		names = append(names, string(e))
	}
	return strings.Join(names, ", ")
}

// Summary describes in a few words what completed options have chosen: "effort paper: 200 trees of depth 4 per bit,
// AdaBoost".
func (t Options) Summary() string {
	switch t.Learner {
	case Linear:
		return "linear hash functions"
	case Scores:
		return fmt.Sprintf("effort %s: bits from scores of the classes or tags", t.Effort)
	}
	how := "AdaBoost"
	if t.Trees.Boost == boost.Logistic {
		how = fmt.Sprintf("logistic boosting at rate %v", t.Trees.Rate)
	}
	text := fmt.Sprintf("%d trees of depth %d per bit, %s", t.Trees.Rounds, t.Trees.Depth, how)
	if t.Effort != "" {
		text = fmt.Sprintf("effort %s: %s", t.Effort, text)
	}
	return text
}
