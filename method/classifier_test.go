package method

import (
	"context"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/methodtest"
	"hashgrove/vectors"
)

func TestOneHot(t *testing.T) {
	ctx := context.Background()
	x, class := methodtest.ClusterMatrix(5, 300, 24, 4)
	e, err := learnFrom(ctx, classifier{OneHot: true}, vectors.WithLabels(x, methodtest.ClassNames(class)))
	if err != nil {
		t.Fatal(err)
	}
	codes := encode(e, x)
	wrong := 0
	for i, c := range class {
		for b := range 4 {
			if codes.Bit(i, b) != (b == int(c)) {
				wrong++
			}
		}
	}
	if e.Bits() != 4 || wrong > 6 {
		t.Errorf("%d bits, %d wrong", e.Bits(), wrong)
	}
	// Of tags every bit is an answer of its own.
	src := methodtest.Tagged(5, 300, 24, 4)
	if e, err = learnFrom(ctx, classifier{OneHot: true}, src); err != nil {
		t.Fatal(err)
	}
	codes = encode(e, src.X)
	wrong = 0
	for i, tags := range src.Tags {
		for b := range 4 {
			if codes.Bit(i, b) != slices.Contains(tags, "a"+string(rune('0'+b))) {
				wrong++
			}
		}
	}
	if e.Bits() != 8 || wrong > 200 { // an eighth of the rows has no tags at all
		t.Errorf("%d bits, %d of 1200 wrong", e.Bits(), wrong)
	}
}

func TestClassifierBitsArePrefixes(t *testing.T) {
	ctx := context.Background()
	src := methodtest.Classed(5, 200, 6, 4)
	long, err := learnFrom(ctx, classifier{Options: Options{Bits: 40, Seed: 3}}, src)
	if err != nil {
		t.Fatal(err)
	}
	short, err := learnFrom(ctx, classifier{Options: Options{Bits: 24, Seed: 3}}, src)
	if err != nil {
		t.Fatal(err)
	}
	if short.Fingerprint(24) != long.Fingerprint(24) {
		t.Error("fewer bits are not the first of more")
	}
}

func TestSupervisedRefusals(t *testing.T) {
	pairs, classes := randomPairs(1, 40, 5, 3, 100), methodtest.Classed(1, 40, 5, 3)
	for _, c := range []struct {
		want string
		m    any
		x    vectors.Source
	}{
		{"only pairs", classifier{}, pairs},
		{"only pairs", sdh{}, pairs},
		{"only pairs", sdh{Fast: true}, pairs},
		{"-1 bits", classifier{Options: Options{Bits: -1}}, classes},
		{"-1 bits", ksh{Options{Bits: -1}}, classes},
		{"weights", ksh{Options{Bits: 4096, Anchors: 1 << 20}}, classes},
		{"-7 anchors", sdh{Options: Options{Anchors: -7}}, classes},
		{"-7 anchors", ksh{Options{Anchors: -7}}, classes},
	} {
		if _, err := learnFrom(context.Background(), c.m, c.x); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: error %v, want one with %q", c.m, err, c.want)
		}
	}
	if _, err := learnFrom(context.Background(), ksh{Options{Bits: 8, Anchors: 10}}, pairs); err != nil {
		t.Errorf("KSH from pairs: %v", err)
	}
}
