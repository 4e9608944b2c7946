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

	"hashgrove/feature"
	"hashgrove/model"
)

// gallery makes a folder of noisy pictures of two classes, bright and dark, in the folder of that name.
func gallery(t *testing.T, name string, seed uint64) {
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
	gallery(t, "photos", 1)
	gallery(t, "new", 2)
	out := succeed(t, "inspect", "photos", "--size", "6", "--grey")
	for _, want := range []string{"rows         40", "dimensions   36, all values are bytes", "pictures     6 x 6", "20   bright"} {
		if !strings.Contains(out, want) {
			t.Errorf("inspect does not say %q:\n%s", want, out)
		}
	}
	size := []string{"--size", "4", "--fit", "squash"}
	succeed(t, append([]string{"train", "photos", "--bits", "4", "--rounds", "5", "-o", "m.hgm"}, size...)...)
	succeed(t, append([]string{"encode", "-m", "m.hgm", "new", "-o", "new.csv"}, size...)...)
	b, err := os.ReadFile("new.csv")
	if err != nil || !strings.Contains(string(b), "new/bright/1.png,") {
		t.Errorf("%v\n%s", err, b)
	}
	if out := succeed(t, append([]string{"eval", "-m", "m.hgm", "--base", "photos", "--queries", "new"}, size...)...); !strings.Contains(out, "MAP") {
		t.Errorf("eval says\n%s", out)
	}
	write(t, "new/dark/7.jpg", "no picture")
	for args, want := range map[string]string{
		"encode -m m.hgm new -o x.csv --size 4":            "new/dark/7.jpg: is not a picture",
		"encode -m m.hgm new -o x.csv --size 4 --skip-bad": "dropped 1 bad rows, the first: new/dark/7.jpg: is not a picture",
		"inspect new.csv --size 4":                         "holds vectors, not pictures",
		"inspect photos --size 5000":                       "--size 5000: give the side of the pictures in pixels, 1 to 1024",
		"inspect photos --fit stretch":                     `--fit "stretch": give crop or squash`,
	} {
		if o := try(t, strings.Fields(args)...); !strings.Contains(o.err, want) {
			t.Errorf("%s: exit %d, %s", args, o.code, o.err)
		}
	}
}

// TestSameIDsOfPictures drops a picture whose id another has, from the features that were kept as from the data.
func TestSameIDsOfPictures(t *testing.T) {
	t.Chdir(t.TempDir())
	gallery(t, "photos", 1)
	ids := ""
	for i := range 40 {
		ids += fmt.Sprintf("p%d\n", i%39)
	}
	write(t, "ids.txt", ids)
	for i, how := range []string{"--features pixels", "--features pixels --patience 3 --validation 0.3", "--features pixels --method ksh --anchors 8 --pca 6"} {
		line := "train photos --size 6 --bits 4 --ids ids.txt " + how
		if o := try(t, shellWords(line+" -o m.hgm")...); o.code != 1 || !strings.Contains(o.err, `the id "p0", which row 1 already has`) {
			t.Errorf("%s: exit %d, %s", how, o.code, o.err)
		}
		succeed(t, shellWords(line+" --skip-bad -o m.hgm")...)
		m, err := model.ReadFile("m.hgm")
		if err != nil || m.Info.Runs[0].Rows > 39 || i != 1 && m.Info.Runs[0].Rows != 39 {
			t.Errorf("%s: learned from %+v (%v)", how, m.Info.Runs, err)
		}
	}
	succeed(t, shellWords("train photos --size 6 --features pixels --mirror --bits 4 --ids ids.txt --skip-bad -o m.hgm")...)
	if m, err := model.ReadFile("m.hgm"); err != nil || m.Info.Runs[0].Rows != 78 {
		t.Errorf("with mirror images: learned from %+v (%v)", m.Info.Runs, err)
	}
}

// TestFeaturesAreExtractedOnce counts the pictures that every verb turns into vectors.
func TestFeaturesAreExtractedOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	gallery(t, "photos", 1)
	gallery(t, "new", 2)
	for _, c := range []struct {
		args string
		want int64 // of 40 photos and 40 new ones
	}{
		{"train photos --features gist320 --bits 4 --rounds 3 -o m.hgm", 40},
		{"train photos --features gist320 --mirror --bits 4 --rounds 3 -o mirror.hgm", 80},
		{"train photos --features gist320 --mirror --patience 2 --validation 0.3 --bits 4 --rounds 3 -o patient.hgm", 80},
		{"train photos --features gist320 --method lsh --bits 4 -o lsh.hgm", 40},
		{"train photos --features gist320 --method ksh --anchors 10 --bits 4 -o ksh.hgm", 40},
		{"eval -m m.hgm --base photos --queries new", 80},
		{"compare photos --features gist320 --methods lsh,fasthash --rounds 3 --bits 4,8 --unseen -1 --work lab", 40},
		{"compare photos --queries new --features gist320 --methods lsh --bits 4 --unseen -1 --work lab", 80},
		{"features photos --kind gist --type uint8 -o gist.npy", 40},
		{"features photos --kind gist --mirror --type uint8 -o gist.npy", 80},
		{"features photos --kind gist -o gist.npy", 40},
		{"encode -m m.hgm new -o new.hgc", 40},
		{"index build p.hgi photos --model m.hgm", 40},
		{"search p.hgi new/dark/0.png", 1},
	} {
		before := feature.Extracted()
		succeed(t, shellWords(c.args)...)
		if got := feature.Extracted() - before; got != c.want {
			t.Errorf("%s: %d extractions, want %d", c.args, got, c.want)
		}
	}
}
