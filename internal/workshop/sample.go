package workshop

import (
	"archive/zip"
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"

	"hashgrove/internal/fashion"
)

// Samples are files for people without data at hand: the demo's pictures of clothes, and a table of made-up
// measurements.

var samples = map[string]struct {
	kind string
	make func() []byte
}{
	"clothes.zip": {"application/zip", sync.OnceValue(clothes)},
	"leaves.csv":  {"text/csv; charset=utf-8", sync.OnceValue(leaves)},
}

func (w *Workshop) sample(rw http.ResponseWriter, r *http.Request) (any, error) {
	s, ok := samples[r.PathValue("name")]
	if !ok {
		return nil, problem(http.StatusNotFound, "no-such-sample",
			"there is no sample %.40q: there are clothes.zip and leaves.csv",
			r.PathValue("name"))
	}
	h := rw.Header()
	h.Set("Content-Type", s.kind)
	h.Set("Content-Disposition", "attachment; filename="+r.PathValue("name"))
	_, _ = rw.Write(s.make())
	return nil, nil
}

// sendModel sends the model of the codes that are searched, as a file for the other verbs.
func (w *Workshop) sendModel(rw http.ResponseWriter, _ *http.Request, j *job) (any, error) {
	if w.viewOf(j).State != stateDone {
		return nil, problem(http.StatusConflict, "not-trained", "%s has no model yet: train on it first", j.name)
	}
	b, err := os.ReadFile(j.modelFile())
	if err != nil {
		return nil, err
	}
	h := rw.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", "attachment; filename=model.hgm")
	_, _ = rw.Write(b)
	return nil, nil
}

// clothes returns the query pictures of the demo, 100 of each class.
func clothes() []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	part := fashion.Query()
	for i, class := range part.Class {
		img := image.NewGray(image.Rect(0, 0, 28, 28))
		for p, v := range part.X.Row(i) {
			img.Pix[p] = uint8(v)
		}
		// Pictures are compressed already.
		f, err := z.CreateHeader(&zip.FileHeader{
			Name: fmt.Sprintf("%s/%04d.png", fashion.Names[class], i), Method: zip.Store,
		})
		if err == nil {
			err = png.Encode(f, img)
		}
		if err != nil {
			panic("workshop: a zip in memory: " + err.Error())
		}
	}
	if err := z.Close(); err != nil {
		panic("workshop: a zip in memory: " + err.Error())
	}
	return out.Bytes()
}

// leaves returns a table of made-up measurements of leaves: six kinds, which differ more by proportions than by any one
// measure.
func leaves() []byte {
	var out strings.Builder
	out.WriteString("id,length,width,stem,teeth,lobes,veins,thickness,moisture,season,species\n")
	kinds := []struct {
		name                string
		length, ratio, stem float64
		teeth, lobes        int
	}{
		{"alder", 80, 0.85, 0.3, 60, 0}, {"ash", 90, 0.4, 0.1, 50, 0}, {"beech", 75, 0.65, 0.15, 10, 0},
		{"birch", 50, 0.75, 0.35, 70, 0}, {"maple", 95, 1.1, 0.9, 20, 5}, {"oak", 100, 0.55, 0.08, 5, 9},
	}
	rng := rand.New(rand.NewPCG(15, 'L'))
	draw := func(mean, share float64) float64 { return mean * math.Exp(share*rng.NormFloat64()) }
	for i := range 1500 {
		k := kinds[rng.IntN(len(kinds))]
		length := draw(k.length, 0.35)
		season := []string{"spring", "summer", "autumn"}[rng.IntN(3)]
		fmt.Fprintf(&out, "leaf-%04d,%.1f,%.1f,%.1f,%d,%d,%d,%.3f,%.2f,%s,%s\n", i+1, length, draw(length*k.ratio, 0.15),
			draw(length*k.stem, 0.25), max(0, int(draw(float64(k.teeth), 0.4))), max(0, k.lobes+rng.IntN(3)-1),
			6+rng.IntN(6), draw(0.25, 0.2), 0.4+float64(0.5*rng.Float64()), season, k.name)
	}
	return []byte(out.String())
}
