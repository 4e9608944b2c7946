package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"hashgrove/internal/method"
	"hashgrove/internal/model"
)

// TestColumnsOfOtherUnits: kinds are told apart in grams, and a column of metres says nothing. Train says what it does
// about that, the model keeps it, and flags decide otherwise.
func TestColumnsOfOtherUnits(t *testing.T) {
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(1, 1))
	for name, rows := range map[string]int{"items.csv": 200, "new.csv": 60} {
		text := "grams,more,metres,kind\n"
		for i := range rows {
			text += fmt.Sprintf("%.5f,%.5f,%.1f,%c\n", 0.01*float64(i%2)+0.001*rng.NormFloat64(),
				-0.01*float64(i%2)+0.001*rng.NormFloat64(), 1000*rng.NormFloat64(), 'a'+rune(i%2))
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	found := map[string]float64{}
	for _, c := range []struct {
		flag        string
		said, asked bool // that columns are standardised, and because that was asked for, not for a factor
	}{{"", true, false}, {"auto", true, false}, {"on", true, true}, {"off", false, false}} {
		args := strings.Fields("train items.csv --label kind --method pca-itq --bits 3 -o m.hgm")
		if c.flag != "" {
			args = append(args, "--set", "standardize="+c.flag)
		}
		var r struct {
			Scale string `json:"scale"`
		}
		out := succeed(t, args...)
		if err := os.Remove("m.hgm"); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(succeed(t, append(args, "--json")...)), &r); err != nil {
			t.Fatal(err)
		}
		m, err := model.ReadFile("m.hgm")
		if err != nil {
			t.Fatal(err)
		}
		info := succeed(t, "info", "m.hgm")
		if m.Info.Scale != r.Scale || c.said != (r.Scale != "") || c.said && c.asked != (numbers(r.Scale) == nil) {
			t.Errorf("%q: the report says %q, the model %q", c.flag, r.Scale, m.Info.Scale)
		}
		if !strings.Contains(out, r.Scale) || !strings.Contains(info, r.Scale) {
			t.Errorf("%q: train says\n%sand info\n%s", c.flag, out, info)
		}
		var judged struct {
			MAP float64 `json:"map"`
		}
		out = succeed(t, strings.Fields("eval -m m.hgm --base items.csv --queries new.csv --label kind --json")...)
		if err := json.Unmarshal([]byte(out), &judged); err != nil {
			t.Fatal(err)
		}
		found[c.flag] = judged.MAP
		if err := os.Remove("m.hgm"); err != nil {
			t.Fatal(err)
		}
	}
	if found[""] != found["auto"] || found["on"] != found["auto"] || found["auto"] < found["off"]+0.2 {
		t.Errorf("MAP %v", found)
	}
	for flags, want := range map[string]string{
		"--method pca-itq --set standardize=sometimes": `2 - standard "sometimes" auto on off`,
		"--set standardize=on":                         "2 wrong-method standardize fasthash",
	} {
		if d := try(t, strings.Fields("train items.csv --label kind --bits 3 -o other.hgm "+flags)...).unlike(want); d != "" {
			t.Errorf("%s: %s", flags, d)
		}
	}
	o := try(t, strings.Fields("train items.csv --label kind --bits 64 --method pca-itq -o other.hgm")...)
	e, ok := errors.AsType[*method.BitsError](o.cause)
	if d := o.unlike("1 - 64 3"); d != "" || !ok || e.Asked != 64 || e.Most != 3 {
		t.Errorf("64 bits of 3 columns: %+v, %s", e, d)
	}
}
