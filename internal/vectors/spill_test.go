package vectors

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/message"
	"hashgrove/internal/testkit/needs"
)

// newSpill is a Spill in a folder that must stay empty, as its files have no names.
func newSpill(t *testing.T) *Spill {
	t.Helper()
	folder := t.TempDir()
	m := NewSpill(folder)
	if _, err := Alloc[uint8](m, 1<<16); errors.Is(err, ErrUnsupported) {
		needs.Skip(t, needs.Mapping, err)
	}
	t.Cleanup(func() {
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("files are left: %v, %v", left, err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestAlloc(t *testing.T) {
	m := newSpill(t)
	_, before := m.Sizes()
	const n = 100_003
	a, err := Alloc[int32](m, n)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Alloc[float64](m, n)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if a[i] != 0 || b[i] != 0 {
			t.Fatalf("value %d is not 0", i)
		}
		a[i], b[i] = int32(i), float64(-i)
	}
	for i := range n {
		if a[i] != int32(i) || b[i] != float64(-i) {
			t.Fatalf("value %d is %d, %v", i, a[i], b[i])
		}
	}
	if inside, mapped := m.Sizes(); inside != 0 || mapped != before+12*n {
		t.Errorf("%d bytes inside, %d in files", inside, mapped)
	}
	if err := Release(m, a); err != nil {
		t.Error(err)
	}
	if err := Release(m, make([]int32, n)); err != nil { // not of this Spill
		t.Error(err)
	}
	if c, err := Alloc[int32](m, 5); err != nil || len(c) != 5 {
		t.Errorf("a small array: %v, %v", c, err)
	}
	if c, err := Alloc[int32](nil, n); err != nil || len(c) != n {
		t.Errorf("an array in memory: %d, %v", len(c), err)
	}
}

// TestAllocHot takes what is granted, and no more.
func TestAllocHot(t *testing.T) {
	m := newSpill(t)
	_, before := m.Sizes()
	m.Allow(100_000)
	for range 3 {
		if s, err := AllocHot[int32](m, 10_000); err != nil || len(s) != 10_000 {
			t.Fatal(len(s), err)
		}
	}
	if inside, mapped := m.Sizes(); inside != 80_000 || mapped != before+40_000 {
		t.Errorf("%d bytes inside, %d in files", inside, mapped)
	}
}

func TestAllocFails(t *testing.T) {
	newSpill(t)
	missing := NewSpill(filepath.Join(t.TempDir(), "missing"))
	if _, err := Alloc[uint8](missing, 1<<16); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a folder that is not there: %v", err)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH == "386" || runtime.GOARCH == "arm" {
		t.Skip("here a disk would be filled to see whether it has room")
	}
	folder := t.TempDir()
	huge := uint64(1) << 55
	_, err := Alloc[uint8](NewSpill(folder), int(huge))
	if d := message.Differs(err, "no-room", folder, fmt.Sprint(huge/1e6)); d != "" {
		t.Errorf("more than any disk holds: %s", d)
	}
	q := Quantizer{Lo: make([]float32, 1<<20), Hi: slices.Repeat([]float32{1}, 1<<20)}
	_, err = QuantizeIn(t.Context(), NewSpill(folder), Matrix{Cols: 1 << 20}, int(huge), q, 1)
	if !message.Is(err, "too-many-values") {
		t.Errorf("more columns than addresses: %v", err)
	}
}

// TestAppend compares lists in memory and in files.
func TestAppend(t *testing.T) {
	m := newSpill(t)
	_, before := m.Sizes()
	for _, memory := range []*Spill{nil, m} {
		var list []uint64
		for i := range 20_000 {
			var err error
			if list, err = Append(memory, list, uint64(2*i), uint64(2*i+1)); err != nil {
				t.Fatal(err)
			}
		}
		for i, v := range list {
			if v != uint64(i) || len(list) != 40_000 {
				t.Fatalf("value %d of %d is %d", i, len(list), v)
			}
		}
	}
	if _, mapped := m.Sizes(); mapped > before+8*(65536+32768) {
		t.Errorf("%d bytes in files: lists that have moved are still there", mapped)
	}
}

func TestQuantizeIntoFiles(t *testing.T) {
	m := newSpill(t)
	x := Matrix{Rows: 5000, Cols: 70, Data: make([]float32, 5000*70)}
	for i := range x.Data {
		x.Data[i] = float32(i*7919%1009) / 7
	}
	r := NewRanges(x.Cols)
	r.Add(x)
	q, err := r.QuantizerBy(Hybrid)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	want, err := Quantize(ctx, x, x.Rows, q, 2)
	if err != nil {
		t.Fatal(err)
	}
	got, err := QuantizeIn(ctx, m, x, x.Rows, q, 2)
	if err != nil {
		t.Fatal(err)
	}
	for j := range x.Cols {
		if !slices.Equal(got.Column(j), want.Column(j)) {
			t.Errorf("column %d differs", j)
		}
	}
	if got.Spill() != m || want.Spill() != nil {
		t.Error("the columns do not know where they lie")
	}
	if _, err := QuantizeIn(ctx, m, x, x.Rows+1, q, 2); err == nil {
		t.Error("fewer rows than there were are not noticed")
	}
}
