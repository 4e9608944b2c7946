package dataset

import (
	"encoding/binary"
	"strings"
	"testing"
)

func idxOf(code byte, data string, axes ...uint32) string {
	return string([]byte{0, 0, code, byte(len(axes))}) + packed(binary.BigEndian, axes) + data
}

func TestIDX(t *testing.T) {
	big := binary.BigEndian
	runCases(t, []formatCase{
		{"bytes", "a", idxOf(8, "\x01\x02\x03\xff", 2, 1, 2), Spec{}, "idx 2x2; 1 2; 3 255"},
		{"signed", "a", idxOf(9, "\x01\xff", 1, 2), Spec{}, "idx 1x2; 1 -1"},
		{"int16", "a", idxOf(0xb, packed(big, []int16{1, -2}), 1, 2), Spec{}, "idx 1x2; 1 -2"},
		{"int32", "a", idxOf(0xc, packed(big, []int32{1, -2}), 1, 2), Spec{}, "idx 1x2; 1 -2"},
		{"float32", "a", idxOf(0xd, packed(big, []float32{1, -2.5}), 1, 2), Spec{}, "idx 1x2; 1 -2.5"},
		{"float64", "a", idxOf(0xe, packed(big, []float64{1, -2.5, 1e300, 0}), 2, 2), Spec{}, "idx 2x2; 1 -2.5; bad: out-of-range at:a:2:1 float32"},
		{"one axis", "a", idxOf(8, "\x01\x02", 2), Spec{}, "idx 2x1; 1; 2"},
		{"cut off", "a-idx2-ubyte", idxOf(8, "\x01\x02\x03", 2, 2), Spec{}, "error: cut-off a-idx2-ubyte 1 2"},
		{"too long", "a-idx2-ubyte", idxOf(8, "\x01\x02\x03\x04\x05", 2, 2), Spec{}, "error: trailing-bytes a-idx2-ubyte 1 2"},
		{"type", "a-idx2-ubyte", idxOf(7, "\x01", 1, 1), Spec{}, "error: unknown-type a-idx2-ubyte 0x07"},
		{"huge", "a-idx2-ubyte", idxOf(8, "\x01", 1, 1<<31, 1<<31), Spec{}, "error: row-too-long a-idx2-ubyte 16777216"},
	})
	for _, c := range []struct{ pictures, labels, content, want string }{
		{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", idxOf(8, "\x07\x09", 2), "idx 2x1; 1 label 7; 2 label 9"},
		{"t10k-images.idx3-ubyte", "t10k-labels.idx1-ubyte.gz", gzipped(idxOf(8, "\x07\x09", 2)), "idx 2x1; 1 label 7; 2 label 9"},
		{"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte", idxOf(8, "\x07\x09", 2), "idx 2x1; 1 label 7; 2 label 9"},
		{"train-images-idx3-ubyte", "other-labels-idx1-ubyte", idxOf(8, "\x07\x09", 2), "idx 2x1; 1; 2"},
		{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", idxOf(8, "\x07", 1), "error: wrong-count train-labels-idx1-ubyte: 1 2 train-images-idx3-ubyte"},
	} {
		dir := t.TempDir()
		content := idxOf(8, "\x01\x02", 2, 1, 1)
		if strings.HasSuffix(c.pictures, ".gz") {
			content = gzipped(content)
		}
		path := fileOf(t, dir, c.pictures, content)
		fileOf(t, dir, c.labels, c.content)
		checkDump(t, path, "", Spec{}, c.want)
	}
}

func TestCIFAR(t *testing.T) {
	pixels := strings.Repeat("\x05", 3072)
	row := strings.Repeat("5 ", 3071) + "5"
	ten := "\x00" + pixels + "\x09" + pixels
	hundred := "\x13\x00" + pixels + "\x00\x63" + pixels
	runCases(t, []formatCase{
		{"10", "a", ten, Spec{}, "cifar10 2x3072; " + row + " label 0; " + row + " label 9"},
		{"100", "a", hundred, Spec{}, "cifar100 2x3072; " + row + " label 0; " + row + " label 99"},
		{"coarse", "a", hundred, Spec{Label: "coarse"}, "cifar100 2x3072; " + row + " label 19; " + row + " label 0"},
		{"no such label", "a", ten, Spec{Label: "coarse"}, `error: no-such-column a: "coarse" cifar10`},
	})
	dir := t.TempDir()
	fileOf(t, dir, "batches.meta.txt", "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n")
	checkDump(t, fileOf(t, dir, "a", ten), "", Spec{}, "cifar10 2x3072; "+row+" label airplane; "+row+" label truck")
	checkDump(t, fileOf(t, dir, "a", "\x0a"+pixels), "cifar10", Spec{}, "cifar10 1x3072; bad: unknown-class at:a:1:label 10")
	checkDump(t, fileOf(t, dir, "a", ten[:5000]), "cifar10", Spec{}, "error: cut-off a: cifar10 1 3073 1927")
	fileOf(t, dir, "batches.meta.txt", "airplane\n")
	checkDump(t, fileOf(t, dir, "a", ten), "", Spec{}, "error: wrong-count batches.meta.txt: 1 10")
}

func TestVecs(t *testing.T) {
	two := "\x02\x00\x00\x00"
	runCases(t, []formatCase{
		{"other length", "a.fvecs", two + float32s(1, 2) + "\x03\x00\x00\x00" + float32s(1, 2), Spec{}, "fvecs 2x2; 1 2; error: wrong-dim a.fvecs 2 3 2"},
		{"left over", "a.fvecs", two + float32s(1, 2) + two, Spec{}, "error: cut-off a.fvecs fvecs 1 12 4"},
		{"no length", "a.bvecs", "\x00\x00\x00\x00", Spec{}, "error: bad-length a.bvecs 0 bvecs"},
		{"negative", "a.bvecs", "\xff\xff\xff\xff", Spec{}, "error: bad-length a.bvecs -1 bvecs"},
		{"short", "a.bvecs", "\xff", Spec{}, "error: cut-off a.bvecs bvecs"},
		{"cut off in gzip", "a.fvecs.gz", gzipped(two + float32s(1, 2) + two + float32s(1)), Spec{}, "fvecs -1x2; 1 2; error: cut-off a.fvecs.gz 1"},
	})
}
