// Package natural orders names that contain numbers as people expect.
package natural

import (
	"cmp"
	"strings"
)

// Compare orders names by the numbers in them: batch_2 comes before batch_10.
func Compare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		dx, dy := Digits(x), Digits(y)
		if dx > 0 && dy > 0 {
			nx, ny := strings.TrimLeft(x[:dx], "0"), strings.TrimLeft(y[:dy], "0")
			if c := cmp.Or(cmp.Compare(len(nx), len(ny)), strings.Compare(nx, ny)); c != 0 {
				return c
			}
			x, y = x[dx:], y[dy:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// Digits returns the number of leading digits of s.
func Digits(s string) int {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return i
		}
	}
	return len(s)
}
