package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// TestCompareBalance compares unequal classes: the weights reach the training.
func TestCompareBalance(t *testing.T) {
	t.Chdir(t.TempDir())
	random := rand.New(rand.NewPCG(5, 6))
	var b strings.Builder
	b.WriteString("a,b,c,d,kind\n")
	for i := range 300 {
		class := 0
		if i%10 == 0 {
			class = 1 + i/10%2
		}
		for j := range 4 {
			fmt.Fprintf(&b, "%.3f,", float64(class*(j%2+1))+1.5*random.NormFloat64())
		}
		fmt.Fprintf(&b, "kind %d\n", class)
	}
	if err := os.WriteFile("unequal.csv", []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	// measured returns the rows of the comparison without what depends on the clock.
	measured := func(flags string) string {
		out := succeed(t, strings.Fields("compare unequal.csv --label kind --bits 8 --methods fasthash --effort quick "+
			"--rounds 10 --unseen -1 --detail-bits 0 --json "+flags)...)
		var a struct {
			Rows []struct {
				Method string
				MAP    float64
			}
		}
		if err := json.Unmarshal([]byte(out), &a); err != nil || len(a.Rows) == 0 {
			t.Fatalf("%v: %.300s", err, out)
		}
		return fmt.Sprint(a.Rows)
	}
	if equal := measured("--balance 1:1"); equal == measured("--balance classes") {
		t.Errorf("the same with all classes of equal weight: %s", equal)
	}
}
