package main

import (
	"strings"
	"testing"
)

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
