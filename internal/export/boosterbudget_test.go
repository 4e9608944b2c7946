package export

import (
	"bytes"
	"strings"
	"testing"

	"hashgrove/internal/testkit/budgettest"
)

// TestBoostersStayWithinTheirBudget: files of other libraries that ask for more than they have, or hold little in many
// values.
func TestBoostersStayWithinTheirBudget(t *testing.T) {
	const many = 1 << 20
	xgb := func(trees string) string {
		return `{"learner":{"gradient_booster":{"name":"gbtree","model":{"trees":[` + trees + `]}}}}`
	}
	zeros := strings.TrimSuffix(strings.Repeat("0,", many), ",")
	for name, text := range map[string]string{
		"deep":       strings.Repeat("{\"a\":[", many),
		"types":      xgb(`{"split_type":[` + zeros + `]}`),
		"children":   xgb(`{"left_children":[` + zeros + `],"right_children":[],"split_indices":[],"split_conditions":[]}`),
		"circle":     xgb(`{"left_children":[0],"right_children":[0],"split_indices":[0],"split_conditions":[0]}`),
		"names":      `{"learner":{"feature_names":[` + strings.TrimSuffix(strings.Repeat(`"",`, many), ",") + `]}}`,
		"attributes": `{"learner":{"attributes":{` + strings.TrimSuffix(strings.Repeat(`"a":"",`, many), ",") + `}}}`,
		"lightgbm":   "tree\nnum_class=2000000000\nnum_tree_per_iteration=2000000000\nmax_feature_idx=2000000000\n\nTree=0\n",
		"leaves":     "tree\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=1\n\nTree=0\nnum_leaves=2000000000\n\nend of trees\n",
		"lines":      "tree\n" + strings.Repeat("a=b\n", many),
		"words":      "tree\nnum_class=1\nfeature_names=" + strings.Repeat("a ", many) + "\nTree=0\nend of trees\n",
	} {
		budgettest.Within(t, 16*budgettest.MiB+64*uint64(len(text)), func() {
			if _, err := readBooster(bytes.NewReader([]byte(text))); err == nil {
				t.Errorf("%s: it was read", name)
			}
		})
	}
}
