package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"hashgrove/internal/compare"
	"hashgrove/internal/fasthash"
	"hashgrove/internal/model"
)

// TestColumnsGoByName: a file with the model's columns in another order, with others between them or under other names
// must not be encoded as if nothing had happened.
func TestColumnsGoByName(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name string, line func(a, b, c string) string) {
		rows := []string{line("alpha", "beta", "gamma")}
		for i := range 60 {
			v := []string{"1", "1", "1"}
			v[i%3] = strings.Repeat("9", 1+i%2)
			rows = append(rows, line(v[0], v[1], v[2]))
		}
		if err := os.WriteFile(name, []byte(strings.Join(rows, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("train.csv", func(a, b, c string) string { return a + "," + b + "," + c })
	write("other.csv", func(a, b, c string) string { return c + "," + a + "," + b })
	write("more.csv", func(a, b, c string) string {
		extra := "5"
		if a == "alpha" {
			extra = "price"
		}
		return c + "," + extra + "," + a + "," + b
	})
	write("renamed.csv", func(a, b, c string) string { return strings.Replace(a, "alpha", "delta", 1) + "," + b + "," + c })
	write("bare.csv", func(a, b, c string) string {
		if a == "alpha" {
			a, b, c = "1", "1", "9"
		}
		return a + "," + b + "," + c
	})
	labels := strings.Repeat("x\ny\nz\n", 20)
	if err := os.WriteFile("labels.txt", []byte(labels), 0o666); err != nil {
		t.Fatal(err)
	}
	succeed(t, strings.Fields("train train.csv --labels labels.txt --bits 8 --rounds 10 -o m.hgm")...)
	codes := func(name string) string {
		return succeed(t, "encode", "-m", "m.hgm", name, "--to", "hex", "-o", "-")
	}
	want := codes("train.csv")
	for _, name := range []string{"other.csv", "more.csv"} {
		if got := codes(name); got != want {
			t.Errorf("%s has other codes than the same rows in the model's order", name)
		}
	}
	other := try(t, strings.Fields("encode -m m.hgm renamed.csv --to hex -o -")...)
	if d := other.unlike(`1 - renamed.csv "alpha" delta`); d != "" {
		t.Errorf("other names: %s", d)
	}
	if got := strings.Count(codes("bare.csv"), "\n"); got != 61 { // without names the order must be right
		t.Errorf("%d codes of a file without names", got)
	}
	// Several files are one data set, by name.
	twice := strings.Repeat(labels, 2)
	if err := os.WriteFile("twice.txt", []byte(twice), 0o666); err != nil {
		t.Fatal(err)
	}
	write("same.csv", func(a, b, c string) string { return a + "," + b + "," + c })
	const train = " --labels twice.txt --bits 8 --rounds 10 -o "
	succeed(t, strings.Fields("train train.csv same.csv"+train+"same.hgm")...)
	for _, name := range []string{"other", "more"} {
		succeed(t, strings.Fields("train train.csv "+name+".csv"+train+name+".hgm")...)
		if a, b := read(t, "same.hgm"), read(t, name+".hgm"); string(a) != string(b) {
			t.Errorf("%s.csv has the same columns in another order and gives another model", name)
		}
	}
	other = try(t, strings.Fields("train train.csv renamed.csv"+train+"x.hgm")...)
	if d := other.unlike("1 - renamed.csv alpha train.csv"); d != "" {
		t.Errorf("two files with other columns: %s", d)
	}
	// A model that grows keeps the order of its columns.
	succeed(t, strings.Fields("train train.csv --labels labels.txt --bits 12 --rounds 10 --grow m.hgm -o long.hgm")...)
	succeed(t, strings.Fields("train other.csv --labels labels.txt --bits 12 --rounds 10 --grow m.hgm -o long2.hgm")...)
	if string(read(t, "long.hgm")) != string(read(t, "long2.hgm")) {
		t.Error("a model that grew from a file with another order of columns is another one")
	}
	floatMAP := map[string]string{}
	for _, queries := range []string{"train.csv", "other.csv", "more.csv"} {
		out := succeed(t, strings.Fields("compare train.csv --labels labels.txt --queries-labels labels.txt "+
			"--methods lsh --bits 8 --unseen -1 --json --queries "+queries)...)
		var r compare.Result
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		floatMAP[queries] = fmt.Sprint(r.Find("float-euclidean", 0).MAP)
	}
	if want := floatMAP["train.csv"]; want == "" || floatMAP["other.csv"] != want || floatMAP["more.csv"] != want {
		t.Errorf("queries with columns in another order: float MAP %v", floatMAP)
	}
	other = try(t, strings.Fields("compare train.csv --labels labels.txt --queries-labels labels.txt --methods lsh "+
		"--bits 8 --queries renamed.csv")...)
	if d := other.unlike("1 columns-mismatch renamed.csv train.csv alpha"); d != "" {
		t.Errorf("queries with other columns: %s", d)
	}
}

// TestNoCandidatesMeansOne: 0 candidate bits are one, as ever, and not those of the effort.
func TestNoCandidatesMeansOne(t *testing.T) {
	shop(t)
	for flag, want := range map[string]int{"": 6, "--set candidate_bits=1 ": 1, "--set candidate_bits=3 ": 3} {
		succeed(t, strings.Fields(trainShop+flag+"--force -o m.hgm")...)
		m, err := model.ReadFile("m.hgm")
		if err != nil {
			t.Fatal(err)
		}
		var o fasthash.Options
		if err := json.Unmarshal(m.Info.Runs[0].Options, &o); err != nil || o.Candidates != want {
			t.Errorf("%q: %d candidates, %v", flag, o.Candidates, err)
		}
	}
}

// TestZerosAreRefused: 0 bits, trees or levels are no request for the default.
func TestZerosAreRefused(t *testing.T) {
	shop(t)
	for _, flag := range []string{"bits", "rounds", "depth", "seed"} {
		o := try(t, "train", "items.csv", "--label", "category", "-o", "zero.hgm", "--"+flag, "0")
		if d := o.differs(2, "bad-flag-value", "--"+flag+" 0"); d != "" {
			t.Errorf("--%s 0: %s", flag, d)
		}
	}
	for _, args := range []string{"demo --bits 0", "compare items.csv --label category --rounds 0", "compare items.csv --label category --bits 0",
		"encode items.csv -m m.hgm --to json -o -"} {
		if o := try(t, strings.Fields(args)...); o.code != 2 {
			t.Errorf("%s: exit %d, %s", args, o.code, o.err)
		}
	}
	for set, want := range map[string]string{"trim=0": "trim=0 number", "trim=-0": "number", "rows=many": "rows=many whole",
		"trimm=1": `"trimm" trim?`, "trim": `"trim" NAME=VALUE`} {
		o := try(t, "train", "items.csv", "--label", "category", "-o", "zero.hgm", "--set", set)
		if d := o.differs(2, "bad-flag-value", want); d != "" {
			t.Errorf("--set %s: %s", set, d)
		}
	}
	t.Setenv("HASHGROVE_DEPTH", "0")
	if o := try(t, strings.Fields("train items.csv --label category -o zero.hgm")...); o.code != 2 {
		t.Errorf("depth 0 in the environment: exit %d, %s", o.code, o.err)
	}
}
