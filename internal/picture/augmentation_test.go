package picture

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/fault"
	"hashgrove/internal/vectors"
)

// noisy is rows of random pictures of a shape.
func noisy(shape Shape, rows int) pictureRows {
	rng := rand.New(rand.NewPCG(uint64(shape.Width), 5))
	m := vectors.Matrix{Rows: rows, Cols: shape.Values(), Data: make([]float32, rows*shape.Values())}
	for i := range m.Data {
		m.Data[i] = float32(rng.IntN(256))
	}
	return pictureRows{m, new(int)}
}

// TestCopiesAreTheDefinition: a shift is the moved picture, a crop an enlarged window of it, and a mirror image follows
// its original.
func TestCopiesAreTheDefinition(t *testing.T) {
	for _, shape := range []Shape{
		{Width: 32, Height: 16, Channels: 3}, {Width: 16, Height: 16, Channels: 3, Planar: true}, {Width: 9, Height: 7, Channels: 1},
	} {
		const rows = 5
		src := noisy(shape, rows)
		a := Augmentation{Mirror: true, Shifts: 2, Crops: 1}
		all, err := vectors.Read(context.Background(), Augmented(FromVectors(src, shape), a, 3))
		if err != nil || all.X.Rows != rows*a.PerPicture() || a.PerPicture() != 8 {
			t.Fatalf("%d rows (%v)", all.X.Rows, err)
		}
		for i := range all.X.Rows {
			own, got := src.Row(i%rows), all.X.Row(i)
			copy := i / rows
			if copy%2 == 1 {
				if before := all.X.Row(i - rows); !slices.Equal(got, flipped(shape, before)) {
					t.Errorf("%v: row %d is not the mirror image of row %d", shape, i, i-rows)
				}
				continue
			}
			switch {
			case copy == 0:
				if !slices.Equal(got, own) {
					t.Errorf("%v: picture %d has changed", shape, i)
				}
			case copy <= 4 && !someShift(shape, own, got):
				t.Errorf("%v: row %d is no moved picture", shape, i)
			case copy > 4 && !someCrop(shape, own, got):
				t.Errorf("%v: row %d is no part of the picture", shape, i)
			}
		}
		wantIDs := "p1 p1#mirrored p1#shifted p1#shifted#mirrored p1#shifted2 p1#shifted2#mirrored p1#cropped p1#cropped#mirrored"
		var ids []string
		for i := 1; i < len(all.IDs); i += rows {
			ids = append(ids, all.IDs[i])
			if all.Labels[i] != "class 1" {
				t.Errorf("row %d has the label %s", i, all.Labels[i])
			}
		}
		if strings.Join(ids, " ") != wantIDs {
			t.Errorf("ids %q", ids)
		}
		again, err := vectors.Read(context.Background(), augmented{FromVectors(src, shape), a, 3, 0})
		if err != nil || !slices.Equal(again.X.Data, all.X.Data) {
			t.Errorf("read again in every pass, the copies are others (%v)", err)
		}
		other, err := vectors.Read(context.Background(), Augmented(FromVectors(src, shape), a, 4))
		if err != nil || slices.Equal(other.X.Data, all.X.Data) {
			t.Errorf("another seed gives the same copies (%v)", err)
		}
	}
}

// pixelAt is a pixel of a row.
func pixelAt(s Shape, row []float32, x, y, c int) float32 {
	if s.Planar {
		return row[(c*s.Height+y)*s.Width+x]
	}
	return row[(y*s.Width+x)*s.Channels+c]
}

// each builds a row from its pixels.
func each(s Shape, pixel func(x, y, c int) float32) []float32 {
	row := make([]float32, s.Values())
	for y := range s.Height {
		for x := range s.Width {
			for c := range s.Channels {
				if s.Planar {
					row[(c*s.Height+y)*s.Width+x] = pixel(x, y, c)
				} else {
					row[(y*s.Width+x)*s.Channels+c] = pixel(x, y, c)
				}
			}
		}
	}
	return row
}

func flipped(s Shape, row []float32) []float32 {
	return each(s, func(x, y, c int) float32 { return pixelAt(s, row, s.Width-1-x, y, c) })
}

func someShift(s Shape, own, got []float32) bool {
	for dx := -max(s.Width/16, 1); dx <= max(s.Width/16, 1); dx++ {
		for dy := -max(s.Height/16, 1); dy <= max(s.Height/16, 1); dy++ {
			moved := each(s, func(x, y, c int) float32 {
				return pixelAt(s, own, min(max(x+dx, 0), s.Width-1), min(max(y+dy, 0), s.Height-1), c)
			})
			if (dx != 0 || dy != 0) && slices.Equal(moved, got) {
				return true
			}
		}
	}
	return false
}

func someCrop(s Shape, own, got []float32) bool {
	across, down := s.Width-max(s.Width/8, 1), s.Height-max(s.Height/8, 1)
	for left := range s.Width - across + 1 {
		for top := range s.Height - down + 1 {
			small := Shape{Width: across, Height: down, Channels: s.Channels}
			part := make([]uint8, small.Values())
			for i, v := range each(small, func(x, y, c int) float32 { return pixelAt(s, own, left+x, top+y, c) }) {
				part[i] = uint8(v)
			}
			large := make([]uint8, s.Values())
			Preparation{Shape: s, Squash: true}.FromRow(large, part, small)
			to := make([]float32, len(large))
			for i, v := range large {
				to[i] = float32(v)
			}
			if slices.Equal(to, got) {
				return true
			}
		}
	}
	return false
}

func TestParseAugmentation(t *testing.T) {
	for list, want := range map[string]Augmentation{
		"mirror": {Mirror: true}, "shift": {Shifts: 1}, "mirror,shift,shift,crop": {true, 2, 1},
	} {
		got, err := ParseAugmentation(strings.Split(list, ","))
		if err != nil || got != want || got.String() != list {
			t.Errorf("%s: %+v, %s (%v)", list, got, got, err)
		}
	}
	_, err := ParseAugmentation([]string{"turn"})
	if d := fault.Differs(err, "unknown-change", `"turn"`, "mirror", "shift", "crop"); d != "" {
		t.Error(d)
	}
	_, err = ParseAugmentation(strings.Split("mirror"+strings.Repeat(",crop", 16), ","))
	if d := fault.Differs(err, "too-many-copies", "34", "32"); d != "" {
		t.Error(d)
	}
}
