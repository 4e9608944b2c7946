package main

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// photoFolder makes a folder of noisy pictures of two classes, bright and dark, in the folder of that name.
func photoFolder(t *testing.T, name string, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range 40 {
		class := []string{"dark", "bright"}[i%2]
		m := image.NewGray(image.Rect(0, 0, 12, 8))
		for k := range m.Pix {
			m.Pix[k] = uint8(rng.IntN(150) + i%2*100)
		}
		m.Set(0, 0, color.White)
		path := filepath.Join(name, class, fmt.Sprintf("%d.png", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(f, m); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPictures goes from folders of pictures to codes with nothing but the folders.
func TestPictures(t *testing.T) {
	t.Chdir(t.TempDir())
	photoFolder(t, "photos", 1)
	photoFolder(t, "new", 2)
	out := succeed(t, "inspect", "photos", "--size", "6")
	for _, want := range []string{"rows         40", "dimensions   108,", "pictures     6 x 6", "20   bright"} {
		if !strings.Contains(out, want) {
			t.Errorf("inspect does not say %q:\n%s", want, out)
		}
	}
	succeed(t, shellWords("train photos --bits 4 --rounds 5 -o m.hgm --size 4")...)
	succeed(t, "encode", "-m", "m.hgm", "new", "-o", "new.csv")
	b, err := os.ReadFile("new.csv")
	if err != nil || !strings.Contains(string(b), "new/bright/1.png,") {
		t.Errorf("%v\n%s", err, b)
	}
	if out := succeed(t, "eval", "-m", "m.hgm", "--base", "photos", "--queries", "new"); !strings.Contains(out, "MAP") {
		t.Errorf("eval says\n%s", out)
	}
	write(t, "new/dark/7.jpg", "no picture")
	const encode = "encode -m m.hgm new --force -o x.csv"
	if o := try(t, strings.Fields(encode)...); !o.badRow("new/dark/7.jpg", -1, "") ||
		!strings.Contains(o.err, "--skip-bad") {
		t.Errorf("a file that is no picture: exit %d, %s", o.code, o.err)
	}
	o := try(t, strings.Fields(encode+" --skip-bad")...)
	if o.code != 0 || !strings.Contains(o.err, "1 bad row") || !strings.Contains(o.err, "new/dark/7.jpg") {
		t.Errorf("a file that is no picture is skipped: exit %d, %s", o.code, o.err)
	}
	for args, want := range map[string]string{
		"inspect new.csv --size 4":                    "1 - new.csv",
		"train photos --grow m.hgm --size 5 -o x.hgm": "1 other-preparation",
		"inspect photos --size 5000":                  "1 bad-size 5000 1024",
	} {
		if d := try(t, strings.Fields(args)...).unlike(want); d != "" {
			t.Errorf("%s: %s", args, d)
		}
	}
}

// hexCodes returns what encode gives, a line per picture.
func hexCodes(t *testing.T, args string) []string {
	t.Helper()
	return strings.Fields(succeed(t, append(shellWords("encode "+args), "--to", "hex", "-o", "-")...))
}
