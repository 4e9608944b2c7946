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

// Augmentation selects modified copies of pictures to learn from, in addition to the pictures themselves, with the same
// labels and tags. What a picture shows rarely depends on the side it is seen from or on where exactly it was cut.
//
//	mirror   flipped left to right: every picture and every other copy
//	shift    moved by up to a sixteenth of its size, repeating the pixels at the edge
//	crop     seven eighths of width and height, from anywhere, enlarged
//
// A copy depends only on the picture, its number among the pictures, and the seed.
type Augmentation struct {
	Mirror        bool
	Shifts, Crops int // copies of every picture, not counting mirrored ones
}

// maxCopies bounds the training rows per picture.
const maxCopies = 32

// ParseAugmentation parses a list of mirror, shift and crop; shift and crop may be repeated for more copies.
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

// String returns the list that ParseAugmentation parses.
func (a Augmentation) String() string {
	list := slices.Concat(slices.Repeat([]string{"shift"}, a.Shifts), slices.Repeat([]string{"crop"}, a.Crops))
	if a.Mirror {
		list = slices.Insert(list, 0, "mirror")
	}
	return strings.Join(list, ",")
}

// PerPicture returns the number of rows per picture, including the picture itself.
func (a Augmentation) PerPicture() int {
	n := 1 + a.Shifts + a.Crops
	if a.Mirror {
		n *= 2
	}
	return n
}

// MirrorMark is the suffix of a mirror image's id.
const MirrorMark = "#mirrored"

// idMark returns the suffix of a copy's ids. With mirror images, every second copy is the previous one mirrored.
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

// change makes one copy of pictures of one shape.
type change struct {
	Augmentation
	Shape
	copy       int
	seed       uint64
	room, side []uint8
}

// append appends the copy of a row, given its number in the source.
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

// shift writes a shifted picture to the buffer.
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

// crop writes an enlarged part of a picture to the buffer.
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

// copyBytes bounds the pictures held in memory for copying; beyond that, the source is read again.
const copyBytes = 1 << 30

// Augmented returns a Source of pictures followed by their copies: one copy of each picture, in order, then the next.
// If there are mirror images, those of the pictures themselves come first.
func Augmented(pictures Source, a Augmentation, seed uint64) Source {
	return augmented{pictures, a, seed, copyBytes}
}

// Mirrored returns a Source of pictures followed by their mirror images.
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

// copies yields the copies with number n, after those of smaller numbers, and reports whether to continue.
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
