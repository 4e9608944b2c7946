package main

import (
	"os"
	"strings"
	"testing"
)

// The list is in step with the program: the old lines of every mutant occur once in its file.
func TestListFitsTheProgram(t *testing.T) {
	t.Chdir("../..")
	mutants, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		code, err := os.ReadFile(m.file)
		if n := strings.Count(string(code), m.old); err != nil || n != 1 {
			t.Errorf("%s has %d times (%v):\n%s", m.file, n, err, m.old)
		}
	}
}
