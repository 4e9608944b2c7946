package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"hashgrove/internal/dataset"
)

// TestMissingValues: a model that was trained with --missing takes them everywhere, and uses that they are missing.
// Other models refuse them, and so does whatever compares vectors by distance.
func TestMissingValues(t *testing.T) {
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(1, 2))
	table := func(name string, rows int, absent bool) {
		text := "id,size,weight,noise,kind\n"
		for i := range rows {
			// Kinds 0 and 1 differ in size; kind 2 is known by its missing weight alone.
			kind := i % 3
			size, weight := fmt.Sprintf("%.4f", float64(kind%2)+0.1*rng.NormFloat64()), fmt.Sprintf("%.4f", rng.NormFloat64())
			if kind == 2 {
				weight = []string{"", "NaN", "NA"}[rng.IntN(3)]
			}
			if !absent && kind == 2 {
				weight = "7"
			}
			text += fmt.Sprintf("%s%d,%s,%s,%.4f,k%d\n", name[:1], i, size, weight, rng.NormFloat64(), kind)
		}
		write(t, name, text)
	}
	table("items.csv", 300, true)
	table("new.csv", 90, true)
	table("whole.csv", 300, false)
	const flags = " --label kind --id-column id"
	succeed(t, strings.Fields("train items.csv --missing --bits 16 --rounds 20 -o m.hgm --json"+flags)...)
	succeed(t, strings.Fields("train whole.csv --bits 16 --rounds 20 -o whole.hgm"+flags)...)
	var judged struct {
		MAP float64 `json:"map"`
	}
	out := succeed(t, strings.Fields("eval -m m.hgm --base items.csv --queries new.csv --json"+flags)...)
	if err := json.Unmarshal([]byte(out), &judged); err != nil || judged.MAP < 0.99 {
		t.Errorf("MAP %v, %v", judged.MAP, err)
	}
	// Columns that the model adds take the mean for what is missing.
	succeed(t, strings.Fields("train items.csv --missing --set linear_columns=linear --bits 16 --rounds 20 -o wide.hgm"+flags)...)
	if out := succeed(t, "info", "wide.hgm"); !strings.Contains(out, "score for k0") {
		t.Errorf("the model has no linear columns:\n%s", out)
	}
	out = succeed(t, strings.Fields("eval -m wide.hgm --base items.csv --queries new.csv --rank margins --json"+flags)...)
	if err := json.Unmarshal([]byte(out), &judged); err != nil || judged.MAP < 0.99 {
		t.Errorf("with linear columns MAP is %v, %v", judged.MAP, err)
	}
	succeed(t, strings.Fields("encode -m m.hgm new.csv -o new.hgc"+flags)...)
	succeed(t, strings.Fields("index build items.csv -m m.hgm -o items.hgi"+flags)...)
	if out := succeed(t, strings.Fields("search items.hgi new.csv -k 3 --rank margins --json"+flags)...); !strings.Contains(out, "k2") {
		t.Errorf("search finds %s", out)
	}
	succeed(t, strings.Fields("train items.csv --bits 20 --rounds 20 --grow m.hgm -o longer.hgm"+flags)...)
	write(t, "row.jsonl", `{"id":"q","size":1.0,"weight":null,"noise":0.5}`+"\n")
	succeed(t, strings.Fields("encode -m m.hgm row.jsonl --id-column id -o - --to hex")...)
	write(t, "inf.csv", "id,size,weight,noise,kind\na,1,inf,2,k0\n")
	absent := &dataset.RowError{File: "items.csv", Row: 2, Column: "weight", Missing: true}
	for _, c := range []struct {
		args, want string
		bad        *dataset.RowError // the row to blame, or nil
	}{
		{"train items.csv --bits 8 --rounds 5 -o x.hgm", "1 - --skip-bad --missing", absent},
		{"encode -m whole.hgm items.csv -o x.hgc", "1 - --skip-bad --missing", absent},
		{"encode -m m.hgm inf.csv -o x.hgc", "1 - --skip-bad", &dataset.RowError{File: "inf.csv", Column: "weight"}},
		{"train items.csv --missing --method lsh --bits 8 -o x.hgm", "1 - FastHash PCA", nil},
		{"train items.csv --missing --learner linear --bits 8 -o x.hgm", "1 - hyperplanes trees", nil},
		{"train items.csv --missing --bits 20 --grow whole.hgm -o x.hgm", "2 missing-values --missing", nil},
		{"eval -m m.hgm --base items.csv --queries new.csv --neighbours cosine",
			"2 missing-values --neighbours cosine none", nil},
		{"search items.hgi new.csv --rerank items.csv --id-column id", "1 - --rerank", nil},
	} {
		o := try(t, strings.Fields(c.args+flags)...)
		if d := o.unlike(c.want); d != "" || strings.Contains(o.err, "goroutine") {
			t.Errorf("hashgrove %s: %s\n%s", c.args, d, o.err)
		}
		bad, ok := errors.AsType[*dataset.RowError](o.cause)
		if ok != (c.bad != nil) || ok && (!o.badRow(c.bad.File, c.bad.Row, c.bad.Column) || bad.Missing != c.bad.Missing) {
			t.Errorf("hashgrove %s blames %+v: %s", c.args, bad, o.err)
		}
		if _, err := os.Stat("x.hgm"); err == nil {
			t.Errorf("hashgrove %s left a model", c.args)
		}
	}
}
