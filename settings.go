package hashgrove

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/message"
)

// settings lists the options that tune a training, by their names in JSON, with a line on each.
var settings = [][2]string{
	{"hold_out", "classes to keep out of training, such as 8,9; eval then measures them separately"},
	{"mirror_average", "whether codes add the scores of a picture and its mirror image; with --mirror"},
	{"min_shared", "number of common tags that make two rows similar; 2"},
	{"restart", "whether to discard an interrupted training"},
	{"learner", "what predicts bits: trees; scores, how much a row looks like each class or tag; linear (SVM); or auto"},
	{"inference", "algorithm of Step 1: blockgc, icm or spectral"},
	{"sweeps", "sweeps over the blocks per bit"},
	{"sample_similar", "similar rows to sample per row, instead of all pairs"},
	{"sample_dissimilar", "dissimilar rows to sample per row"},
	{"candidate_bits", "candidates for each bit, up to 64, of which the one is kept that quick trees predict best"},
	{"order", "stagewise, or tsh to infer all bits first"},
	{"boost", "boosting: adaboost or logistic"},
	{"rate", "share of a Newton step per tree of logistic boosting"},
	{"leaf_bits", "leaves of logistic boosting have 2^leaf_bits values"},
	{"node_features", "candidate columns per tree node (LazyBoost); negative means all"},
	{"trim", "share of the weight that a tree sees; 1 means all"},
	{"linear_columns", "extra columns for the trees: off, linear, kernel, auto or auto-kernel"},
	{"min_node", "a node with at most so many rows of one sign becomes a leaf; negative means never"},
	{"row_share", "share of the rows drawn for each tree"},
	{"column_share", "share of the columns drawn for each tree"},
	{"bins", "how columns are cut into 256 bins: linear (the paper), quantile or hybrid"},
	{"equal_row_weights", "start boosting from equal weights, as in the paper's text: true or false"},
	{"svm_c", "C of the linear learner"},
	{"pca", "principal components in front of other methods than FastHash"},
	{"anchors", "anchors of kernel methods and anchor graphs"},
	{"rows", "most rows that other methods learn from; negative means all"},
	{"standardize", "whether other methods divide columns by their deviations first: on, off or auto"},
}

// Settings describes what Set takes, a line each.
func (Options) Settings() string {
	var text strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&text, "  %-17s  %s\n", s[0], s[1])
	}
	return text.String()
}

// isSetting reports whether Set takes a name.
func isSetting(name string) bool {
	return slices.ContainsFunc(settings, func(s [2]string) bool { return s[0] == name })
}

// Set sets the option with a name in JSON from text.
func (o *Options) Set(name, text string) error {
	if !isSetting(name) {
		nearest := slices.MinFunc(settings, func(a, b [2]string) int {
			return message.EditDistance(name, a[0]) - message.EditDistance(name, b[0])
		})
		return fmt.Errorf("there is no setting %q: did you mean %s?", name, nearest[0])
	}
	var to reflect.Value
	for _, options := range []any{o, &o.Pictures} {
		for f, v := range reflect.ValueOf(options).Elem().Fields() {
			if named, _, _ := strings.Cut(f.Tag.Get("json"), ","); named == name || f.Tag.Get("name") == name {
				to = v
			}
		}
	}
	var err error
	expected := "a text"
	switch to.Kind() {
	case reflect.Int:
		var v int
		v, err = strconv.Atoi(text)
		expected = "a whole number other than 0"
		to.SetInt(int64(v))
	case reflect.Float64:
		var v float64
		v, err = strconv.ParseFloat(text, 64)
		expected = "a number other than 0"
		to.SetFloat(v)
	case reflect.Bool:
		var v bool
		v, err = strconv.ParseBool(text)
		expected = "true or false"
		to.SetBool(v)
	case reflect.Slice:
		to.Set(reflect.ValueOf(strings.Split(text, ",")))
	default:
		to.SetString(text)
	}
	if err != nil || to.IsZero() && to.Kind() != reflect.Bool { // 0 would be the default
		return fmt.Errorf("%s=%s is not %s", name, text, expected)
	}
	return nil
}
