//go:build unix

package main

import (
	"io"
	"os"
	"testing"
	"time"

	"hashgrove/internal/fault"
)

// TestFuzzHasAFloor: a target that fails, one that is too slow and one that never ends are found, and the others run on.
func TestFuzzHasAFloor(t *testing.T) {
	if os.Getenv("HASHGROVE_LONG") != "1" {
		t.Skip("fuzzes for twenty seconds with HASHGROVE_LONG=1")
	}
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module x\n\ngo 1.26\n")
	write("x_test.go", `package x

import (
	"testing"
	"time"
)

func FuzzBad(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1 {
			t.Error("two")
		}
	})
}

func FuzzEndless(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1 {
			time.Sleep(time.Hour)
		}
	})
}

func FuzzSlow(f *testing.F) { f.Fuzz(func(t *testing.T, b []byte) { time.Sleep(10 * time.Millisecond) }) }
`)
	for name, code := range map[string]fault.Code{
		"FuzzBad": "failed", "FuzzSlow": "", "FuzzEndless": "failed", "FuzzNone": "no-such-target",
	} {
		f := fuzzing{each: 200 * time.Millisecond, limit: 3 * time.Second, floor: 100, only: name, out: io.Discard}
		if name == "FuzzSlow" { // it tries 20 to 40 in its time, and goes on until there are 100
			f.limit = time.Minute
		}
		err := f.run(t.Context(), 0)
		facts := []string{name}
		if code == "failed" {
			facts = []string{"1 of 1", "hashgrove " + name}
		}
		if d := fault.Differs(err, code, facts...); code != "" && d != "" || code == "" && err != nil {
			t.Errorf("%s: %v: %s", name, err, d)
		}
	}
	slow := fuzzing{each: 200 * time.Millisecond, limit: 3 * time.Second, floor: 1_000_000, only: "FuzzSlow", out: io.Discard}
	if err := slow.run(t.Context(), 0); err == nil {
		t.Error("a floor was not reached, and nothing failed")
	}
}
