package export

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
)

// LightGBM models as text (Booster.save_model; versions v2 to v4). Lines are "key=value"; those before the first tree
// give num_tree_per_iteration, the number of outputs, and max_feature_idx; then each tree has the lists
//
//	split_feature, threshold, decision_type, left_child, right_child   one for each split; a child c < 0 is leaf -c-1
//	leaf_value                                                         one for each leaf
//
// Tree i belongs to output i mod num_tree_per_iteration. Margins are sums of float64, starting at 0. A tree goes left
// iff x <= threshold, both float64, after values of at most 1e-35 became 0; float32 values do so iff they are below
// ceiling(threshold). Not supported: categorical splits, linear leaves, and splits that send a zero where its value
// would not go (zero_as_missing).

// Bits of decision_type.
const (
	lgbCategorical = 1
	lgbDefaultLeft = 2
	lgbMissing     = 3 << 2
	lgbZeroMissing = 1 << 2
)

// lgbTree is a parsed tree; split i is at position i, leaf i at position -i-1.
type lgbTree struct {
	columns, left, right, types []int
	thresholds, leaves          []float64
}

func parseLightGBM(text []byte) (*booster, error) {
	b := &booster{library: "lightgbm", encoder: model.Boosted{Double: true}}
	lines := &lgbLines{text: text}
	head, err := lines.section()
	if err != nil {
		return nil, err
	}
	if err := b.readLightGBMHead(head); err != nil {
		return nil, err
	}
	outputs := b.encoder.Outputs
	for i := 0; lines.more; i++ {
		s, err := lines.section()
		if err != nil {
			return nil, err
		}
		nodes, err := s.tree()
		if err != nil {
			return nil, fmt.Errorf("tree %d: %w", i, err)
		}
		out := &outputs[i%len(outputs)]
		out.Trees = append(out.Trees, nodes)
	}
	if first, last := len(outputs[0].Trees), len(outputs[len(outputs)-1].Trees); first != last {
		return nil, fmt.Errorf("%w: output 0 has %d trees, and the last one %d", ErrBooster, first, last)
	}
	return b, nil
}

// lgbSection holds the lines of the header or of a tree.
type lgbSection map[string]string

// lgbLines splits a text into sections.
type lgbLines struct {
	text []byte
	more bool // a tree follows
}

// section reads up to the next tree or the end of the trees.
func (l *lgbLines) section() (lgbSection, error) {
	s := lgbSection{}
	for len(l.text) > 0 {
		line, rest, _ := bytes.Cut(l.text, []byte("\n"))
		l.text = rest
		key, value, _ := strings.Cut(strings.TrimSuffix(string(line), "\r"), "=")
		switch {
		case key == "end of trees":
			l.more = false
			return s, nil
		case key == "Tree":
			l.more = true
			return s, nil
		case len(s) == 64:
			return nil, fmt.Errorf("%w: a tree, or what comes before the first, has more than 64 lines", ErrBooster)
		case key != "":
			s[key] = value
		}
	}
	return nil, fmt.Errorf(`%w: it ends before the line "end of trees"`, ErrBooster)
}

// integers parses a list of n integers.
func (s lgbSection) integers(key string, n int) ([]int, error) {
	return lgbList(s, key, n, strconv.Atoi)
}

// numbers parses a list of n finite numbers.
func (s lgbSection) numbers(key string, n int) ([]float64, error) {
	return lgbList(s, key, n, func(text string) (float64, error) {
		v, err := strconv.ParseFloat(text, 64)
		if err == nil && v-v != 0 {
			err = strconv.ErrRange
		}
		return v, err
	})
}

func lgbList[T any](s lgbSection, key string, n int, parse func(string) (T, error)) ([]T, error) {
	words := strings.Fields(s[key])
	if len(words) != n {
		return nil, fmt.Errorf("%w: %d values of %s where %d should be", ErrBooster, len(words), key, n)
	}
	list := make([]T, n)
	for i, w := range words {
		v, err := parse(w)
		if err != nil {
			return nil, fmt.Errorf("%w: the value %.40q of %s", ErrBooster, w, key)
		}
		list[i] = v
	}
	return list, nil
}

func (s lgbSection) integer(key string) (int, error) {
	v, err := s.integers(key, 1)
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

func (b *booster) readLightGBMHead(s lgbSection) error {
	outputs, err := s.integer("num_tree_per_iteration")
	if err != nil {
		return err
	}
	last, err := s.integer("max_feature_idx")
	if err != nil {
		return err
	}
	if outputs < 1 || outputs > hamming.MaxBits || last < 0 || last >= math.MaxInt32 {
		return fmt.Errorf("%w: %d outputs of %d columns; 1 to %d outputs are possible", ErrBooster,
			outputs, last+1, hamming.MaxBits)
	}
	b.encoder.Columns, b.encoder.Outputs = last+1, make([]model.Booster, outputs)
	names := strings.Fields(s["feature_names"])
	for i, name := range names {
		if len(names) == last+1 && name != "Column_"+strconv.Itoa(i) { // LightGBM's default name
			b.names = names
		}
	}
	return nil
}

func (s lgbSection) tree() ([]model.Node, error) {
	leaves, err := s.integer("num_leaves")
	if err != nil {
		return nil, err
	}
	if linear := s["is_linear"]; linear != "" && linear != "0" {
		return nil, fmt.Errorf("%w: its leaves are linear functions: train without linear_tree", ErrBooster)
	}
	var t lgbTree
	if t.leaves, err = s.numbers("leaf_value", leaves); err != nil {
		return nil, err
	}
	if leaves == 1 {
		return preorder(&t, -1)
	}
	if t.thresholds, err = s.numbers("threshold", leaves-1); err != nil {
		return nil, err
	}
	for _, list := range []struct {
		key string
		to  *[]int
	}{{"split_feature", &t.columns}, {"decision_type", &t.types}, {"left_child", &t.left}, {"right_child", &t.right}} {
		if *list.to, err = s.integers(list.key, leaves-1); err != nil {
			return nil, err
		}
	}
	return preorder(&t, 0)
}

func (t *lgbTree) size() int { return len(t.leaves) + len(t.thresholds) }

func (t *lgbTree) node(at int) (n model.Node, left, right int, err error) {
	if at < 0 {
		if -at-1 >= len(t.leaves) {
			return n, 0, 0, fmt.Errorf("%w: a split leads to leaf %d of %d", ErrBooster, -at-1, len(t.leaves))
		}
		return model.Node{Column: -1, Value: t.leaves[-at-1]}, 0, 0, nil
	}
	if at >= len(t.thresholds) {
		return n, 0, 0, fmt.Errorf("%w: a split leads to split %d of %d", ErrBooster, at, len(t.thresholds))
	}
	kind, threshold := t.types[at], t.thresholds[at]
	zeroLeft := 0 <= threshold
	switch {
	case kind&lgbCategorical != 0:
		return n, 0, 0, fmt.Errorf("%w: it splits by categories: train on numbers", ErrBooster)
	case kind&lgbMissing == lgbZeroMissing && zeroLeft != (kind&lgbDefaultLeft != 0):
		return n, 0, 0, fmt.Errorf("%w: it takes zeros for missing values: train without zero_as_missing", ErrBooster)
	case t.columns[at] < 0 || t.columns[at] > math.MaxInt32:
		return n, 0, 0, fmt.Errorf("%w: column %d", ErrBooster, t.columns[at])
	}
	n = model.Node{Column: int32(t.columns[at]), Value: float64(ceiling(threshold))}
	return n, t.left[at], t.right[at], nil
}

// ceiling returns the float32 c such that a finite float32 x is below c iff LightGBM sends it left: x <= threshold,
// where x counts as 0 if it is at most zero, 1e-35 as a float32.
func ceiling(threshold float64) float32 {
	const zero float32 = 1e-35
	switch {
	case threshold >= -float64(zero) && threshold < 0:
		return -zero
	case threshold >= 0:
		threshold = max(threshold, float64(zero))
	case threshold < -math.MaxFloat32:
		return -math.MaxFloat32
	}
	if threshold >= math.MaxFloat32 {
		return float32(math.Inf(1))
	}
	c := float32(threshold) // to the nearest
	if float64(c) <= threshold {
		c = math.Nextafter32(c, float32(math.Inf(1)))
	}
	return c
}
