package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/message"
)

const root = "../.."

// TestPartsAreFound looks for parts that are easily forgotten, and for their texts in what users get.
func TestPartsAreFound(t *testing.T) {
	parts, err := linkedParts(root, []platform{"linux/amd64", "windows/amd64"})
	if err != nil {
		t.Fatal(err)
	}
	all := string(thirdParty(parts))
	for name, want := range map[string]string{
		"Go":                                    "LICENSE",
		"hashgrove/internal/dataset/fashion":    "internal/dataset/fashion/NOTICE", // pictures
		"github.com/inconshreveable/mousetrap ": "LICENSE",                         // on Windows only
		"github.com/parquet-go/parquet-go ":     "LICENSE",
	} {
		at := slices.IndexFunc(parts, func(p part) bool { return strings.HasPrefix(p.name, name) })
		if at < 0 || parts[at].texts[want] == "" || !strings.Contains(all, parts[at].texts[want]) {
			t.Errorf("%s is not found", name)
		}
	}
}

func TestPartsAreRefused(t *testing.T) {
	const gnu = "GNU General\n * Public License"
	for what, c := range map[string]struct {
		files map[string]string
		code  message.Code
		file  string
	}{
		"nothing":         {nil, "no-licence", ""},
		"only a notice":   {map[string]string{"NOTICE": "made by us"}, "no-licence", ""},
		"one of GNU":      {map[string]string{"COPYING": gnu}, "refused-licence", "COPYING"},
		"one of GNU more": {map[string]string{"LICENSE": "MIT", "NOTICE": gnu}, "refused-licence", "NOTICE"},
	} {
		p := part{"example.org/m v1.2.3", c.files}
		if d := message.Differs(p.check(), c.code, c.file, "example.org/m v1.2.3"); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	for _, text := range []string{"MIT", "Mozilla Public License Version 2.0 ... " + gnu} {
		if err := (part{"example.org/m", map[string]string{"a/LICENSE": text}}).check(); err != nil {
			t.Error(err)
		}
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
		if got[name] != name+"\n" {
			t.Errorf("%s has %q", name, got[name])
		}
	}
}
