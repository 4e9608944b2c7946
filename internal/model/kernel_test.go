package model

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hashgrove/internal/hamming"
)

// eachKernel runs f with all kernels of this machine.
func eachKernel(t *testing.T, f func(t *testing.T)) {
	all := kernels()
	defer use(all[len(all)-1])
	for _, name := range all {
		use(name)
		t.Run(name, f)
	}
}

func randomSets(rng *rand.Rand, n int) []set {
	s := make([]set, n)
	for i := range s {
		for l := range s[i] {
			s[i][l] = rng.Uint64()
		}
	}
	return s
}

func randomBlocks(rng *rand.Rand, n int) [][64]set {
	s := make([][64]set, n)
	for i := range s {
		copy(s[i][:], randomSets(rng, 64))
	}
	return s
}

// same compares what a kernel and its twin in Go made, and whether both kept to their place.
func same[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: place %d of %d differs from Go: %v, want %v", what, i, len(want), got[i], want[i])
		}
	}
}

// TestKernelsEqualGo compares every kernel with its twin in Go. What they write to has room that must stay as it is.
func TestKernelsEqualGo(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for n := range 40 {
			planes := randomBlocks(rng, 1+n/8)
			places := make([]uint32, n)
			for i := range places {
				places[i] = uint32(rng.IntN(8 * len(planes)))
			}
			a := make([]ladder, n+1) // what was there before must not matter
			for c := range a {
				a[c] = ladder(randomSets(rng, 32))
			}
			b := slices.Clone(a)
			ladders(a, planes, places)
			laddersGo(b, planes, places)
			same(t, "ladders", a, b)

			list := make([]test, n)
			for i := range list {
				list[i] = test{4 * uint16(rng.IntN(32*n)), 4 * uint16(rng.IntN(n)*32+rng.IntN(16))}
			}
			right, want := make([]set, n+1), make([]set, n+1)
			tests(right, a, list)
			testsGo(want, a, list)
			same(t, "tests", right, want)

			for depth := 1; depth <= unit; depth++ {
				right := randomSets(rng, 50)
				splits, invert := make([]uint32, n*Splits(depth)), make([]uint32, n<<(depth-1))
				for i := range splits {
					splits[i] = 4 * rng.Uint32N(50)
				}
				for i := range invert {
					invert[i] = -rng.Uint32N(2)
				}
				say, want := make([]set, n+1), make([]set, n+1)
				trees(depth, say[:n], right, splits, invert)
				treesGo(depth, want[:n], right, splits, invert)
				same(t, fmt.Sprint("trees of depth ", depth), say, want)
			}

			rows, splits, leaves := randomSets(rng, 50+4*n), make([]uint32, n*Splits(unit)), make([]byte, n<<(unit-1))
			for i := range splits {
				splits[i] = 4 * rng.Uint32N(50)
			}
			for i := range leaves {
				leaves[i] = 16 * byte(rng.IntN(16))
			}
			say, other := make([]set, 2*n+1), make([]set, 2*n+1)
			pairs(say[:2*n], rows, splits, leaves)
			pairsGo(other[:2*n], rows, splits, leaves)
			same(t, "pairs", say, other)
			merges(say, rows[50:], rows, splits[:n])
			mergesGo(other, rows[50:], rows, splits[:n])
			same(t, "merges", say, other)

			block := randomBlocks(rng, 2)
			transposed := slices.Clone(block)
			transpose(&block[0])
			transposeGo(&transposed[0])
			same(t, "transpose", block, transposed)

			words, tables := randomBlocks(rng, 1+n/8), make([]table, 1+n/8)
			total := int64(0)
			for q := range 1 + rng.IntN(len(tables)*perWord) {
				w := 1 + rng.Int32N(math.MaxInt32/int32(len(tables)*perWord))
				tables[q/perWord].add(q%perWord, w)
				total += int64(w)
			}
			for _, least := range []int32{1, int32((total + 1) / 2), int32(total)} {
				if got, want := sums(words, tables, least), sumsGo(words, tables, least); got != want {
					t.Fatalf("sums of %d words, at least %d: %x, want %x", len(words), least, got, want)
				}
			}
			var fast, slow [256]int32
			totals(&fast, words, tables)
			totalsGo(&slow, words, tables)
			if fast != slow {
				t.Fatalf("totals of %d words: %v, want %v", len(words), fast, slow)
			}
		}
	})
}

func TestFiniteEqualsGo(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 7, 31, 32, 33, 63, 64, 65, 100, 1000} {
			nan := float32(math.NaN())
			x := append(append(slices.Repeat([]float32{nan}, 40), make([]float32, n)...), slices.Repeat([]float32{nan}, 40)...)
			x = x[40 : 40+n : 40+n] // among values that must not matter
			for i := range x {
				x[i] = hard[i%len(hard)]
			}
			if !finite(x) || notFinite(x) != -1 {
				t.Fatalf("%d finite values are refused", n)
			}
			for i := range x {
				for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					old := x[i]
					x[i] = float32(bad)
					if finite(x) || notFinite(x) != i {
						t.Fatalf("%v at %d of %d is found at %d", bad, i, n, notFinite(x))
					}
					x[i] = old
				}
			}
		}
	})
}

// TestQuantizeEqualsBin goes over all edges of bins and their neighbours, infinities and NaN.
func TestQuantizeEqualsBin(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 2))
		const dim = 40
		q := randomQuantizer(rng, dim)
		f := &Ensemble{}
		for j := range uint32(dim) {
			f.Feature, f.Bin = append(f.Feature, j), append(f.Bin, 0)
		}
		l := newLayout([]*Ensemble{f}, q)
		var rows [4][]float32
		for b := range 256 {
			for i := range rows {
				rows[i] = make([]float32, dim)
				for j := range rows[i] {
					rows[i][j] = beside(q.Scale(j).Edge(uint8(min(b, 254))), i-1)
					if b == 255 {
						rows[i][j] = append(hard, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()))[(i*dim+j)%(len(hard)+3)]
					}
				}
			}
			planes := make([][64]set, len(l.windows))
			quantize4(planes, b%64, &rows, l.windows)
			for i, x := range rows {
				bins := l.bins(x)
				for j, v := range x {
					want := q.Scale(j).Bin(v)
					if one, four := uint8(bins[j/8]>>(j%8*8)), uint8(planes[j/8][b%64][i]>>(j%8*8)); one != want || four != want {
						t.Fatalf("column %d (%v to %v): bin of %v is %d, of four %d, want %d", j, q.Lo[j], q.Hi[j], v, one, four, want)
					}
				}
			}
		}
	})
}

func TestCoverHoldsEveryColumnOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for dim := 1; dim < 60; dim++ {
		var columns []uint32
		for j := range uint32(dim) {
			if rng.IntN(3) == 0 {
				columns = append(columns, j)
			}
		}
		starts, places := cover(columns, dim)
		if len(starts) > (dim+7)/8 {
			t.Errorf("%d windows for %d columns", len(starts), dim)
		}
		for c, j := range columns {
			at := starts[places[c]/8]
			if at < 0 || at > 0 && at+8 > dim || at+int(places[c]%8) != int(j) || c > 0 && places[c] <= places[c-1] {
				t.Fatalf("%d columns: column %d is at place %d of windows %v", dim, j, places[c], starts)
			}
		}
	}
}

// TestAnyNumberOfRows encodes blocks that are not full, with all depths, kernels and numbers of threads.
func TestAnyNumberOfRows(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		for rows := 1; rows <= 130; rows++ {
			depth := 1 + rows%MaxDepth
			rng := rand.New(rand.NewPCG(uint64(rows), 3))
			e := randomTrees(rng, 1+rng.IntN(3), 1+rng.IntN(30), depth, 1+rng.IntN(9))
			checkCodes(t, e, randomRows(rng, e, rows))
		}
		rng := rand.New(rand.NewPCG(9, 3))
		e := randomTrees(rng, 70, 30, 4, 61)
		x := randomRows(rng, e, 2*block+3)
		want := hamming.NewCodes(x.Rows, e.Bits())
		for r := range x.Rows {
			e.run(output{codes: want, first: r}, x.Slice(r, r+1))
		}
		for _, rows := range []int{block - 1, block, block + 1, block + 7, block + 8, 2*block + 3} {
			for _, threads := range []int{1, 2, 7} {
				codes, err := (&Model{Encoder: e}).Encode(context.Background(), x.Slice(0, rows), threads)
				if err != nil || !slices.Equal(codes.Data, want.Data[:len(codes.Data)]) {
					t.Fatalf("%d rows on %d threads differ from single rows (%v)", rows, threads, err)
				}
			}
		}
	})
}

// FuzzKernel: whatever the trees, the quantiser and the values, all kernels, the batch, single rows and the definition
// agree.
func FuzzKernel(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint16(200), uint8(4), uint8(64), uint16(130), []byte{0, 0, 128, 63})
	f.Add(uint64(2), uint8(0), uint16(1), uint8(1), uint8(1), uint16(1), []byte("\xff\xff\x7f\x7f\x00\x00\x00\x80\x01\x00\x00\x00"))
	f.Add(uint64(3), uint8(65), uint16(9), uint8(8), uint8(5), uint16(40), []byte{1, 2, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, seed uint64, bits uint8, dim uint16, depth, trees uint8, rows uint16, values []byte) {
		rng := rand.New(rand.NewPCG(seed, 1))
		d := int(depth)%MaxDepth + 1
		e := randomTrees(rng, int(bits)%70+1, int(dim)%300+1, d, int(trees)%70+1)
		pairUp(e)
		e.Functions = e.Functions[:max(1, min(len(e.Functions), 1<<12/(int(trees)%70+1)>>d))]
		x := randomRows(rng, e, int(rows)%300+1)
		for i := 0; i+4 <= len(values); i += 4 { // values of the fuzzer's own, also as the ends of a column
			v := math.Float32frombits(uint32(values[i]) | uint32(values[i+1])<<8 | uint32(values[i+2])<<16 | uint32(values[i+3])<<24)
			if !finiteGo([]float32{v}) {
				continue
			}
			x.Data[rng.IntN(len(x.Data))] = v
			if j := rng.IntN(e.Dim()); v > e.Quantizer.Lo[j] {
				e.Quantizer.Hi[j] = v
			} else if v < e.Quantizer.Lo[j] {
				e.Quantizer.Lo[j] = v
			}
		}
		var first hamming.Codes
		all := kernels()
		defer use(all[len(all)-1])
		for i, name := range all {
			use(name)
			fresh := &Binned{Quantizer: e.Quantizer, Functions: e.Functions}
			if i == 0 {
				checkCodes(t, fresh, x)
			}
			codes := hamming.NewCodes(x.Rows, e.Bits())
			if !fresh.run(output{codes: codes}, x) {
				t.Fatal("finite values are refused")
			}
			if i == 0 {
				first = codes
			}
			for r := range x.Rows {
				row, _ := (&Model{Encoder: fresh}).EncodeRow(x.Row(r))
				if !slices.Equal(row, first.Row(r)) || !slices.Equal(codes.Row(r), row) {
					t.Fatalf("%s: row %d is %x alone and %x in the batch, want %x", name, r, row, codes.Row(r), first.Row(r))
				}
			}
		}
	})
}
