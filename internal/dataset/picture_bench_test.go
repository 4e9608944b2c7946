package dataset

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"math/rand/v2"
	"testing"
	"time"

	"hashgrove/internal/supervision"
	"hashgrove/internal/testkit/picturetest"
)

// BenchmarkPictures reads folders of JPEG files; limit is the time that image/jpeg alone needs for the same bytes on
// one core, as a share of ours on one core.
func BenchmarkPictures(b *testing.B) {
	for _, c := range []struct{ edge, files, size int }{{64, 512, 32}, {64, 512, 64}, {1000, 4, 32}} {
		rng := rand.New(rand.NewPCG(1, 2))
		dir := b.TempDir()
		var contents [][]byte
		for i := range c.files {
			content := picturetest.JPEG(picturetest.Images(rng, c.edge, c.edge)[2]) // noise: nothing is harder to decode
			contents = append(contents, []byte(content))
			fileOf(b, dir, fmt.Sprintf("%d.jpg", i), content)
		}
		b.Run(fmt.Sprintf("edge=%d/size=%d", c.edge, c.size), func(b *testing.B) {
			var alone, ours time.Duration
			for b.Loop() {
				began := time.Now()
				for _, content := range contents {
					if _, err := jpeg.Decode(bytes.NewReader(content)); err != nil {
						b.Fatal(err)
					}
				}
				alone += time.Since(began)
				for _, threads := range []int{1, 0} {
					s := setOpen(b, Spec{Paths: []string{dir}, Size: c.size, Threads: threads})
					began := time.Now()
					if _, err := supervision.Scan(b.Context(), s, supervision.ScanOptions{}); err != nil {
						b.Fatal(err)
					}
					if threads == 1 {
						ours += time.Since(began)
					}
				}
			}
			b.ReportMetric(alone.Seconds()/ours.Seconds(), "limit")
			b.ReportMetric(float64(c.files*b.N)/ours.Seconds(), "pictures/s/core")
		})
	}
}
