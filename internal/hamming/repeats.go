package hamming

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"hash/maphash"
	"io"
	"os"
	"slices"
)

// Finds repeated ids among any number of them in bounded memory, by an external sort of their hashes.
//
//	runs   of at most repeatsInMemory pairs (hash of the id, its place) are sorted in memory and written to one file
//	merge  the runs with a heap; places with equal hashes are doubtful, and their ids are compared later
//
// Cost: n log n comparisons, 16 bytes per id on disk beyond the first run, 64 MiB of memory and a small buffer per run.
// The hash has a random seed, so nobody can construct many different ids with equal hashes.

// repeatsInMemory is the number of ids in a run.
const repeatsInMemory = 1 << 22

// maxDoubtful bounds the places to compare: the first few settle the answer.
const maxDoubtful = 1 << 10

// hashed is the hash of an id and its place.
type hashed struct{ hash, place uint64 }

func (a hashed) compare(b hashed) int {
	return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.place, b.place))
}

// repeats finds ids that occur twice.
type repeats struct {
	folder string // for the file
	most   int    // pairs per run

	n    uint64 // ids so far
	seed maphash.Seed
	run  []hashed
	file *os.File // earlier runs
	runs []int    // their lengths
}

// add adds the next id.
func (r *repeats) add(id string) error {
	if r.n == 0 {
		r.seed = maphash.MakeSeed()
	}
	r.run = append(r.run, hashed{maphash.String(r.seed, id), r.n})
	r.n++
	if len(r.run) < r.most {
		return nil
	}
	return r.spill()
}

// spill writes the current run to the file.
func (r *repeats) spill() (err error) {
	if r.file == nil {
		if r.file, err = os.CreateTemp(r.folder, "ids-*.tmp"); err != nil {
			return err
		}
	}
	slices.SortFunc(r.run, hashed.compare)
	w := bufio.NewWriterSize(r.file, 1<<16)
	var b []byte
	for _, h := range r.run {
		b = binary.LittleEndian.AppendUint64(b[:0], h.hash)
		b = binary.LittleEndian.AppendUint64(b, h.place)
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	r.runs, r.run = append(r.runs, len(r.run)), r.run[:0]
	return w.Flush()
}

// doubtful returns places that may share an id, in groups of two or more.
func (r *repeats) doubtful() ([]uint64, error) {
	slices.SortFunc(r.run, hashed.compare)
	runs := runHeap{}
	at := int64(0)
	for _, n := range r.runs {
		size := 16 * int64(n)
		runs = append(runs, &sortedRun{in: bufio.NewReaderSize(io.NewSectionReader(r.file, at, size), 1<<14), left: n})
		at += size
	}
	runs = append(runs, &sortedRun{memory: r.run, left: len(r.run)})
	for i := len(runs) - 1; i >= 0; i-- {
		if more, err := runs[i].advance(); err != nil {
			return nil, err
		} else if !more {
			runs = slices.Delete(runs, i, i+1)
		}
	}
	heap.Init(&runs)
	var found []uint64
	var last hashed
	have, taken := false, false // last is set; last was added to the result
	for len(runs) > 0 && len(found) < maxDoubtful {
		h := runs[0].first
		if have && h.hash == last.hash {
			if !taken {
				found = append(found, last.place)
			}
			found, taken = append(found, h.place), true
		} else {
			taken = false
		}
		last, have = h, true
		if more, err := runs[0].advance(); err != nil {
			return nil, err
		} else if more {
			heap.Fix(&runs, 0)
		} else {
			heap.Pop(&runs)
		}
	}
	return found, nil
}

// Close removes the file.
func (r *repeats) Close() {
	if r.file != nil {
		_ = r.file.Close() // its contents are no longer needed
		_ = os.Remove(r.file.Name())
	}
}

// sortedRun is a sorted run in memory or in the file.
type sortedRun struct {
	memory []hashed
	in     *bufio.Reader
	left   int
	first  hashed
}

// advance moves to the next pair. It returns false if there is none.
func (s *sortedRun) advance() (bool, error) {
	if s.left == 0 {
		return false, nil
	}
	s.left--
	if s.in == nil {
		s.first, s.memory = s.memory[0], s.memory[1:]
		return true, nil
	}
	var b [16]byte
	if _, err := io.ReadFull(s.in, b[:]); err != nil {
		return false, err
	}
	s.first = hashed{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])}
	return true, nil
}

// runHeap is a heap of runs with the least pair first.
type runHeap []*sortedRun

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return h[i].first.compare(h[j].first) < 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)        { *h = append(*h, x.(*sortedRun)) }
func (h *runHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
