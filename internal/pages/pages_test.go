package pages

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"hashgrove/internal/testkit/needs"
)

// largeBytes returns the memory of this process on huge pages.
func largeBytes(t *testing.T) int {
	b, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		needs.Skip(t, needs.Proc, err)
	}
	for line := range strings.Lines(string(b)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "AnonHugePages:" {
			n, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	needs.Skip(t, needs.Proc, "the system does not say what lies on large pages")
	return 0
}

// mayAsk skips the test if the system has no huge pages on request.
func mayAsk(t *testing.T) {
	b, _ := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if !strings.Contains(string(b), "[madvise]") {
		needs.Skip(t, needs.HugePages, "no large pages on request here")
	}
}

func TestArraysLieOnLargePages(t *testing.T) {
	mayAsk(t)
	const size = 64 << 20
	var keep [][]uint64 // keeps memory from being reused
	for name, made := range map[string]func() []uint64{
		"made": func() []uint64 {
			s := Make[uint64](size / 8)
			fill(s)
			return s
		},
		"collected": func() []uint64 {
			s := make([]uint64, size/8)
			fill(s)
			Collect(s)
			return s
		},
	} {
		before := largeBytes(t)
		s := made()
		if more := largeBytes(t) - before; more < size/8 {
			t.Errorf("%s: only %d of %d bytes lie on large pages", name, more, size)
		}
		for i, v := range s {
			if v != uint64(i) {
				t.Fatalf("%s: value %d is %d", name, i, v)
			}
		}
		keep = append(keep, s)
	}
	runtime.KeepAlive(keep)
}

func fill(s []uint64) {
	for i := range s {
		s[i] = uint64(i)
	}
}

// TestAnySize takes arrays of any size and type, at any place.
func TestAnySize(t *testing.T) {
	for _, n := range []int{0, 1, 1000, pageSize - 1, pageSize, 2*pageSize - 1, 2 * pageSize, 5*pageSize + 3} {
		s := Make[[3]byte](n)
		if len(s) != n {
			t.Errorf("%d values instead of %d", len(s), n)
		}
		for i := range s {
			s[i][2] = byte(i)
		}
		Collect(s[min(n, 7):])
		for i := range s {
			if s[i] != [3]byte{2: byte(i)} {
				t.Fatalf("value %d of %d is %v", i, n, s[i])
			}
		}
	}
}
