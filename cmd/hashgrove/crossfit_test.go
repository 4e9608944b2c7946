package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
)

// TestCrossFit: the codes beside the model go into an index for the rows they are of, in any order and among others.
func TestCrossFit(t *testing.T) {
	shop(t)                                     // 400 items, and new ones
	const paper = trainShop + "--effort paper " // a poor model, so that codes differ
	succeed(t, strings.Fields(paper+"--cross-fit 4 -o m.hgm")...)
	succeed(t, strings.Fields(paper+"-o plain.hgm")...)
	if !bytes.Equal(read(t, "m.hgm"), read(t, "plain.hgm")) {
		t.Error("cross-fitting changes the model")
	}
	file, err := hamming.ReadFile("m.crossfit.hgc")
	if err != nil || file.Codes.Len() != 380 || len(file.IDs[0]) != 32 { // 20 are held out
		t.Fatalf("%d codes with ids like %q, %v", file.Codes.Len(), file.IDs[0], err)
	}
	lines := strings.SplitAfter(string(read(t, "items.csv")), "\n")
	fresh := strings.SplitAfter(string(read(t, "new.csv")), "\n")
	write(t, "mixed.csv", lines[0]+fresh[1]+lines[7]+fresh[2]+strings.Join(lines[20:120], "")+lines[3])

	var r struct {
		Items       int  `json:"items"`
		CrossFitted *int `json:"cross_fitted"`
	}
	report := func(args string) (items int, crossFitted int) {
		t.Helper()
		r.CrossFitted = nil
		if err := json.Unmarshal([]byte(succeed(t, strings.Fields(args+" --json")...)), &r); err != nil || r.CrossFitted == nil {
			t.Fatalf("%s: %v", args, err)
		}
		return r.Items, *r.CrossFitted
	}
	const data = " --label category --id-column sku"
	items, used := report("index build items.csv -m m.hgm --cross-fit m.crossfit.hgc -o all.hgi" + data)
	if items != 400 || used != 380 {
		t.Errorf("%d of %d items are cross-fitted", used, items)
	}
	items, used = report("index build mixed.csv -m m.hgm --cross-fit m.crossfit.hgc -o mixed.hgi" + data)
	if items != 104 || used < 80 || used > 102 {
		t.Errorf("%d of %d items are cross-fitted", used, items)
	}
	if _, again := report("index add mixed.hgi items.csv --upsert --cross-fit m.crossfit.hgc" + data); again != 380 {
		t.Errorf("%d of 400 added items are cross-fitted", again)
	}
	// An item of both indexes has one code; items.csv has learned items whose own code is another.
	succeed(t, strings.Fields("index build items.csv -m m.hgm -o own.hgi"+data)...)
	different := 0
	for _, id := range []string{"items-2", "items-6", "items-30", "items-50", "items-70", "items-90", "items-110"} {
		get := func(index string) string { return succeed(t, "index", "get", index, "--id", id) }
		if a, b := get("all.hgi"), get("mixed.hgi"); a != b {
			t.Errorf("%s is\n%s in one index and\n%s in the other", id, a, b)
		} else if a != get("own.hgi") {
			different++
		}
	}
	if different == 0 {
		t.Error("cross-fitted codes are those of the model")
	}
	out := succeed(t, strings.Fields("index build items.csv -m m.hgm --cross-fit m.crossfit.hgc -o text.hgi"+data)...)
	if lacks(out, "text.hgi 400 380 20") != "" {
		t.Errorf("index build says\n%s", out)
	}
}

// TestCrossFitResumesByteForByte interrupts a training by a time limit.
func TestCrossFitResumesByteForByte(t *testing.T) {
	shop(t)
	long := strings.Replace(trainShop, "--bits 8", "--bits 24", 1) + "--cross-fit 3 "
	succeed(t, strings.Fields(long+"-o whole.hgm")...)
	succeed(t, strings.Fields(long+"--time-limit 1ns -o cut.hgm")...) // one bit
	succeed(t, strings.Fields(long+"--resume -o cut.hgm")...)
	for _, name := range []string{".hgm", ".crossfit.hgc"} {
		if !bytes.Equal(read(t, "cut"+name), read(t, "whole"+name)) {
			t.Errorf("%s: resuming gives another file", name)
		}
	}
}

func TestCrossFitRefusals(t *testing.T) {
	shop(t)
	succeed(t, strings.Fields(trainShop+"--cross-fit 2 -o m.hgm")...)
	succeed(t, strings.Fields(trainShop+"--seed 2 --cross-fit 2 -o other.hgm")...)
	succeed(t, strings.Fields("encode items.csv --id-column sku --label category -m m.hgm -o items.hgc")...)
	const build = "index build items.csv --label category --id-column sku -m m.hgm -o x.hgi --cross-fit "
	model := fingerprint(t, "m.hgm")
	for _, r := range []refusal{
		{trainShop + "--cross-fit 1 -o x.hgm", 2, "bad-flag-value", "--cross-fit 2 20"},
		{trainShop + "--cross-fit 21 -o x.hgm", 2, "bad-flag-value", "--cross-fit 2 20"},
		{"train items.csv --label category --id-column sku --cross-fit 2 --method lsh -o x.hgm", 2, "wrong-method", "--cross-fit lsh"},
		{trainShop + "--cross-fit 2 --grow m.hgm --bits 12 -o x.hgm", 2, "conflicting-flags", "--cross-fit --grow"},
		{build + "other.crossfit.hgc", 1, nil, "other.crossfit.hgc " + model + " " + fingerprint(t, "other.hgm")},
		{build + "items.hgc", 1, nil, `items.hgc "items-0"`},
		{build + "items.csv", 1, nil, "items.csv"},
		{build + "missing.hgc", 1, fs.ErrNotExist, "missing.hgc"},
		{"index build items.hgc -m m.hgm -o x.hgi --cross-fit m.crossfit.hgc", 2, "needs-vectors", "--cross-fit"},
	} {
		r.try(t)
	}
	o := try(t, strings.Fields(strings.Replace(build, "items.csv", "new.csv", 1)+"m.crossfit.hgc --json")...)
	if o.code != 0 || !strings.Contains(o.err, "warning: ") || !strings.Contains(o.out, `"cross_fitted": 0`) {
		t.Errorf("exit %d, %s", o.code, o.err)
	}
}
