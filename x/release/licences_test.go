package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hashgrove/internal/fault"
)

var update = flag.Bool("update", false, "rewrite docs/licences.md")

const root = "../.."

// allParts are the parts of the real command on all platforms.
var allParts = sync.OnceValues(func() ([]part, error) { return linkedParts(root, platforms) })

func TestLicencesPage(t *testing.T) {
	parts, err := allParts()
	if err != nil {
		t.Fatal(err)
	}
	got := licencesPage(parts)
	page := filepath.Join(root, "docs", "licences.md")
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("docs/licences.md is not about the modules of today; write it with\n" +
			"go test ./x/release -run TestLicencesPage -update")
	}
}

// TestPartsAreFound looks for parts that are easily forgotten, and for their texts in what users get.
func TestPartsAreFound(t *testing.T) {
	parts, err := allParts()
	if err != nil {
		t.Fatal(err)
	}
	all := string(thirdParty(parts))
	for name, kinds := range map[string]string{
		standardLibrary:                        "BSD-3-Clause",
		"hashgrove/internal/fashion":           "MIT",                                 // pictures, by a NOTICE
		"github.com/inconshreveable/mousetrap": "Apache-2.0",                          // on Windows only
		"github.com/klauspost/compress":        "Apache-2.0 AND BSD-3-Clause AND MIT", // three in one file
		"github.com/parquet-go/parquet-go":     "Apache-2.0 AND MIT",                  // the second of a folder inside
	} {
		at := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
		if at < 0 {
			t.Errorf("%s is not found", name)
			continue
		}
		if got := parts[at].expression(); got != kinds {
			t.Errorf("%s is under %s, want %s", name, got, kinds)
		}
		if name == "github.com/inconshreveable/mousetrap" && len(parts[at].platforms) != 2 {
			t.Errorf("%s is on %v", name, parts[at].platforms)
		}
	}
	for _, p := range parts {
		if len(p.texts) == 0 {
			t.Errorf("%s has no text", p.name)
		}
		for _, text := range p.texts {
			if !strings.Contains(all, text.text) {
				t.Errorf("THIRD-PARTY.txt does not have %s of %s", text.name, p.name)
			}
		}
	}
}

// The beginnings and ends of licences, which the recogniser needs.
const (
	mitText = `Copyright (c) 2020 Someone
Permission is hereby granted, free of charge, to any person obtaining a copy of this, without restriction, including
rights. The above copyright notice and this permission notice shall be included in all copies. THE SOFTWARE IS PROVIDED
"AS IS", WITHOUT WARRANTY OF ANY KIND.`
	bsdText = `Redistribution and use in source and binary forms, with or without modification, are permitted
provided that: %NAME% EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.`
	mplText = `Mozilla Public License Version 2.0 ... 1.10. "Modifications" ... "Secondary License" means the GNU General
Public License, Version 2.0 ... 10.4. Distributing Source Code Form that is Incompatible`
	gnuText = "GNU General Public License"
)

func TestRecogniseKinds(t *testing.T) {
	for _, c := range []struct{ text, want, refused string }{
		{mitText, "MIT", ""},
		{strings.ReplaceAll(mitText, " ", "\n\t * "), "MIT", ""},
		{strings.ReplaceAll(mitText, "free of charge", "for a fee"), "", ""},
		{strings.ReplaceAll(bsdText, "%NAME%", ""), "BSD-2-Clause", ""},
		{strings.ReplaceAll(bsdText, "%NAME%", "Neither the name of"), "BSD-3-Clause", ""},
		{strings.ReplaceAll(bsdText, "%NAME%", "All advertising materials mentioning features"), "", "advertising"},
		{mitText + strings.ReplaceAll(bsdText, "%NAME%", ""), "BSD-2-Clause MIT", ""},
		{mplText, "MPL-2.0", ""},
		{"GNU GENERAL PUBLIC LICENSE\nVersion 3", "", "gnu general"},
		{mitText + "\nor the GNU Affero\nGeneral Public License", "", "affero"},
		{mitText + "\n\"Commons Clause\" License Condition v1.0", "", "commons clause"},
		{"All rights reserved.", "", ""},
		{"", "", ""},
	} {
		got, err := recogniseKinds(c.text)
		if c.refused != "" {
			if d := fault.Differs(err, "refused-licence", c.refused); d != "" {
				t.Errorf("%.60q: %v: %s", c.text, got, d)
			}
		} else if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%.60q: %v %v, want %s", c.text, got, err, c.want)
		}
	}
}

func TestPartsAreRefused(t *testing.T) {
	for what, c := range map[string]struct {
		files map[string]string
		code  fault.Code
		file  string
	}{
		"nothing":         {nil, "no-licence", ""},
		"only a notice":   {map[string]string{"NOTICE": "made by us"}, "no-licence", ""},
		"an unknown one":  {map[string]string{"LICENSE": mitText, "sub/LICENSE": "ask"}, "unknown-licence", "sub/LICENSE"},
		"one of GNU":      {map[string]string{"COPYING": gnuText}, "refused-licence", "COPYING"},
		"one of GNU more": {map[string]string{"LICENSE": mitText, "NOTICE": gnuText}, "refused-licence", "NOTICE"},
	} {
		p := part{name: "example.org/m", version: "v1.2.3"}
		if d := fault.Differs(p.judge(c.files), c.code, c.file, "example.org/m v1.2.3"); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	good := part{name: "example.org/m"}
	if err := good.judge(map[string]string{"LICENSE": mitText, "PATENTS": "none"}); err != nil || len(good.texts) != 2 ||
		!slices.Equal(good.copyright, []string{"Copyright (c) 2020 Someone"}) {
		t.Errorf("%v %+v", err, good)
	}
}

// TestLicencesOfFoldersAbove finds those of a package, of its module, and of a folder for others, but no source code.
func TestLicencesOfFoldersAbove(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{
		"LICENSE.md", "a/COPYING", "a/b/NOTICE.txt", "a/b/notice_response.go", "a/b/c/LICENSE", "z/LICENSE", "README.md",
		"THIRD_PARTY_LICENSES/Sun-LICENSE",
	} {
		if err := writeFile(filepath.Join(top, name), []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := licenceFiles(filepath.Join(top, "a", "b"), top)
	want := []string{"LICENSE.md", "a/COPYING", "a/b/NOTICE.txt", "THIRD_PARTY_LICENSES/Sun-LICENSE"}
	if err != nil || len(got) != len(want) {
		t.Errorf("found %v, %v", got, err)
	}
	for _, name := range want {
		if got[name] != name {
			t.Errorf("%s has %q", name, got[name])
		}
	}
}
