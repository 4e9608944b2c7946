package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
		"hashgrove/internal/dataset/fashion":    "NOTICE",  // pictures
		"github.com/inconshreveable/mousetrap ": "LICENSE", // on Windows only
		"github.com/parquet-go/parquet-go ":     "LICENSE",
	} {
		at := slices.IndexFunc(parts, func(p part) bool { return strings.HasPrefix(p.name, name) })
		if at < 0 || parts[at].texts[want] == "" || !strings.Contains(all, parts[at].texts[want]) {
			t.Errorf("%s is not found", name)
		}
	}
}

// TestLicencesBelow finds those of a module and of what it contains of others, but no source code; of Go only what is linked.
func TestLicencesBelow(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{
		"LICENSE.md", "a/COPYING", "a/b/NOTICE.txt", "a/notice_response.go", "testdata/LICENSE", "README.md",
		"THIRD_PARTY_LICENSES/Sun-LICENSE", "src/vendor/x/LICENSE", "src/cmd/LICENSE",
	} {
		if err := writeFile(filepath.Join(top, name), []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := licences(top, false)
	ofGo, errOfGo := licences(top, true)
	if err != nil || errOfGo != nil || len(all) != 6 || all["a/b/NOTICE.txt"] != "a/b/NOTICE.txt\n" || len(ofGo) != 2 ||
		ofGo["src/vendor/x/LICENSE"] == "" {
		t.Errorf("found %v, %v; of Go %v, %v", all, err, ofGo, errOfGo)
	}
}
