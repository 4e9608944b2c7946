package main

import "testing"

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"8GB": 8e9, "8 gb": 8e9, "1.5g": 15e8, "512MiB": 512 << 20, "1TiB": 1 << 40, "2t": 2e12, "100000000": 1e8,
		"64kb": 64e3, "64KiB": 64 << 10, "7B": 7,
	} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "GB", "x", "0", "-5MB", "1e300GB", "1PB", "1 2GB"} {
		if got, err := parseBytes(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}
