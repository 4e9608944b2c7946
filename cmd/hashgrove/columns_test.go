package main

import (
	"strings"
	"testing"
)

// TestTagsAreObeyed: tags count even if the data have classes, and both at once are a mistake.
func TestTagsAreObeyed(t *testing.T) {
	shop(t)
	var tags strings.Builder
	rows := strings.Split(strings.TrimSpace(string(read(t, "items.csv"))), "\n")[1:]
	for i := range rows {
		tags.WriteString([]string{"a,b,c", "a,b", "d,e", "d,e,f"}[i%4] + "\n")
	}
	write(t, "tags.txt", tags.String())
	from := func(args string) string {
		succeed(t, shellWords("train "+args+" --bits 4 --rounds 3 --force -o t.hgm")...)
		info := succeed(t, "info", "t.hgm")
		for _, kind := range []string{"tags", "classes"} {
			if strings.Contains(info, `"from":"`+kind+`"`) {
				return kind
			}
		}
		return info
	}
	for args, want := range map[string]string{
		"items.csv --id-column sku --tags tags.txt": "tags", "items.csv --id-column sku --label category": "classes",
	} {
		if got := from(args); got != want {
			t.Errorf("%s learns from %s, not %s", args, got, want)
		}
	}
	for _, args := range []string{
		"train items.csv --labels tags.txt --tags tags.txt -o x.hgm", "train items.csv --label category --tags tags.txt -o x.hgm",
		"inspect items.csv --label category --tags tags.txt", "compare items.csv --label category --tags tags.txt",
	} {
		refusal{args, 2, "conflicting-flags", "--tags --label --labels"}.try(t)
	}
}

// TestModelRemembersColumns: what training was told about columns need not be said again.
func TestModelRemembersColumns(t *testing.T) {
	shop(t)
	table := string(read(t, "items.csv"))
	var wide strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(table), "\n") {
		extra := "42"
		if i == 0 {
			extra = "price"
		}
		wide.WriteString(extra + "," + line + "," + extra + "\n")
	}
	write(t, "wide.csv", strings.Replace(wide.String(), "f11,price", "f11,stock", 1))
	o := try(t, shellWords("train wide.csv --vector f* --label category --bits 8 --rounds 5 -o m.hgm")...)
	if o.code != 0 || lacks(o.err, "f0..f11 12 price, sku, stock") != "" {
		t.Fatalf("exit %d, %s", o.code, o.err)
	}
	o = try(t, shellWords("compare wide.csv --vector f* --label category --methods lsh --bits 4 --unseen -1")...)
	if o.code != 0 || lacks(o.err, "f0..f11 12 price, sku, stock") != "" {
		t.Errorf("compare: exit %d, %s", o.code, o.err)
	}
	out := succeed(t, shellWords("inspect wide.csv --vector f2..f4,price --label category")...)
	if !strings.Contains(out, " f2..f4, price (4 ") || !strings.Contains(out, " sku, f0, f1, f5..f11, stock\n") {
		t.Error(out)
	}
	if out := succeed(t, "info", "m.hgm"); lacks(out, "f0..f11 category") != "" {
		t.Error(out)
	}
	if a, b := hexCodes(t, "-m m.hgm wide.csv"), hexCodes(t, "-m m.hgm items.csv"); strings.Join(a, "") != strings.Join(b, "") {
		t.Error("other codes of the same columns in another table")
	}
	want := succeed(t, shellWords("eval -m m.hgm --base items.csv --queries new.csv --label category --json")...)
	got := succeed(t, shellWords("eval -m m.hgm --base wide.csv --queries new.csv --json")...)
	if got != want {
		t.Errorf("eval without --label: %s\nwith it: %s", got, want)
	}
	succeed(t, shellWords("index build wide.csv --id-column sku -m m.hgm -o w.hgi")...)
	succeed(t, shellWords("search w.hgi wide.csv --row 0")...)
	refusal{"encode wide.csv --vector price,stock -m m.hgm --to hex -o -", 1, "columns-mismatch",
		"wide.csv f0..f11 price, stock --vector"}.try(t)
}
