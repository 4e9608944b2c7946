package eval_test

import (
	"reflect"
	"testing"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
)

func TestUsageOf(t *testing.T) {
	codes := hamming.NewCodes(6, 70)
	for _, set := range [][2]int{{0, 0}, {1, 0}, {2, 69}, {3, 0}, {5, 69}} { // codes: 0 1 3 alike, 2 5 alike, 4 alone
		codes.SetBit(set[0], set[1], true)
	}
	u := eval.UsageOf(codes)
	if want := []eval.Bucket{{Size: 1, Codes: 1}, {Size: 2, Codes: 1}, {Size: 3, Codes: 1}}; !reflect.DeepEqual(u.Buckets, want) {
		t.Errorf("buckets %v, want %v", u.Buckets, want)
	}
	if len(u.Ones) != 70 || u.Ones[0] != 0.5 || u.Ones[69] != 2.0/6 || u.Ones[1] != 0 {
		t.Errorf("shares of ones %v", u.Ones)
	}
	if u := eval.UsageOf(hamming.Codes{}); u.Buckets != nil || u.Ones != nil {
		t.Errorf("no codes have the usage %v", u)
	}
}
