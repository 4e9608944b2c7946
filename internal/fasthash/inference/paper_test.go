package inference

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/fasthash/maxflow"
	"hashgrove/internal/testkit/needs"
)

// asInPaper is Block GraphCut as the paper describes it, one variable per row, fields by a loop over all pairs, all pairs
// of a block as edges of one cut. KSH over classes, up to 64 bits.
type asInPaper struct {
	class  []int32
	blocks [][]int32
	code   []uint64
	z      []int8
	bit    int
	flow   maxflow.Sparse
}

func (p *asInPaper) infer(tb testing.TB, sweeps int, seed uint64) []int8 {
	for i := range p.z {
		p.z[i] = 1
	}
	k := int64(p.bit + 1)
	rng := rand.New(rand.NewPCG(seed, stream|uint64(k)))
	for range sweeps {
		for _, b := range rng.Perm(len(p.blocks)) {
			block := p.blocks[b]
			excess, sink := make([]int64, len(block)), make([]bool, len(block))
			p.flow.Start()
			for v, i := range block {
				for j := range p.z {
					if p.class[j] != p.class[i] {
						excess[v] += (2*k - 1 - 2*int64(bits.OnesCount64(p.code[i]^p.code[j]))) * int64(p.z[j])
					}
				}
				for to, j := range block {
					if i != j {
						p.flow.Add(int32(to), 1+2*int64(bits.OnesCount64(p.code[i]^p.code[j])))
					}
				}
				p.flow.Close()
			}
			if err := p.flow.Cut(ctx, excess, sink); err != nil {
				tb.Fatal(err)
			}
			for v, i := range block {
				p.z[i] = -1
				if sink[v] {
					p.z[i] = 1
				}
			}
		}
	}
	return p.z
}

func (p *asInPaper) push(h []int8) {
	for i, v := range h {
		if v > 0 {
			p.code[i] |= 1 << p.bit
		}
	}
	p.bit++
}

// race runs both on the same bits, checks that they agree, and tells how long each took. The plain method infers one of
// every so many bits, and its time for those is scaled to all.
func race(tb testing.TB, n, classes, bits, every int, noise float64) (ours, theirs time.Duration) {
	class := make([]int32, n)
	for i := range class {
		class[i] = int32(i % classes)
	}
	y, err := affinity.ByClass(class)
	if err != nil {
		tb.Fatal(err)
	}
	inf, err := New(y, bits, Options{Threads: 1}, 1)
	if err != nil {
		tb.Fatal(err)
	}
	p := &asInPaper{class: class, blocks: rowBlocks(inf.p), code: make([]uint64, n), z: make([]int8, n)}
	r := rand.New(rand.NewPCG(1, 1))
	h := make([]int8, n)
	inferred := 0
	for k := range bits {
		begin := time.Now()
		z, err := inf.Infer(ctx)
		if err != nil {
			tb.Fatal(err)
		}
		ours += time.Since(begin)
		if k%every == 0 {
			begin = time.Now()
			if !slices.Equal(p.infer(tb, 2, 1), z) {
				tb.Fatalf("bit %d differs from the plain method", k+1)
			}
			theirs += time.Since(begin)
			inferred++
		}
		for i := range h {
			h[i] = z[i]
			if r.Float64() < noise {
				h[i] = -z[i]
			}
		}
		begin = time.Now()
		inf.Push(h)
		ours += time.Since(begin)
		p.push(h)
	}
	return ours, theirs * time.Duration(bits) / time.Duration(inferred)
}

func TestPlainMethodGivesTheSameBits(t *testing.T) {
	for _, noise := range []float64{0, 0.1, 0.3} {
		race(t, 120, 6, 20, 1, noise)
	}
}

// BenchmarkStep1 infers the bits of 10 classes with 10 % wrong feedback, by our Block GraphCut and by the plain one, in
// the same run. At 50,000 rows the plain method has 12 million pairs in every block and does 4 of the 64 bits.
func BenchmarkStep1(b *testing.B) {
	for _, c := range []struct{ rows, bits, every int }{{2000, 24, 1}, {50_000, 64, 21}} {
		b.Run(fmt.Sprintf("rows=%d/bits=%d", c.rows, c.bits), func(b *testing.B) {
			if !needs.Full() && c.rows > 2000 {
				b.Skip("takes minutes")
			}
			var ours, theirs time.Duration
			for b.Loop() {
				o, t := race(b, c.rows, 10, c.bits, c.every, 0.1)
				ours += o
				theirs += t
			}
			b.ReportMetric(ours.Seconds()*1000/float64(b.N), "merged-ms")
			b.ReportMetric(theirs.Seconds()*1000/float64(b.N), "plain-ms")
			b.ReportMetric(theirs.Seconds()/ours.Seconds(), "plain/merged")
			b.ReportMetric(0, "ns/op")
		})
	}
}
