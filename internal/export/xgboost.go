package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
)

// XGBoost models as JSON (its "Introduction to Model IO"; versions 1.0 to 3). The relevant parts:
//
//	learner.learner_model_param   base_score (a number, from version 3.1 on a list), num_class, num_target, num_feature
//	learner.objective.name        says whether base_score is a probability: base = logit(base_score)
//	learner.gradient_booster      trees, and in tree_info the output that each one belongs to
//
// A tree goes left iff x < split_condition, both float32; for a leaf that is its value. Margins are sums of float32:
// base first, then the trees of the output in order. Not supported: boosters other than gbtree, tree weights (dart),
// leaves with a value per output (multi_output_tree), categorical splits, and objectives whose margin is not a yes or
// no.

// xgbNumber is a number written as text.
type xgbNumber string

func (n xgbNumber) int() (int, error) {
	v, err := strconv.Atoi(string(n))
	if err != nil || v < 0 {
		return 0, fmt.Errorf("%w: %.40q where a size should be", ErrBooster, string(n))
	}
	return v, nil
}

type xgbFile struct {
	Learner struct {
		Attributes   map[string]string `json:"attributes"`
		FeatureNames []string          `json:"feature_names"`
		Param        struct {
			BaseScore  string    `json:"base_score"`
			NumClass   xgbNumber `json:"num_class"`
			NumTarget  xgbNumber `json:"num_target"`
			NumFeature xgbNumber `json:"num_feature"`
		} `json:"learner_model_param"`
		Objective struct {
			Name string `json:"name"`
		} `json:"objective"`
		Booster struct {
			Name  string `json:"name"`
			Model struct {
				Trees      xgbTrees  `json:"trees"`
				TreeInfo   []int32   `json:"tree_info"`
				WeightDrop []float32 `json:"weight_drop"`
				Param      struct {
					Parallel xgbNumber `json:"num_parallel_tree"`
				} `json:"gbtree_model_param"`
			} `json:"model"`
		} `json:"gradient_booster"`
	} `json:"learner"`
}

// xgbTrees holds trees, each put in order as soon as it is read, so that memory stays proportional to the input.
type xgbTrees [][]model.Node

// UnmarshalJSON implements json.Unmarshaler.
func (l *xgbTrees) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return fmt.Errorf("%w: the trees are not a list", ErrBooster)
	}
	for d.More() {
		var t xgbTree
		if err := d.Decode(&t); err != nil {
			return err
		}
		nodes, err := t.nodes()
		if err != nil {
			return fmt.Errorf("tree %d: %w", len(*l), err)
		}
		*l = append(*l, nodes)
	}
	return nil
}

type xgbTree struct {
	Left       []int32       `json:"left_children"`
	Right      []int32       `json:"right_children"`
	Columns    []uint32      `json:"split_indices"`
	Conditions []float32     `json:"split_conditions"`
	Types      []json.Number `json:"split_type"`
	Categories []int32       `json:"categories_nodes"`
	Param      struct {
		LeafSize xgbNumber `json:"size_leaf_vector"`
	} `json:"tree_param"`
}

func (t *xgbTree) nodes() ([]model.Node, error) {
	n := len(t.Left)
	if s := t.Param.LeafSize; s != "" && s != "0" && s != "1" {
		return nil, fmt.Errorf("%w: its leaves have %.40s values each: train with multi_strategy one_output_per_tree",
			ErrBooster, string(s))
	}
	if len(t.Categories) > 0 {
		return nil, fmt.Errorf("%w: it splits by categories: train on numbers", ErrBooster)
	}
	for _, kind := range t.Types {
		if kind != "0" {
			return nil, fmt.Errorf("%w: it splits by categories: train on numbers", ErrBooster)
		}
	}
	if n == 0 || len(t.Right) != n || len(t.Columns) != n || len(t.Conditions) != n {
		return nil, fmt.Errorf("%w: %d left and %d right children, %d columns and %d conditions", ErrBooster,
			n, len(t.Right), len(t.Columns), len(t.Conditions))
	}
	return preorder(t, 0)
}

func (t *xgbTree) size() int { return len(t.Left) }

func (t *xgbTree) node(at int) (n model.Node, left, right int, err error) {
	if at < 0 || at >= len(t.Left) {
		return n, 0, 0, fmt.Errorf("%w: a split leads to node %d of %d", ErrBooster, at, len(t.Left))
	}
	v := float64(t.Conditions[at])
	if t.Left[at] == -1 {
		return model.Node{Column: -1, Value: v}, 0, 0, nil
	}
	if t.Columns[at] > math.MaxInt32 {
		return n, 0, 0, fmt.Errorf("%w: column %d", ErrBooster, t.Columns[at])
	}
	return model.Node{Column: int32(t.Columns[at]), Value: v + 0}, int(t.Left[at]), int(t.Right[at]), nil
}

func parseXGBoost(text []byte) (*booster, error) {
	var f xgbFile
	if err := json.Unmarshal(text, &f); err != nil {
		if errors.Is(err, ErrBooster) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", ErrBooster, err)
	}
	l := &f.Learner
	switch {
	case l.Booster.Name == "":
		return nil, fmt.Errorf("%w: JSON without a gradient_booster of XGBoost", ErrBooster)
	case l.Booster.Name == "dart" || len(l.Booster.Model.WeightDrop) > 0:
		return nil, fmt.Errorf("%w: its trees have weights (dart), which versions of XGBoost apply in different ways: "+
			"train with gbtree", ErrBooster)
	case l.Booster.Name != "gbtree":
		return nil, fmt.Errorf("%w: a booster of type %.40q: train with gbtree", ErrBooster, l.Booster.Name)
	}
	outputs, columns, err := f.sizes()
	if err != nil {
		return nil, err
	}
	b := &booster{library: "xgboost", encoder: model.Boosted{Columns: columns, Outputs: make([]model.Booster, outputs)}}
	if names := l.FeatureNames; len(names) == columns {
		b.names = names
	}
	if err := f.setBases(b); err != nil {
		return nil, err
	}
	trees, info := l.Booster.Model.Trees, l.Booster.Model.TreeInfo
	if len(info) != len(trees) {
		return nil, fmt.Errorf("%w: %d trees, and outputs of %d", ErrBooster, len(trees), len(info))
	}
	for i, t := range trees {
		if info[i] < 0 || int(info[i]) >= outputs {
			return nil, fmt.Errorf("%w: tree %d belongs to output %d of %d", ErrBooster, i, info[i], outputs)
		}
		out := &b.encoder.Outputs[info[i]]
		out.Trees = append(out.Trees, t)
	}
	f.doubt(b, len(trees))
	return b, nil
}

// sizes returns the number of outputs and columns.
func (f *xgbFile) sizes() (outputs, columns int, err error) {
	p := &f.Learner.Param
	outputs = 1
	for _, n := range []xgbNumber{p.NumClass, p.NumTarget} {
		if n == "" {
			continue // absent in older versions
		}
		v, err := n.int()
		if err != nil {
			return 0, 0, err
		}
		outputs = max(outputs, v)
	}
	if outputs > hamming.MaxBits {
		return 0, 0, fmt.Errorf("%w: %d outputs, and at most %d are possible", ErrBooster, outputs, hamming.MaxBits)
	}
	columns, err = p.NumFeature.int()
	return outputs, columns, err
}

// setBases sets the values at which the sums start.
func (f *xgbFile) setBases(b *booster) error {
	text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(f.Learner.Param.BaseScore), "["), "]")
	scores := strings.Split(text, ",")
	outputs := b.encoder.Outputs
	if len(scores) != 1 && len(scores) != len(outputs) {
		return fmt.Errorf("%w: %d base scores for %d outputs", ErrBooster, len(scores), len(outputs))
	}
	for k := range outputs {
		s := strings.TrimSpace(scores[min(k, len(scores)-1)])
		v, err := strconv.ParseFloat(s, 32)
		if err != nil {
			return fmt.Errorf("%w: the base score %.40q", ErrBooster, s)
		}
		switch name := f.Learner.Objective.Name; name {
		case "binary:logistic", "reg:logistic":
			sure := false
			if outputs[k].Base, sure, err = logit(float32(v)); err != nil {
				return err
			}
			if !sure {
				b.unsure++
			}
		case "binary:logitraw", "binary:hinge", "reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror",
			"reg:linear", "multi:softmax", "multi:softprob", "rank:pairwise", "rank:ndcg", "rank:map":
			outputs[k].Base = v
		default:
			return fmt.Errorf("%w: the objective %.60q: train with one whose margin says yes or no, as binary:logistic",
				ErrBooster, name)
		}
	}
	return nil
}

// logit returns the margin of a probability as XGBoost computes it in float32: -log(1/p - 1). The C library's logf
// may be off by one unit in the last place if the logarithm is close to the midpoint of two float32 values; sure
// says that it is not. Of all 167 million probabilities, glibc 2.36 rounds 0.11% differently.
func logit(p float32) (margin float64, sure bool, err error) {
	const least = 1e-6 // beyond this XGBoost clips or refuses, depending on the version
	if !(p >= least && p <= 1-least) {
		return 0, false, fmt.Errorf("%w: base_score %v is not a probability from %v to %v", ErrBooster, p, least, 1-least)
	}
	odds := 1/p - 1
	exact := -math.Log(float64(odds))
	near := float32(exact)
	// The distance from the logarithm to the nearer of the two midpoints beside near.
	up, down := math.Nextafter32(near, 2*near), math.Nextafter32(near, 0)
	gap := min(math.Abs(float64((float64(up)+float64(near))/2)-exact),
		math.Abs(float64((float64(down)+float64(near))/2)-exact))
	return float64(near), near == 0 || gap > slack, nil
}

// slack exceeds the error of logf in glibc 2.36 before rounding, for every probability that logit accepts: 2.5e-9.
const slack = 3e-9

// doubt warns of what may not be as intended.
func (f *xgbFile) doubt(b *booster, trees int) {
	l := &f.Learner
	text, stopped := l.Attributes["best_iteration"]
	best, err := strconv.Atoi(text)
	parallel, parallelErr := l.Booster.Model.Param.Parallel.int()
	if parallelErr != nil {
		parallel = 1
	}
	rounds := trees / (len(b.encoder.Outputs) * max(1, parallel))
	if stopped && err == nil && best >= 0 && best < rounds-1 {
		b.doubts = append(b.doubts, fmt.Sprintf("all trees count, as in Booster.predict, although training was best after "+
			"round %d of %d: save the slice booster[:%d] to leave the others out", best+1, rounds, best+1))
	}
}
