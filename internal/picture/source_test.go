package picture

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"hashgrove/internal/vectors"
)

// pictureRows returns pictures whose values are their own places, with ids and labels, in chunks of two.
type pictureRows struct {
	vectors.Matrix
	passes *int
}

func (p pictureRows) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		*p.passes++
		for lo := 0; lo < p.Rows; lo += 2 {
			c := vectors.Chunk{First: lo, X: p.Slice(lo, min(lo+2, p.Rows))}
			for i := range c.X.Rows {
				c.IDs, c.Labels = append(c.IDs, fmt.Sprint("p", lo+i)), append(c.Labels, fmt.Sprint("class ", (lo+i)%2))
			}
			if !yield(c, ctx.Err()) {
				return
			}
		}
	}
}

func TestMirroredIsThePicturesAndTheirMirrorImages(t *testing.T) {
	for _, shape := range []Shape{{Width: 5, Height: 3, Channels: 3}, {Width: 5, Height: 3, Channels: 3, Planar: true}, {Width: 4, Height: 2, Channels: 1}} {
		dim := shape.Width * shape.Height * shape.Channels
		rows := pictureRows{vectors.Matrix{Rows: 3, Cols: dim, Data: make([]float32, 3*dim)}, new(int)}
		for i := range rows.Data {
			rows.Data[i] = float32(i % 251)
		}
		pixel := func(row []float32, x, y, c int) float32 {
			if shape.Planar {
				return row[(c*shape.Height+y)*shape.Width+x]
			}
			return row[(y*shape.Width+x)*shape.Channels+c]
		}
		src := Mirrored(FromVectors(rows, shape))
		for turn := range 4 { // any number of times
			if turn == 2 { // too many to wait in memory
				src = mirrored{FromVectors(rows, shape), 2 * dim, false}
			}
			*rows.passes = 0
			at := 0
			var ids, labels []string
			for c, err := range src.Chunks(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
				if c.First != at {
					t.Errorf("a chunk begins at %d, not %d", c.First, at)
				}
				for i := range c.X.Rows {
					from := rows.Row((at + i) % 3)
					for y := range shape.Height {
						for x := range shape.Width {
							for ch := range shape.Channels {
								want := pixel(from, x, y, ch)
								if at+i >= 3 {
									want = pixel(from, shape.Width-1-x, y, ch)
								}
								if got := pixel(c.X.Row(i), x, y, ch); got != want {
									t.Fatalf("row %d, pixel %d, %d, channel %d is %v, not %v", at+i, x, y, ch, got, want)
								}
							}
						}
					}
				}
				at += c.X.Rows
				ids, labels = append(ids, c.IDs...), append(labels, c.Labels...)
			}
			if want := 1 + turn/2; *rows.passes != want {
				t.Errorf("the pictures were read %d times, not %d", *rows.passes, want)
			}
			if want := []string{"p0", "p1", "p2", "p0#mirrored", "p1#mirrored", "p2#mirrored"}; !slices.Equal(ids, want) {
				t.Errorf("ids %q", ids)
			}
			if want := []string{"class 0", "class 1", "class 0", "class 0", "class 1", "class 0"}; !slices.Equal(labels, want) {
				t.Errorf("labels %q", labels)
			}
		}
		all, err := vectors.Read(context.Background(), src)
		alone, err2 := vectors.Read(context.Background(), MirrorImages(FromVectors(rows, shape)))
		if err != nil || err2 != nil || !slices.Equal(alone.X.Data, all.X.Data[3*dim:]) {
			t.Errorf("alone the mirror images are others: %v, %v", err, err2)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, err := range src.Chunks(ctx) {
			if err == nil {
				t.Error("a stopped context gives rows")
			}
		}
	}
}
