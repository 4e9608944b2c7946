package method

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

var update = flag.Bool("update", false, "write the golden file of the digests anew")

// TestDigestsOnEveryMachine trains a small model with every method, from classes and from tags, and compares the SHA-256 of
// its file with the golden one: the bytes are the same on every kind of processor. make platforms runs it on others.
func TestDigestsOnEveryMachine(t *testing.T) {
	golden := filepath.Join("testdata", "digests.golden")
	want := map[string]string{}
	if file, err := os.ReadFile(golden); err == nil {
		for line := range strings.Lines(string(file)) {
			name, digest, _ := strings.Cut(strings.TrimSpace(line), "  ")
			want[name] = digest
		}
	}
	var b strings.Builder
	for _, name := range Names() {
		d, _ := Describe(name)
		for _, c := range []struct {
			title string
			src   vectors.Source
			pca   int
		}{
			{"classes", methodtest.Classed(3, 150, 11, 4), 0},
			{"tags", methodtest.Tagged(4, 120, 9, 5), 0},
			{"components", methodtest.Classed(5, 90, 30, 3), 8},
		} {
			if c.title == "tags" && !d.Supervised || c.title == "components" && name == FastHash {
				continue
			}
			t.Run(name+"/"+c.title, func(t *testing.T) {
				digest := digestOf(t, d.Name, c.src, c.pca)
				fmt.Fprintf(&b, "%s/%s  %s\n", name, c.title, digest)
				if was := want[name+"/"+c.title]; digest != was && !*update {
					t.Errorf("the digest is %s, and was %q", digest, was)
				}
			})
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// digestOf trains a method and returns the digest of the file of its model.
func digestOf(t *testing.T, name string, src vectors.Source, pca int) string {
	t.Helper()
	o := Options{Bits: 8, Seed: 9, Threads: 2, PCA: pca, Anchors: 25}
	o.FastHash.Trees.Rounds = 8
	m, err := New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	data, err := methodtest.Data(src)
	if err != nil {
		t.Fatal(err)
	}
	made, err := m.Train(context.Background(), data)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var b bytes.Buffer
	if err := model.Write(&b, made); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:])
}
