package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestTagsAndPairs trains and judges from tags in JSON lines and from a pairs file by id.
func TestTagsAndPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("runs in full, without the race detector, with the documents")
	}
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(1, 1))
	tags := []string{"red", "blue", "sale", "new", "kids", "men", "women"}
	var docs, pairs strings.Builder
	sets := make([][]int, 300)
	for i := range sets {
		sets[i] = rng.Perm(len(tags))[:3]
		v, names := make([]string, 14), []string{}
		for j := range v {
			x := rng.NormFloat64()
			if slices.Contains(sets[i], j%7) {
				x += 2
			}
			v[j] = fmt.Sprintf("%.4f", x)
		}
		for _, k := range sets[i] {
			names = append(names, fmt.Sprintf("%q", tags[k]))
		}
		fmt.Fprintf(&docs, "{\"sku\": \"s%d\", \"v\": [%s], \"tags\": [%s]}\n", i, strings.Join(v, ","), strings.Join(names, ","))
	}
	for range 6000 {
		a, b := rng.IntN(300), rng.IntN(300)
		common := 0
		for _, k := range sets[a] {
			if slices.Contains(sets[b], k) {
				common++
			}
		}
		if relation := []string{"dissimilar", "", "similar", "similar"}[common]; a != b && relation != "" {
			fmt.Fprintf(&pairs, "s%d,s%d,%s\n", a, b, relation)
		}
	}
	write(t, "docs.jsonl", docs.String())
	write(t, "pairs.csv", pairs.String())
	write(t, "contradiction.csv", "s1,s2,similar\ns3,s4,unknown\ns2,s1,dissimilar\n")

	data := []string{"--vector", "v", "--id-column", "sku"}
	for _, c := range []struct {
		name        string
		supervision []string
		least       float64
	}{
		{"tags", []string{"--tags", "tags"}, 0.8},
		{"pairs", []string{"--pairs", "pairs.csv"}, 0.8},
	} {
		more := append(slices.Clone(data), c.supervision...)
		train := append([]string{"train", "docs.jsonl", "--bits", "12", "--rounds", "20", "-o", c.name + ".hgm"}, more...)
		succeed(t, train...)
		var r struct {
			MAP float64 `json:"map"`
		}
		out := succeed(t, append([]string{"eval", "-m", c.name + ".hgm", "--base", "docs.jsonl", "--queries", "docs.jsonl", "--json"}, more...)...)
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		if r.MAP < c.least {
			t.Errorf("%s: MAP %v", c.name, r.MAP)
		}
		// Of tags few make rows similar: the two kinds of pairs count alike, unless another balance is asked for.
		weighs := func(name string) bool {
			return !strings.Contains(succeed(t, "info", name, "--json"), `"similar_weight": 1,`)
		}
		if weighs(c.name+".hgm") != (c.name == "tags") {
			t.Errorf("%s: similar pairs weigh more: %v", c.name, weighs(c.name+".hgm"))
		}
		even := append(slices.Clone(train), "--balance", "1:1", "--force")
		even[slices.Index(even, "-o")+1] = "even.hgm"
		if succeed(t, even...); weighs("even.hgm") {
			t.Errorf("%s: a balance of 1:1 weighs", c.name)
		}
		sampled := append(slices.Clone(train), "--set", "sample_similar=10", "--set", "sample_dissimilar=10", "--balance", "auto", "--set", "inference=icm", "--force")
		succeed(t, sampled...)
	}
	both := try(t, append([]string{"train", "docs.jsonl", "--pairs", "pairs.csv", "--tags", "tags", "--bits", "4", "--rounds", "3", "-o", "b.hgm"}, data...)...)
	if both.code != 0 || !strings.Contains(both.err, "pairs.csv") || !strings.Contains(both.err, "tags") {
		t.Errorf("pairs and tags: exit %d, %s", both.code, both.err)
	}
	o := try(t, append([]string{"train", "docs.jsonl", "--pairs", "contradiction.csv", "-o", "x.hgm"}, data...)...)
	if d := o.differs(1, "", "contradiction.csv", "line 3", "line 1"); d != "" {
		t.Error(d)
	}
	if out := succeed(t, "inspect", "docs.jsonl", "--vector", "v", "--id-column", "sku", "--tags", "tags"); !strings.Contains(out, "tags         7") {
		t.Errorf("inspect says\n%s", out)
	}
}
