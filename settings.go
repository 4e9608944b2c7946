package hashgrove

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/message"
	"hashgrove/internal/method"
)

// setting is one option by its name: that in JSON, of Set and, with dashes, of the command's flag.
type setting struct {
	name  string
	to    any    // points to the field
	group group  // of methods that it applies to
	about string // a line of help; "" for options that Set does not take
}

// group says which methods an option applies to.
type group int

const (
	forAll      group = iota
	forTrees          // fasthash and tsh-trees
	forFastHash       // fasthash alone
	forThisRun        // fasthash alone; not in JSON, since it does not describe the model
	forOther          // all but fasthash
)

// settings lists the options that have names.
func (o *Options) settings() []setting {
	t, f := &o.Trees, &o.FastHash
	return []setting{
		{"method", &o.Method, forAll, ""},
		{"bits", &o.Bits, forAll, ""},
		{"detail_bits", &o.DetailBits, forAll, ""},
		{"seed", &o.Seed, forAll, ""},
		{"threads", &o.Threads, forAll, ""},
		{"device", &o.Device, forAll, ""},
		{"validation", &o.Validation, forAll, ""},
		{"pictures", &o.Pictures, forAll, ""},
		{"effort", &o.Effort, forTrees, ""},
		{"loss", &f.Loss, forFastHash, ""},
		{"balance", &f.Balance, forFastHash, ""},
		{"rounds", &t.Rounds, forTrees, ""},
		{"depth", &t.Depth, forTrees, ""},
		{"checkpoint", &o.Checkpoint.Folder, forThisRun, ""},
		{"resume", &o.Checkpoint.Resume, forThisRun, ""},
		{"grow", &o.Grow, forThisRun, ""},
		{"memory", &o.Memory, forThisRun, ""},
		{"custom_loss", &f.CustomLoss, forThisRun, ""},
		{"custom_learner", &f.CustomLearner, forThisRun, ""},

		{"hold_out", &o.HoldOut, forAll, "classes to keep out of training, such as 8,9; eval then measures them separately"},
		{"min_shared", &o.MinShared, forAll, "number of shared tags that makes two rows similar; 2"},
		{"restart", &o.Checkpoint.Restart, forThisRun, "whether to discard an interrupted training"},
		{"learner", &f.Learner, forFastHash, "what predicts bits: " + learners()},
		{"inference", &f.Inference, forFastHash, "algorithm of Step 1: blockgc, icm or spectral"},
		{"sweeps", &f.Sweeps, forFastHash, "sweeps over the blocks per bit"},
		{"sample_similar", &f.SampleSimilar, forFastHash, "similar rows to sample per row, instead of all pairs"},
		{"sample_dissimilar", &f.SampleDissimilar, forFastHash, "dissimilar rows to sample per row"},
		{"candidate_bits", &f.Candidates, forFastHash,
			"candidates for each bit, up to 64; the one that quick trees predict best is kept"},
		{"order", &f.Order, forFastHash, "stagewise, or tsh to infer all bits first"},
		{"boost", &t.Boost, forTrees, "boosting: adaboost or logistic"},
		{"rate", &t.Rate, forTrees, "share of a Newton step per tree of logistic boosting"},
		{"leaf_bits", &t.LeafBits, forTrees, "leaves of logistic boosting have 2^leaf_bits values"},
		{"node_features", &t.NodeFeatures, forTrees, "candidate columns per tree node (LazyBoost); negative means all"},
		{"trim", &t.Trim, forTrees, "share of the weight that a tree sees; 1 means all"},
		{"linear_columns", &f.LinearColumns, forFastHash,
			"extra columns for the trees: off, linear, kernel, auto or auto-kernel"},
		{"min_node", &t.MinNode, forTrees,
			"stop splitting nodes with at most this many rows of one sign; negative disables it"},
		{"row_share", &t.RowShare, forTrees, "share of the rows drawn for each tree"},
		{"column_share", &t.ColumnShare, forTrees, "share of the columns drawn for each tree"},
		{"bins", &f.Bins, forFastHash, "how columns are cut into 256 bins: linear (the paper), quantile or hybrid"},
		{"equal_row_weights", &f.EqualRowWeights, forFastHash,
			"start boosting from equal weights, as in the paper's text: true or false"},
		{"svm_c", &f.SVMCost, forFastHash, "C of the linear learner"},
		{"pca", &o.Other.PCA, forOther, "principal components in front of methods other than FastHash"},
		{"anchors", &o.Other.Anchors, forOther, "anchors of kernel methods and anchor graphs"},
		{"rows", &o.Other.Rows, forOther, "maximum number of rows that other methods learn from; negative means all"},
		{"standardize", &o.Other.Standardize, forOther,
			"whether other methods divide columns by their deviations first: on, off or auto"},
	}
}

// value is the option itself.
func (s setting) value() reflect.Value { return reflect.ValueOf(s.to).Elem() }

// inJSON reports whether the option is part of the JSON.
func (s setting) inJSON() bool { return s.group != forThisRun }

// appliesTo reports whether the option applies to a method, about which nothing is known if it is a custom one.
func (s setting) appliesTo(about method.Description, custom bool) bool {
	fastHash := about.Name == method.FastHash
	switch s.group {
	case forTrees:
		return about.Trees
	case forFastHash, forThisRun:
		return fastHash
	case forOther:
		return !fastHash && !custom
	}
	return true
}

// foreign returns the options that are set but do not apply to the method.
func (o *Options) foreign() []setting {
	about, _ := method.Describe(o.name())
	if o.Custom != nil {
		about = method.Description{}
	}
	return slices.DeleteFunc(o.settings(), func(s setting) bool {
		return s.appliesTo(about, o.Custom != nil) || s.value().IsZero()
	})
}

// For returns the options for another registered method, without those that do not apply to it.
func (o Options) For(name string) Options {
	o.Method, o.Custom = name, nil
	for _, s := range o.foreign() {
		s.value().SetZero()
	}
	if name != method.FastHash {
		o.FastHash = FastHashOptions{}
	}
	return o
}

// Settings describes what Set takes, a line each.
func (o Options) Settings() string {
	var text strings.Builder
	for _, s := range o.settings() {
		if s.about != "" {
			fmt.Fprintf(&text, "  %-17s  %s\n", s.name, s.about)
		}
	}
	return text.String()
}

// isSetting reports whether Set takes a name.
func isSetting(name string) bool {
	return slices.ContainsFunc(new(Options).settings(), func(s setting) bool { return s.name == name && s.about != "" })
}

// named finds a setting, or suggests the one with the most similar name.
func named(what, name string, list []setting) (setting, error) {
	nearest := slices.MinFunc(list, func(a, b setting) int {
		return message.EditDistance(name, a.name) - message.EditDistance(name, b.name)
	})
	if nearest.name != name {
		return setting{}, fmt.Errorf("there is no %s %q: did you mean %s?", what, name, nearest.name)
	}
	return nearest, nil
}

// Set sets the option with a name in JSON from text.
func (o *Options) Set(name, text string) error {
	s, err := named("setting", name, slices.DeleteFunc(o.settings(), func(s setting) bool { return s.about == "" }))
	if err != nil {
		return err
	}
	expected := "a text"
	switch to := s.to.(type) {
	case *int:
		*to, err = strconv.Atoi(text)
		expected = "a whole number other than 0"
	case *float64:
		*to, err = strconv.ParseFloat(text, 64)
		expected = "a number other than 0"
	case *bool:
		if *to, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("%s=%s is not true or false", name, text)
		}
		return nil
	case *[]string:
		*to = strings.Split(text, ",")
	case *string:
		*to = text
	}
	if err != nil || s.value().IsZero() { // 0 would be the default
		return fmt.Errorf("%s=%s is not %s", name, text, expected)
	}
	return nil
}

// UnmarshalJSON reads options by their names, which are those of the command's flags with underscores, in one object:
// {"bits": 32, "rounds": 100}.
func (o *Options) UnmarshalJSON(text []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return errors.New("options are an object of names and values")
	}
	for name, value := range fields {
		s, err := named("option", name, slices.DeleteFunc(o.settings(), func(s setting) bool { return !s.inJSON() }))
		if err != nil {
			return err
		}
		d := json.NewDecoder(bytes.NewReader(value))
		d.DisallowUnknownFields()
		if err := d.Decode(s.to); err != nil {
			if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
				return fmt.Errorf("option %s: give a value of the type %s, not a %s", name, wrong.Type, wrong.Value)
			}
			return fmt.Errorf("option %s: %s", name, strings.TrimPrefix(err.Error(), "json: "))
		}
	}
	return nil
}

// MarshalJSON writes the options that are not zero.
func (o Options) MarshalJSON() ([]byte, error) {
	fields := map[string]any{}
	for _, s := range o.settings() {
		if s.inJSON() && !s.value().IsZero() {
			fields[s.name] = s.to
		}
	}
	return json.Marshal(fields)
}
