package par

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

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

// given returns how much of a plain mapping the kernel puts on huge pages when asked: little where huge pages are switched
// off, and anywhere while free memory is scattered.
func given(t *testing.T, size int) int {
	before := largeBytes(t)
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		needs.Skip(t, needs.Mapping, err)
	}
	defer unix.Munmap(b)
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	for i := 0; i < size; i += 4096 {
		b[i] = 1
	}
	_ = unix.Madvise(b, unix.MADV_COLLAPSE)
	return largeBytes(t) - before
}

func TestArraysLieOnLargePages(t *testing.T) {
	const size = 64 << 20
	var keep [][]uint64 // keeps memory from being reused
	for name, made := range map[string]func() []uint64{
		"made": func() []uint64 {
			s := MakeLarge[uint64](size / 8)
			fill(s)
			return s
		},
		"collected": func() []uint64 {
			s := make([]uint64, size/8)
			fill(s)
			OnLargePages(s)
			return s
		},
	} {
		before := largeBytes(t)
		s := made()
		if more := largeBytes(t) - before; more < size/8 {
			if plain := given(t, size); plain < size/2 {
				needs.Skip(t, needs.HugePages, "the kernel gives only", plain, "of", size, "bytes to a plain mapping that asks")
			}
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
