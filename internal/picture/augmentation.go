package picture

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"hashgrove/internal/fault"
	"hashgrove/internal/vectors"
)

// Augmentation is changed copies of pictures to learn from besides the pictures themselves, with the same labels and
// tags. What a picture shows rarely depends on the side it is seen from or on where exactly it was cut.
//
//	mirror   left and right changed, of every picture and of every other copy
//	shift    moved by up to a sixteenth of its size; what is missing is the pixels at the edge
//	crop     seven eighths of width and height, from any place, enlarged
//
// A copy is a function of the picture, its number among the pictures, and the seed.
type Augmentation struct {
	Mirror        bool
	Shifts, Crops int // copies of every picture, without those that are mirrored
}

// maxCopies bounds the rows that are learned from for each picture.
const maxCopies = 32

// ParseAugmentation reads a list of mirror, shift and crop; shift and crop may be repeated for more copies.
func ParseAugmentation(list []string) (Augmentation, error) {
	var a Augmentation
	for _, name := range list {
		switch name {
		case "mirror":
			a.Mirror = true
		case "shift":
			a.Shifts++
		case "crop":
			a.Crops++
		default:
			return a, fault.New("unknown-change", "pictures cannot be changed by %q: choose mirror, shift or crop", name)
		}
	}
	if n := a.PerPicture(); n > maxCopies {
		return a, fault.New("too-many-copies", "%d rows for every picture, more than %d", n, maxCopies)
	}
	return a, nil
}

// String is the list that ParseAugmentation reads.
func (a Augmentation) String() string {
	list := slices.Concat(slices.Repeat([]string{"shift"}, a.Shifts), slices.Repeat([]string{"crop"}, a.Crops))
	if a.Mirror {
		list = slices.Insert(list, 0, "mirror")
	}
	return strings.Join(list, ",")
}

// PerPicture is the number of rows for every picture, which is one of them.
func (a Augmentation) PerPicture() int {
	n := 1 + a.Shifts + a.Crops
	if a.Mirror {
		n *= 2
	}
	return n
}

// MirrorMark ends the id of a mirror image.
const MirrorMark = "#mirrored"

// idMark ends the ids of a copy. With mirror images every second copy is the one before it mirrored.
func (a Augmentation) idMark(copy int) string {
	mirrored := ""
	if a.Mirror {
		if copy%2 == 1 {
			mirrored = MirrorMark
		}
		copy /= 2
	}
	kind, number := "", copy
	switch {
	case copy == 0:
		return mirrored
	case copy <= a.Shifts:
		kind = "#shifted"
	default:
		kind, number = "#cropped", copy-a.Shifts
	}
	if number > 1 {
		kind += strconv.Itoa(number)
	}
	return kind + mirrored
}

// change is a copy of pictures of one shape: its number and what is needed to make it.
type change struct {
	Augmentation
	Shape
	copy       int
	seed       uint64
	room, side []uint8
}

// append appends copy of a row, which is the one of that number in the source.
func (c *change) append(dst, row []uint8, number int) []uint8 {
	kind, mirrored := c.copy, false
	if c.Mirror {
		kind, mirrored = c.copy/2, c.copy%2 == 1
	}
	if kind > 0 {
		rng := rand.New(rand.NewPCG(c.seed, uint64(number)<<8|uint64(kind)))
		c.room = slices.Grow(c.room[:0], len(row))[:len(row)]
		c.side = slices.Grow(c.side[:0], len(row))[:len(row)]
		if p := c.Shape.Picture(row, c.side); kind <= c.Shifts {
			c.shift(p, rng)
		} else {
			c.crop(p, rng)
		}
		row = c.room
	}
	if mirrored {
		return c.appendMirrored(dst, row)
	}
	return append(dst, row...)
}

// shift moves a picture into the room.
func (c *change) shift(p Picture, rng *rand.Rand) {
	reach := func(side int) int { return max(side/16, 1) }
	dx, dy := 0, 0
	for dx == 0 && dy == 0 {
		dx, dy = rng.IntN(2*reach(c.Width)+1)-reach(c.Width), rng.IntN(2*reach(c.Height)+1)-reach(c.Height)
	}
	to := Preparation{Shape: c.Shape}
	for y := range c.Height {
		for x := range c.Width {
			fx, fy := min(max(x+dx, 0), c.Width-1), min(max(y+dy, 0), c.Height-1)
			to.put(c.room, x, y, p.Pix[(fy*c.Width+fx)*c.Channels:][:c.Channels])
		}
	}
}

// crop enlarges a part of a picture into the room.
func (c *change) crop(p Picture, rng *rand.Rand) {
	across, down := c.Width-max(c.Width/8, 1), c.Height-max(c.Height/8, 1)
	if across < 1 || down < 1 { // nothing to cut off
		across, down = c.Width, c.Height
	}
	left, top := rng.IntN(c.Width-across+1), rng.IntN(c.Height-down+1)
	large := make([]uint8, len(c.room))
	resize(large, c.Channels, newAxis(across, c.Width), newAxis(down, c.Height), func(k int) []uint8 {
		return p.Pix[((top+k)*c.Width+left)*c.Channels:][:across*c.Channels]
	})
	to := Preparation{Shape: c.Shape}
	for y := range c.Height {
		for x := range c.Width {
			to.put(c.room, x, y, large[(y*c.Width+x)*c.Channels:][:c.Channels])
		}
	}
}

// copyBytes bounds the pictures that wait in memory for their copies; of more, the source is read again.
const copyBytes = 1 << 30

// Augmented is the Source of pictures and, after all of them, of one copy of each after the other, in the order of the
// pictures. Where there are mirror images, those of the pictures themselves come first.
func Augmented(pictures Source, a Augmentation, seed uint64) Source {
	return augmented{pictures, a, seed, copyBytes}
}

// Mirrored is the Source of pictures and, after all of them, of their mirror images.
func Mirrored(pictures Source) Source { return Augmented(pictures, Augmentation{Mirror: true}, 0) }

type augmented struct {
	Source
	Augmentation
	seed  uint64
	limit int
}

func (m augmented) Schema() vectors.Schema { return withPreparation(m.Source, m.Preparation()) }

func (m augmented) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] { return Pixels(ctx, m) }

func (m augmented) Preparation() Preparation {
	p := m.Source.Preparation()
	p.Mirrored = p.Mirrored || m.Mirror
	return p
}

func (m augmented) Pictures(ctx context.Context) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		rows, bytes := 0, 0
		var kept []Chunk
		for c, err := range m.Source.Pictures(ctx) {
			if !yield(c, err) || err != nil {
				return
			}
			rows = c.First + c.X.Rows
			if bytes += len(c.Pix); bytes <= m.limit {
				own := Chunk{vectors.Chunk{First: c.First}, slices.Clone(c.Pix)}
				own.Append(c.Chunk)
				kept = append(kept, own)
			} else {
				kept = nil
			}
		}
		again := m.Source.Pictures(ctx)
		if bytes <= m.limit {
			again = func(yield func(Chunk, error) bool) {
				for _, c := range kept {
					if !yield(c, context.Cause(ctx)) {
						return
					}
				}
			}
		}
		for n := 1; n < m.PerPicture(); n++ {
			if !m.copies(again, n, rows, yield) {
				return
			}
		}
	}
}

// copies yields the copies of one number, after those of lesser ones, and returns whether to go on.
func (m augmented) copies(pictures iter.Seq2[Chunk, error], n, rows int, yield func(Chunk, error) bool) bool {
	change := change{Augmentation: m.Augmentation, Shape: m.Preparation().Shape, copy: n, seed: m.seed}
	mark, size := m.idMark(n), change.Values()
	var pix []uint8
	var ids []string
	for c, err := range pictures {
		if err != nil {
			yield(Chunk{}, err)
			return false
		}
		pix, ids = pix[:0], ids[:0]
		for i := range c.X.Rows {
			pix = change.append(pix, c.Pix[i*size:(i+1)*size], c.First+i)
		}
		for _, id := range c.IDs {
			ids = append(ids, id+mark)
		}
		c.First += n * rows
		c.Pix = pix
		if c.IDs != nil {
			c.IDs = ids
		}
		if !yield(c, nil) {
			return false
		}
	}
	return true
}
