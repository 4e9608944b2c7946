package feature

import (
	"bytes"
	"encoding/binary"
	"testing"

	"hashgrove/internal/fault"
	"hashgrove/internal/section"
	"hashgrove/internal/testkit/budgettest"
)

// TestClaimsOfFeatureFiles: extractors of a few bytes that claim the largest sizes, in files with correct checksums.
func TestClaimsOfFeatureFiles(t *testing.T) {
	numbers := func(kind byte, values ...uint32) []byte {
		b := []byte{kind}
		for _, v := range values {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return b
	}
	claims := map[string][]byte{
		"pixels":   numbers(1, 1<<31, 1<<31, 3),
		"gist":     numbers(2, 1<<30, 1<<30, 1<<30, 1<<30),
		"scales":   numbers(2, 512, 16, 1<<30),
		"codebook": numbers(3, 16, 3, 1, 8, 2, 1, 0, 0, 1<<16),
		"words":    numbers(3, 16, 3, 1, 8, 2, 1, 0, 0, 1<<31),
		"scaled":   numbers(4, 16, 3, 1, 8, 2, 1, 0, 0, 1<<16),
	}
	tried := map[byte]bool{}
	for name, feat := range claims {
		tried[feat[0]] = true
		for version := uint32(1); version <= newestVersion; version++ {
			var b bytes.Buffer
			w := section.NewWriter(&b, section.Features, version)
			_ = w.Section("feat", feat)
			_ = w.Section("made", nil)
			if version > 1 {
				_ = w.Section("bins", nil)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			budgettest.Within(t, 16*budgettest.MiB, func() {
				if _, err := ReadSaved(&b); err == nil {
					t.Errorf("%s: it was read", name)
				}
			})
		}
	}
	for tag := byte(1); tag < 255; tag++ {
		if _, err := Parse([]byte{tag}); !fault.Is(err, "unknown-type") && !tried[tag] {
			t.Errorf("extractors of type %d have no budget", tag)
		}
	}
}

// TestCodebooksStayWithinTheirBudget reads a codebook of a few megabytes.
func TestCodebooksStayWithinTheirBudget(t *testing.T) {
	const words = 2048
	c := &Codebook{Patch: 16, Channels: 3, Stride: 1, Levels: 1, Contrast: 1,
		Filters: make([]float32, words*16*16*3), Bias: make([]float32, words)}
	var b bytes.Buffer
	if err := Write(&b, c); err != nil {
		t.Fatal(err)
	}
	budgettest.Within(t, 8*uint64(b.Len()), func() {
		if _, err := Read(bytes.NewReader(b.Bytes())); err != nil {
			t.Error(err)
		}
	})
}
