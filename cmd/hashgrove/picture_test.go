package main

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/model"
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
	out := succeed(t, "inspect", "photos", "--size", "6", "--grey")
	for _, want := range []string{"rows         40", "dimensions   36,", "pictures     6 x 6", "20   bright"} {
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
	const encode = "encode -m m.hgm new --force -o x.csv --size 4"
	if o := try(t, strings.Fields(encode)...); !o.badRow("new/dark/7.jpg", -1, "") ||
		!strings.Contains(o.err, "--skip-bad") {
		t.Errorf("a file that is no picture: exit %d, %s", o.code, o.err)
	}
	o := try(t, strings.Fields(encode+" --skip-bad")...)
	if o.code != 0 || !strings.Contains(o.err, "1 bad row") || !strings.Contains(o.err, "new/dark/7.jpg") {
		t.Errorf("a file that is no picture is skipped: exit %d, %s", o.code, o.err)
	}
	for args, want := range map[string]string{
		"inspect new.csv --size 4":     "1 - new.csv",
		"inspect photos --size 5000":   "2 bad-flag-value --size 5000 1024",
		"inspect photos --fit stretch": `2 bad-flag-value --fit "stretch" crop squash`,
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

// TestPicturesArePreparedAsLearned trains on pictures that are not square, prepared in ways that are not the default, and
// encodes without repeating how. Codes must be those of pictures that were prepared alike.
func TestPicturesArePreparedAsLearned(t *testing.T) {
	if testing.Short() {
		t.Skip("runs in full, without the race detector, with the documents")
	}
	t.Chdir(t.TempDir())
	photoFolder(t, "photos", 1)
	photoFolder(t, "new", 2)
	const few = " --bits 12 --rounds 5 --force -o m.hgm"
	for _, how := range []string{"--fit squash", "--size 9", "--grey", "--fit squash --size 6 --grey",
		"--fit squash --features gist320", "--size 16 --grey --features gist320", "--fit squash --features gist320 --mirror", "--fit squash --method lsh --bits 8"} {
		options := few
		if strings.Contains(how, "lsh") {
			options = " --force -o m.hgm"
		}
		succeed(t, shellWords("train photos "+options+" "+how)...)
		kept := strings.Fields(strings.NewReplacer("--mirror", "", "--features gist320", "", "--method lsh --bits 8", "").Replace(how))
		codes := hexCodes(t, "-m m.hgm new")
		if again := hexCodes(t, "-m m.hgm new "+strings.Join(kept, " ")); len(codes) != 40 || !slices.Equal(codes, again) {
			t.Errorf("%s: codes are\n%v\nand when that is said again\n%v", how, codes, again)
		}
		// The same pixels as vectors, as they were prepared when the model was learned.
		if !strings.Contains(how, "features") {
			succeed(t, shellWords("features new --kind pixels --force -o new.npy "+strings.Join(kept, " "))...)
			if plain := hexCodes(t, "-m m.hgm new.npy"); !slices.Equal(codes, plain) {
				t.Errorf("%s: codes are\n%v\nand of the pixels\n%v", how, codes, plain)
			}
		}
		m, err := model.ReadFile("m.hgm")
		if err != nil || m.Pictures == nil || m.Pictures.Squash != strings.Contains(how, "squash") || m.Pictures.Mirrored != strings.Contains(how, "mirror") {
			t.Fatalf("%s: the model says %v (%v)", how, m.Pictures, err)
		}
		img := decoded(t, "new/bright/1.png")
		code, err := m.EncodeImage(img)
		one := hexCodes(t, "-m m.hgm new/bright/1.png")
		if text := hex.EncodeToString(binary.BigEndian.AppendUint64(nil, code[0])); err != nil || !strings.HasPrefix(text, one[0]) {
			t.Errorf("%s: the code of an image is %s, that of its file %s (%v)", how, text, one[0], err)
		}
	}
	// Everything that encodes takes the model's word: an index of the pictures finds each at distance 0.
	succeed(t, shellWords("train photos --fit squash --size 7 "+few)...)
	succeed(t, shellWords("index build -o p.hgi photos --model m.hgm")...)
	succeed(t, shellWords("index add p.hgi new")...)
	f := searched(t, "p.hgi new/dark/0.png -k 40")
	found := slices.ContainsFunc(f.Results[0].Hits, func(h hit) bool { return h.ID == "new/dark/0.png" && h.Distance == 0 })
	if !found {
		t.Errorf("a picture does not find itself: %+v", f.Results)
	}
	succeed(t, shellWords("train photos --fit squash --size 8 "+few+" --seed 3")...)
	succeed(t, shellWords("index migrate p.hgi --model m.hgm --vectors photos --vectors new")...)
	if out := succeed(t, shellWords("eval -m m.hgm --base photos --queries new")...); !strings.Contains(out, "MAP") {
		t.Errorf("eval says\n%s", out)
	}
	// What contradicts the model is refused.
	write(t, "v.csv", "1,2,3\n")
	for args, want := range map[string]string{
		"encode -m m.hgm new --size 9 -o x.csv":                        "other-preparation --size 9 8 x 8",
		"encode -m m.hgm new --fit crop -o x.csv":                      "other-preparation --fit crop squash",
		"encode -m m.hgm new --grey -o x.csv":                          "other-preparation --grey 3",
		"eval -m m.hgm --base photos --queries new --fit crop":         "other-preparation --fit crop squash",
		"search p.hgi new/dark/0.png --size 32":                        "other-preparation --size 32 8 x 8",
		"index add p.hgi new --grey":                                   "other-preparation --grey 3",
		"index migrate p.hgi --model m.hgm --vectors photos --size 3":  "other-preparation --size 3 8 x 8",
		"train photos --grow m.hgm --bits 14 --fit crop -o longer.hgm": "other-preparation --fit crop squash",
		"encode -m m.hgm v.csv --size 8 -o x.csv":                      "not-pictures v.csv --size --fit --grey",
	} {
		if d := try(t, shellWords(args)...).unlike("1 " + want); d != "" {
			t.Errorf("%s: %s", args, d)
		}
	}
	// A grown model prepares as the one it began with, so that its first bits stay what they are.
	succeed(t, shellWords("train photos --grow m.hgm --bits 14 --rounds 5 --seed 3 -o longer.hgm")...)
	for i, code := range hexCodes(t, "-m longer.hgm new --prefix 12") {
		if short := hexCodes(t, "-m m.hgm new")[i]; code != short {
			t.Fatalf("picture %d: the first bits of the grown model are %s, not %s", i, code, short)
		}
	}
}

// TestModelsOfOlderVersions know nothing of how pictures were prepared: the flags say so, as ever.
func TestModelsOfOlderVersions(t *testing.T) {
	t.Chdir(t.TempDir())
	photoFolder(t, "photos", 1)
	photoFolder(t, "new", 2)
	succeed(t, shellWords("train photos --fit squash --size 6 --bits 8 --rounds 5 -o m.hgm")...)
	m, err := model.ReadFile("m.hgm")
	if err != nil {
		t.Fatal(err)
	}
	m.Pictures = nil
	if err := model.WriteFile("old.hgm", m); err != nil {
		t.Fatal(err)
	}
	if codes, old := hexCodes(t, "-m m.hgm new"), hexCodes(t, "-m old.hgm new --size 6 --fit squash"); !slices.Equal(codes, old) {
		t.Errorf("codes\n%v\n%v", codes, old)
	}
	if d := try(t, shellWords("encode -m old.hgm new -o x.csv")...).unlike("1 wrong-dimensions new 3072 108"); d != "" {
		t.Error(d)
	}
	hexCodes(t, "-m old.hgm new --size 6") // cropped: other codes, and nothing to tell by
	succeed(t, shellWords("train photos --grow old.hgm --size 6 --fit squash --bits 10 --rounds 5 -o longer.hgm")...)
	if longer, err := model.ReadFile("longer.hgm"); err != nil || longer.Pictures != nil {
		t.Errorf("a model that grew from an old one says %v (%v)", longer.Pictures, err)
	}
}

// TestSameIDsOfPictures drops a picture whose id another has, from the features that were kept as from the data.
func TestSameIDsOfPictures(t *testing.T) {
	t.Chdir(t.TempDir())
	photoFolder(t, "photos", 1)
	ids := ""
	for i := range 40 {
		ids += fmt.Sprintf("p%d\n", i%39)
	}
	write(t, "ids.txt", ids)
	for i, how := range []string{"--features pixels", "--features pixels --validation 0.3", "--features pixels --method ksh --set anchors=8 --set pca=6"} {
		line := "train photos --size 6 --bits 4 --force --ids ids.txt " + how
		if o := try(t, shellWords(line+" -o m.hgm")...); !o.badRow("photos", 39, "") ||
			o.unlike(`1 - "p0" --skip-bad`) != "" {
			t.Errorf("%s: exit %d, %s", how, o.code, o.err)
		}
		succeed(t, shellWords(line+" --skip-bad -o m.hgm")...)
		m, err := model.ReadFile("m.hgm")
		if err != nil || m.Info.Runs[0].Rows > 39 || i != 1 && m.Info.Runs[0].Rows != 39 {
			t.Errorf("%s: learned from %+v (%v)", how, m.Info.Runs, err)
		}
	}
	succeed(t, shellWords("train photos --size 6 --features pixels --mirror --bits 4 --ids ids.txt --skip-bad --force -o m.hgm")...)
	if m, err := model.ReadFile("m.hgm"); err != nil || m.Info.Runs[0].Rows != 78 {
		t.Errorf("with mirror images: learned from %+v (%v)", m.Info.Runs, err)
	}
}

// decoded returns the image in a PNG file.
func decoded(t *testing.T, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestAveragedCodes trains a model that adds mirror images, and looks whether every verb does: a picture and its mirror
// image have one code.
func TestAveragedCodes(t *testing.T) {
	if testing.Short() {
		t.Skip("runs in full, without the race detector, with the documents")
	}
	t.Chdir(t.TempDir())
	photoFolder(t, "photos", 1)
	photoFolder(t, "new", 2)
	mirrorFolder(t, "new", "mirrored")
	const few = "train photos --features gist320 --size 16 --bits 24 --rounds 5 --validation 0.3 --force "
	succeed(t, shellWords(few+"--mirror -o plain.hgm")...)
	out := try(t, shellWords(few+"--mirror --mirror-average -o m.hgm")...)
	m, err := model.ReadFile("m.hgm")
	if out.code != 0 || err != nil || m.Info.NewItems == nil || !strings.Contains(out.out, figuresText(&m.Info)) {
		t.Fatalf("exit %d, %v\n%s\n%s", out.code, err, out.err, out.out)
	}
	for _, fact := range []string{"40 pictures", "40 mirror images", "320"} {
		if !strings.Contains(out.err, fact) {
			t.Errorf("it does not say %q: %s", fact, out.err)
		}
	}
	codes := hexCodes(t, "-m m.hgm new")
	if mirrored := hexCodes(t, "-m m.hgm mirrored"); !slices.Equal(codes, mirrored) {
		t.Errorf("mirror images have other codes:\n%v\n%v", codes, mirrored)
	}
	plain, other := hexCodes(t, "-m plain.hgm new"), hexCodes(t, "-m plain.hgm mirrored")
	if slices.Equal(plain, other) || slices.Equal(plain, codes) {
		t.Error("without averaging mirror images have the same codes too, so this tests nothing")
	}
	succeed(t, shellWords("index build -o p.hgi new --model m.hgm")...)
	for _, how := range []string{"", " --explain --rerank new"} { // margins, reasons and distances of vectors
		f := searched(t, "p.hgi mirrored/dark/0.png -k 40"+how)
		if !slices.ContainsFunc(f.Results[0].Hits, func(h hit) bool { return h.ID == "new/dark/0.png" && h.Distance == 0 }) {
			t.Errorf("search%s: the mirror image does not find its picture: %+v", how, f.Results)
		}
	}
	report := succeed(t, shellWords("eval -m m.hgm --base photos --queries new --json")...)
	if !strings.Contains(report, `"learned_share": 0.7`) {
		t.Errorf("eval does not see which pictures were learned from:\n%s", report)
	}
	if !informed(t, "m.hgm").Averaged || informed(t, "plain.hgm").Averaged {
		t.Error("info does not tell which model adds the scores of mirror images")
	}
	succeed(t, shellWords(few+"--mirror --mirror-average --grow m.hgm --bits 26 -o longer.hgm")...)
	for i, code := range hexCodes(t, "-m longer.hgm new --prefix 24") {
		if code != codes[i] {
			t.Fatalf("picture %d: the first bits of the grown model are %s, not %s", i, code, codes[i])
		}
	}
	succeed(t, shellWords("features new --kind gist --size 16 -o new.npy")...)
	for args, want := range map[string]string{
		few + "--mirror-average -o x.hgm":                                     "2 missing-flag --mirror-average --mirror",
		few + "--mirror --grow m.hgm --bits 26 -o x.hgm":                      "2 model-averages --mirror-average",
		few + "--mirror --mirror-average --grow plain.hgm --bits 26 -o x.hgm": "2 model-does-not-average --mirror-average",
	} {
		if d := try(t, shellWords(args)...).unlike(want); d != "" {
			t.Errorf("%s: %s", args, d)
		}
	}
	if d := try(t, shellWords("encode -m m.hgm new.npy -o x.csv")...).unlike("1 - new.npy", model.ErrMirror); d != "" {
		t.Errorf("vectors instead of pictures: %s", d)
	}
}

// mirrorFolder makes a folder of the mirror images of another's pictures.
func mirrorFolder(t *testing.T, from, to string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(from, "*", "*.png"))
	if err != nil || len(paths) == 0 {
		t.Fatal(err)
	}
	for _, path := range paths {
		img := decoded(t, path)
		size := img.Bounds().Size()
		flipped := image.NewGray(image.Rect(0, 0, size.X, size.Y))
		for y := range size.Y {
			for x := range size.X {
				flipped.Set(x, y, img.At(size.X-1-x, y))
			}
		}
		out := filepath.Join(to, strings.TrimPrefix(path, from))
		if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(out)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(png.Encode(f, flipped), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
