package model

import (
	"context"
	"encoding/binary"

	"hashgrove/internal/par"
	"hashgrove/vectors"
)

// Outputs writes h(x), +1 or -1, for every row of the columns: the bit as training sees it. The function must fit
// the columns.
func Outputs(ctx context.Context, f Function, x *vectors.Columns, threads int, dst []int8) error {
	if len(dst) != x.Rows {
		panic("model: Outputs for another number of rows")
	}
	if err := f.Check(x.Dim()); err != nil {
		return err
	}
	if l, ok := f.(*Linear); ok {
		return par.Blocks(ctx, threads, x.Rows, 1024, func(_, lo, hi int) {
			score := make([]int64, hi-lo)
			for r := range score {
				score[r] = l.Bias
			}
			for j, w := range l.Weight {
				for r, b := range x.Column(j)[lo:hi] {
					score[r] += int64(w) * int64(b)
				}
			}
			for r, s := range score {
				dst[lo+r] = 1 + 2*int8(s>>63)
			}
		})
	}
	fs := []*Ensemble{f.(*Ensemble)}
	columns := columnsOf(fs)
	places := make([]uint32, len(columns))
	for c := range places {
		places[c] = uint32(c)
	}
	p := newPlan(fs, columns, places)
	return par.Blocks(ctx, threads, x.Rows, block, func(_, lo, hi int) {
		s := p.scratch.Get().(*scratch)
		defer p.scratch.Put(s)
		var bins [8][block]uint8
		for w := range s.planes {
			for c, j := range columns[8*w : min(8*w+8, len(columns))] {
				copy(bins[c][:], x.Column(int(j))[lo:hi])
			}
			gather(&s.planes[w], &bins)
			transpose(&s.planes[w])
		}
		var code [64]set
		p.encode(0, s, &code)
		for r := range dst[lo:hi] {
			dst[lo+r] = int8(code[r%64][r/64]>>63)*2 - 1
		}
	})
}

// gather puts the bins of each row, one from each of eight columns, into a word: it transposes 8 x 8 bytes at a time,
// as transposeGo does with bits.
func gather(dst *[64]set, bins *[8][block]uint8) {
	for r := 0; r < block; r += 8 {
		var a [8]uint64
		for c := range a {
			a[c] = binary.LittleEndian.Uint64(bins[c][r:])
		}
		for k, mask := range [3]uint64{0x00000000ffffffff, 0x0000ffff0000ffff, 0x00ff00ff00ff00ff} {
			apart := 4 >> k
			for i := range a {
				if i&apart == 0 {
					t := (a[i]>>(8*apart) ^ a[i+apart]) & mask
					a[i] ^= t << (8 * apart)
					a[i+apart] ^= t
				}
			}
		}
		for i, word := range a {
			dst[r%64+i][r/64] = word
		}
	}
}
