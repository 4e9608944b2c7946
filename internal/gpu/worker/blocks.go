//go:build (linux || darwin || windows) && (amd64 || arm64)

package worker

import (
	"fmt"
	"io"
	"math/bits"
	"unsafe"

	"hashgrove/internal/gpu/frame"
	"hashgrove/internal/gpu/opencl"
)

// Columns that do not fit the device's memory go through it in blocks of rows, once for each level of a tree. The host
// keeps them, block by block. Counting is all that needs every column; the rows of a level are moved by the columns of
// its splits alone, which the host copies to the device once they are known.
//
//	for each level
//		for each block    copy it to the device, count it
//		split, choose
//		pick              columns of the splits; the host settles nodes in which nothing gains
//		move
//
// Cost: the columns are copied Depth times for a tree, so the device's bus sets the pace.

// blocks holds columns in blocks of rows; rows is 0 if they fit the device.
type blocks struct {
	rows   int      // of a block
	host   [][]byte // by block: all columns, one after the other
	picked opencl.Buffer
	levels []level
	before []*opencl.Kernel // the levels
	after  []*opencl.Kernel
	lists  []uint32 // candidates, as in session.columns
}

// level holds the kernels of a level.
type level struct {
	count, split, choose, move *opencl.Kernel
}

// cut decides how many rows a block has, given the memory that is left for columns.
func (b *blocks) cut(rows, columns int, room int64) error {
	if int64(padded(rows, 128))*int64(columns) <= room {
		return nil
	}
	b.rows = int(room/int64(max(columns, 1))) &^ (4*items - 1)
	if b.rows == 0 {
		return fmt.Errorf("not even %d rows of %d columns fit the device's memory", 4*items, columns)
	}
	return nil
}

// read keeps columns in the host's memory.
func (b *blocks) read(r io.Reader, rows, columns int) error {
	for lo := 0; lo < rows; lo += b.rows {
		b.host = append(b.host, make([]byte, columns*b.rows))
	}
	column := make([]byte, rows)
	for j := range columns {
		if _, err := io.ReadFull(r, column); err != nil {
			return err
		}
		for k, block := range b.host {
			copy(block[j*b.rows:][:b.rows], column[k*b.rows:])
		}
	}
	return nil
}

// column returns a whole column.
func (b *blocks) column(rows, j int) []byte {
	out := make([]byte, 0, rows)
	for k, block := range b.host {
		out = append(out, block[j*b.rows:][:min(b.rows, rows-k*b.rows)]...)
	}
	return out
}

// queueBlocks runs a round whose columns go through the device in blocks.
func (s *session) queueBlocks(round int) error {
	if err := runAll(s.blocks.before); err != nil {
		return err
	}
	for depth, l := range s.blocks.levels {
		for k, block := range s.blocks.host {
			if l.count == nil {
				break
			}
			base := k * s.blocks.rows
			if err := opencl.Write(s.q, s.x, 0, block); err != nil {
				return err
			}
			if err := l.count.Set(12, int32(base)); err != nil {
				return err
			}
			if err := l.count.Set(13, int32(min(s.blocks.rows, s.plan.Rows-base))); err != nil {
				return err
			}
			if err := l.count.Run(); err != nil {
				return err
			}
		}
		if l.split != nil {
			if err := l.split.Run(); err != nil {
				return err
			}
		}
		if err := l.choose.Run(); err != nil {
			return err
		}
		if err := s.pick(round, depth); err != nil {
			return err
		}
		if err := l.move.Run(); err != nil {
			return err
		}
	}
	return runAll(s.blocks.after)
}

// pick copies the columns of the splits of a level to the device.
func (s *session) pick(round, depth int) error {
	var t [1]tree
	if err := opencl.Read(s.q, s.m.tree, 0, t[:]); err != nil {
		return err
	}
	var asked [frame.Nodes]int32
	if err := opencl.Read(s.q, s.m.asked, 0, asked[:]); err != nil {
		return err
	}
	first := 1<<depth - 1
	for v := range 1 << depth {
		at := first + v
		if asked[v] == 1 {
			if err := s.settleNode(&t[0], round, depth, v); err != nil {
				return err
			}
		}
		if t[0].closed[at] != 0 {
			continue
		}
		column := s.blocks.column(s.plan.Rows, int(t[0].feature[at]))
		if err := opencl.Write(s.q, s.blocks.picked, int64(at)*int64(s.job.picked), column); err != nil {
			return err
		}
	}
	return nil
}

// settleNode finds the first column of a node's candidates in which its rows have two bins, and splits it at the
// lowest, as choose does where it can read the columns.
func (s *session) settleNode(t *tree, round, depth, v int) error {
	at := 1<<depth - 1 + v
	node := make([]uint8, s.plan.Rows)
	if err := opencl.Read(s.q, s.m.node[depth%2], 0, node); err != nil {
		return err
	}
	list := s.blocks.lists
	switch k := s.plan.Candidates; {
	case s.plan.IsLazy:
		list = list[(round*s.plan.Splits+at)*k:][:k]
	case s.plan.IsDrawn:
		list = list[round*k:][:k]
	}
	for _, j := range list {
		var found [histBins / 64]uint64
		for i, c := range s.blocks.column(s.plan.Rows, int(j)) {
			if int(node[i]) == v {
				found[c/64] |= 1 << (c % 64)
			}
		}
		many, low := 0, histBins
		for w := len(found) - 1; w >= 0; w-- {
			if many += bits.OnesCount64(found[w]); found[w] != 0 {
				low = 64*w + bits.TrailingZeros64(found[w])
			}
		}
		if many < 2 {
			continue
		}
		t.closed[at], t.feature[at], t.bin[at] = 0, j, int32(low)
		for offset, value := range map[uintptr]int32{
			unsafe.Offsetof(t.closed): 0, unsafe.Offsetof(t.feature): int32(j), unsafe.Offsetof(t.bin): int32(low),
		} {
			if err := opencl.Write(s.q, s.m.tree, int64(offset)+int64(4*at), []int32{value}); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}
