package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hashgrove"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/store"
)

const (
	bits = 64
	dims = 64
	k    = 10
)

// train trains a small model on vectors of ten classes, whose means are drawn once.
func train(ctx context.Context, path string) (*model.Model, error) {
	rng := rand.New(rand.NewPCG(7, 7))
	rows, labels := make([][]float32, 2000), make([]int, 2000)
	for i := range rows {
		labels[i] = i % 10
		rows[i] = vector(rng, labels[i])
	}
	m, err := hashgrove.Train(ctx, hashgrove.Rows(rows, labels), hashgrove.Options{Bits: bits, Effort: "quick"})
	if err != nil {
		return nil, err
	}
	if err := m.Save(path); err != nil {
		return nil, err
	}
	return model.ReadFile(path)
}

func vector(rng *rand.Rand, class int) []float32 {
	means := rand.New(rand.NewPCG(uint64(class), 3))
	x := make([]float32, dims)
	for i := range x {
		x[i] = float32(means.NormFloat64() + rng.NormFloat64())
	}
	return x
}

// build writes an index of random codes with the model's fingerprint, each item with a label, and returns the codes.
func build(ctx context.Context, path string, m *model.Model, items int) ([]uint64, error) {
	s, err := store.Create(ctx, path, store.Options{Model: m, Bits: bits, Fingerprint: m.Fingerprint()})
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(1, 1))
	codes := make([]uint64, 0, items)
	for lo := 0; lo < items; lo += 1_000_000 {
		b := index.NewBatch(bits)
		b.Fingerprint = m.Fingerprint()
		for i := lo; i < min(lo+1_000_000, items); i++ {
			codes = append(codes, rng.Uint64())
			b.Append(index.Item{
				ID: index.Int(int64(i)), Code: codes[i:], Label: "class " + strconv.Itoa(rng.IntN(10)),
			})
		}
		if err := s.Add(ctx, b); err != nil {
			return nil, err
		}
	}
	return codes, s.Close()
}

// queries holds codes of items with three bits changed, random codes, and vectors.
type queries struct {
	near, random []uint64
	vectors      [][]float32
}

func draw(codes []uint64, n int) queries {
	rng := rand.New(rand.NewPCG(2, 2))
	var q queries
	for range n {
		near := codes[rng.IntN(len(codes))]
		for range 3 {
			near ^= 1 << rng.IntN(bits)
		}
		q.near, q.random = append(q.near, near), append(q.random, rng.Uint64())
		q.vectors = append(q.vectors, vector(rng, rng.IntN(10)))
	}
	return q
}

// codeBodies returns searches by code as JSON.
func codeBodies(codes []uint64) [][]byte {
	var list [][]byte
	for _, c := range codes {
		list = append(list, fmt.Appendf(nil, `{"code":"%x","k":%d}`, packed(c), k))
	}
	return list
}

// packed returns the bytes of a code.
func packed(c uint64) []byte {
	return hamming.Codes{Bits: bits, Words: 1, Data: []uint64{c}}.AppendBytes(nil, 0)
}

// vectorBodies returns searches by vector as JSON.
func vectorBodies(rows [][]float32) [][]byte {
	var list [][]byte
	for _, x := range rows {
		text, err := json.Marshal(map[string]any{"vector": x, "k": k})
		check(err)
		list = append(list, text)
	}
	return list
}

// batchBodies returns bodies of n packed vectors each.
func batchBodies(rows [][]float32, n int) [][]byte {
	var list [][]byte
	for lo := 0; lo+n <= len(rows); lo += n {
		var b []byte
		for _, x := range rows[lo : lo+n] {
			for _, v := range x {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
			}
		}
		list = append(list, b)
	}
	return list
}

// direct holds the processor time of a search without HTTP: encoding if needed, searching, and looking up the hits, one
// query at a time on every core, like the service under load.
type direct struct{ near, random, vector, batch time.Duration }

func measureDirect(ctx context.Context, path string, m *model.Model, q queries, perBatch int) (direct, error) {
	s, err := store.Open(ctx, path, store.OpenOptions{ReadOnly: true})
	if err != nil {
		return direct{}, err
	}
	defer s.Close()
	x := s.Snapshot()
	search := func(code []uint64) {
		r, err := x.Search(ctx, code, k, index.Options{Threads: 1, Ties: true})
		check(err)
		if len(r.Hits) != k {
			check(fmt.Errorf("%d hits", len(r.Hits)))
		}
		for _, h := range r.Hits {
			x.Item(h)
		}
	}
	each := func(n int, do func(i int)) time.Duration {
		for i := range min(n, 200) {
			do(i)
		}
		var count atomic.Int64
		var wg sync.WaitGroup
		before, began := ownCPU(), time.Now()
		for range runtime.NumCPU() {
			wg.Go(func() {
				for time.Since(began) < time.Second {
					do(int(count.Add(1)) % n)
				}
			})
		}
		wg.Wait()
		return (ownCPU() - before) / time.Duration(count.Load())
	}
	var d direct
	d.near = each(len(q.near), func(i int) { search(q.near[i : i+1]) })
	d.random = each(len(q.random), func(i int) { search(q.random[i : i+1]) })
	d.vector = each(len(q.vectors), func(i int) {
		code, err := m.EncodeRow(q.vectors[i])
		check(err)
		search(code)
	})
	d.batch = each(len(q.vectors)/perBatch, func(i int) {
		codes := hamming.NewCodes(perBatch, bits)
		for j := range perBatch {
			code, err := m.EncodeRow(q.vectors[i*perBatch+j])
			check(err)
			copy(codes.Row(j), code)
		}
		results, err := x.SearchBatch(ctx, codes, k, index.Options{Threads: 1, Ties: true})
		check(err)
		for _, r := range results {
			for _, h := range r.Hits {
				x.Item(h)
			}
		}
	}) / time.Duration(perBatch)
	return d, nil
}

func ownCPU() time.Duration {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// saveCodes writes codes as a NumPy array of bytes, for FAISS.
func saveCodes(path string, codes []uint64) error {
	header := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }", len(codes), bits/8)
	for (10+len(header)+1)%64 != 0 {
		header += " "
	}
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	b.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(header)+1)))
	b.WriteString(header + "\n")
	for _, c := range codes {
		b.Write(packed(c))
	}
	return os.WriteFile(path, b.Bytes(), 0o600)
}
