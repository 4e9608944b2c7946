package method

import (
	"context"
	"math"
	"slices"
	"strconv"
	"testing"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/model"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
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

// The probabilities by their definition from the scores, and what is known as the same kind of matrix.
func TestClassifierProbabilities(t *testing.T) {
	ctx := context.Background()
	for _, src := range []vectors.Source{methodtest.Classed(5, 300, 24, 4), methodtest.Tagged(5, 300, 24, 4)} {
		d, err := methodtest.Data(src)
		if err != nil {
			t.Fatal(err)
		}
		c, err := FitClassifier(ctx, d, Options{Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		x := src.(vectors.Table).X
		p, err := c.Probabilities(ctx, x, 2)
		if err != nil {
			t.Fatal(err)
		}
		scores, err := model.Transform(ctx, 1, x, c.fit.Scores)
		if err != nil {
			t.Fatal(err)
		}
		known, right := c.Known(d), 0
		for i := range x.Rows {
			sum := 0.0
			for _, s := range scores.Row(i) {
				sum += math.Exp(float64(s))
			}
			for k, s := range scores.Row(i) {
				want := math.Exp(float64(s)) / sum
				has := false
				if c.Several {
					want = 1 / (1 + math.Exp(-float64(s)))
					for _, tag := range d.Tags.Row(i) {
						has = has || d.Tags.Names[tag] == c.Names[k]
					}
				} else {
					has = d.Labels.Names[d.Labels.Class[i]] == c.Names[k]
				}
				if got := float64(p.Row(i)[k]); math.Abs(got-want) > 1e-6 {
					t.Fatalf("row %d: %s has %v, want %v", i, c.Names[k], got, want)
				}
				if has != (known.Row(i)[k] == 1) || !has && known.Row(i)[k] != 0 {
					t.Fatalf("row %d: %s is %v, known as %v", i, c.Names[k], has, known.Row(i)[k])
				}
				if has == (p.Row(i)[k] > 0.5) {
					right++
				}
			}
		}
		if share := float64(right) / float64(len(p.Data)); share < 0.85 {
			t.Errorf("only %.2f of the answers are right", share)
		}
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
	many := vectors.WithLabels(methodtest.RandomRows(1, 2*hamming.MaxBits+2, 1), make([]string, 2*hamming.MaxBits+2))
	for i := range many.Labels {
		many.Labels[i] = strconv.Itoa(i / 2)
	}
	for _, c := range []struct {
		code fault.Code
		fact string
		m    any
		x    vectors.Source
	}{
		{"only-pairs", "", classifier{}, pairs},
		{"only-pairs", "", sdh{}, pairs},
		{"only-pairs", "", sdh{Fast: true}, pairs},
		{"bits-out-of-range", "4097", classifier{OneHot: true}, many},
		{"bits-out-of-range", "-1", classifier{Options: Options{Bits: -1}}, classes},
		{"bits-out-of-range", "-1", ksh{Options{Bits: -1}}, classes},
		{"weights-out-of-range", "1048576", ksh{Options{Bits: 4096, Anchors: 1 << 20}}, classes},
		{"wrong-count", "-7", sdh{Options: Options{Anchors: -7}}, classes},
		{"wrong-count", "-7", ksh{Options{Anchors: -7}}, classes},
	} {
		_, err := learnFrom(context.Background(), c.m, c.x)
		if d := fault.Differs(err, c.code, c.fact); d != "" {
			t.Errorf("%T: %s", c.m, d)
		}
	}
	if _, err := learnFrom(context.Background(), ksh{Options{Bits: 8, Anchors: 10}}, pairs); err != nil {
		t.Errorf("KSH from pairs: %v", err)
	}
}
