package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"hashgrove/internal/feature"
)

// TestBytesOfFeaturesAgree: the bytes of a picture are the same in the file of all pictures, whose ranges were kept, and
// in a file of a few of them.
func TestBytesOfFeaturesAgree(t *testing.T) {
	t.Chdir(t.TempDir())
	photoFolder(t, "photos", 1)
	for _, kind := range []string{"gist", "codebook --words 6 --patch 4 --patches 300 --iterations 2", "pixels"} {
		succeed(t, shellWords("features photos --kind "+kind+" --size 12 --type uint8 --save e.hgf --force -o all.npy")...)
		succeed(t, shellWords("features photos/bright --use e.hgf --size 12 --type uint8 --force -o some.npy")...)
		all, some := read(t, "all.npy"), read(t, "some.npy")
		const head = 128
		if n := len(some) - head; n < 20*36 || !bytes.Equal(some[head:], all[head:][:n]) { // bright comes first
			t.Errorf("%s: the bytes of 20 pictures are others than among 40", kind)
		}
	}
}

// TestRangesOfBytesAreKept says when they are, and what happens without.
func TestRangesOfBytesAreKept(t *testing.T) {
	t.Chdir(t.TempDir())
	photoFolder(t, "photos", 1)
	const words = "features photos --kind codebook --words 6 --patch 4 --patches 300 --iterations 2 --size 12 "
	succeed(t, shellWords(words+"--save float.hgf -o float.npy")...)
	const bytesOf = "features photos --size 12 --type uint8 --force -o bytes.npy "
	refusal{bytesOf + "--use float.hgf", 1, "no-ranges", "float.hgf float32 uint8 --save"}.try(t)
	succeed(t, shellWords(bytesOf+"--use float.hgf --save ranges.hgf")...)
	succeed(t, shellWords(bytesOf+"--use ranges.hgf --save again.hgf")...)
	if !bytes.Equal(read(t, "ranges.hgf"), read(t, "again.hgf")) {
		t.Error("ranges change when they are saved again")
	}
	saved, err := feature.ReadSavedFile("ranges.hgf")
	if err != nil || saved.Bins.Dim() != saved.Extractor.Dim() {
		t.Fatalf("bins of %d columns (%v)", saved.Bins.Dim(), err)
	}
	plain, err := feature.ReadFile("float.hgf")
	if err != nil || feature.Fingerprint(plain) != feature.Fingerprint(saved.Extractor) {
		t.Errorf("the ranges changed the extractor (%v)", err)
	}
	if o := try(t, shellWords("features photos --kind gist --size 12 --type uint8 -o gist.npy")...); o.code != 0 ||
		!strings.Contains(o.err, "--save") {
		t.Errorf("bytes whose ranges are lost: exit %d, %s", o.code, o.err)
	}
	if _, err := os.Stat("gist.npy"); err != nil {
		t.Error(err)
	}
}
