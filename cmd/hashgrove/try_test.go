package main

import (
	"fmt"
	"strings"
	"testing"

	"hashgrove/internal/testkit/needs"
)

// TestServeTraining checks the flags about what people upload.
func TestServeTraining(t *testing.T) {
	needs.Check(t, "takes seconds")
	serveShop(t)
	var table strings.Builder
	table.WriteString("a,b,kind\n")
	for i := range 60 {
		fmt.Fprintf(&table, "%d,%d,%s\n", i%2*9+i%5, i%7, []string{"x", "y"}[i%2])
	}
	write(t, "own.csv", table.String())
	write(t, "large.csv", table.String()+strings.Repeat("1,2,x\n", 500))
	for _, c := range []struct {
		flags, file string
		offered     bool
		status      int
	}{
		{"--log off", "own.csv", true, 202},
		{"--log off --try-limit 2000", "large.csv", true, 413},
		{"--log off --no-train", "own.csv", false, 404},
		{"--log off --read-only", "own.csv", false, 403},
	} {
		s, _ := startServe(t, append([]string{"serve", "items.hgi"}, strings.Fields(c.flags)...)...)
		if s == nil {
			t.Fatal("it ended")
		}
		_, about := curl(t, s.url, []string{s.url + "/v1/server"})
		if offered := strings.Contains(string(about), `"try":true`); offered != c.offered {
			t.Errorf("%s: %s", c.flags, about)
		}
		status, b := curl(t, s.url, []string{"-X", "POST", "-T", c.file, s.url + "/v1/try?name=own.csv"})
		if status != c.status {
			t.Errorf("%s: status %d: %s", c.flags, status, b)
		}
		if code := s.stop(); code != 0 {
			t.Errorf("%s: exit %d: %s", c.flags, code, s.err)
		}
	}
	if o := try(t, "serve", "items.hgi", "--listen", "127.0.0.1:0", "--try-limit", "0"); o.code != 2 {
		t.Errorf("a limit of nothing: %+v", o)
	}
}
