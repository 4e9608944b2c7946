//go:build (linux || darwin || windows) && (amd64 || arm64)

package worker

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"hashgrove/internal/fasthash/boost"
	"hashgrove/internal/fasthash/boost/enginetest"
	"hashgrove/internal/gpu/frame"
	"hashgrove/internal/gpu/opencl"
	"hashgrove/internal/pages"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/vectors"
)

// BenchmarkKernels says where the time of a round goes.
func BenchmarkKernels(b *testing.B) {
	if os.Getenv("OCL_ICD_FILENAMES") == "" {
		os.Setenv("OCL_ICD_FILENAMES", "libnvidia-opencl.so.1")
	}
	d, err := Find(true)
	if err != nil {
		needs.Skip(b, needs.OpenCL, err)
	}
	x, z := enginetest.Mixture(1, 1)
	for _, size := range enginetest.Sizes {
		for _, cut := range [][3]int{{32, 2048, 12}, {16, 1024, 12}, {16, 2048, 12}, {16, 4096, 24}, {8, 1024, 24}, {8, 4096, 24}, {24, 1024, 12}} {
			b.Run(fmt.Sprintf("%s/%d-%d-%d", size.Name, cut[0], cut[1], cut[2]), func(b *testing.B) {
				tallies, leastStretch, groupsPer = cut[0], cut[1], cut[2]
				q, err := opencl.NewQueue(d, source, compilerOptions(d))
				if err != nil {
					b.Fatal(err)
				}
				if x.Rows != size.Rows || x.Dim() != size.Columns {
					x, z = enginetest.Mixture(size.Rows, size.Columns)
				}
				o, err := size.Options.WithDefaults()
				if err != nil {
					b.Fatal(err)
				}
				o.Rounds = 40
				s := openSession(b, q, x, z, o)
				defer s.free()
				if err := s.queue(0, 10); err != nil {
					b.Fatal(err)
				}
				if err := s.q.Finish(); err != nil {
					b.Fatal(err)
				}
				times := map[string]float64{}
				for range 10 {
					for _, k := range s.round {
						began := time.Now()
						if err := cmp.Or(k.Run(), s.q.Finish()); err != nil {
							b.Fatal(err)
						}
						times[k.Name()] += 1e6 * time.Since(began).Seconds() / 10
					}
				}
				for b.Loop() {
				}
				b.ReportMetric(0, "ns/op")
				names := make([]string, 0, len(times))
				for name := range times {
					names = append(names, name)
				}
				slices.Sort(names)
				for _, name := range names {
					b.ReportMetric(times[name], fmt.Sprintf("us-%s", name))
				}
				began := time.Now()
				if err := s.queue(0, 10); err != nil {
					b.Fatal(err)
				}
				s.q.Finish()
				b.ReportMetric(1e5*time.Since(began).Seconds(), "us-round")
			})
		}
	}
}

// openSession opens a session in this process and starts a bit.
func openSession(b testing.TB, q *opencl.Queue, x *vectors.Columns, z []int8, o boost.Options) *session {
	all := boost.PlanOf(x, o, 0)
	p := &frame.Plan{Plan: *all, Drawn: all.DrawnPerRound()}
	var chance []byte
	if p.IsLogistic {
		chance = pages.Bytes(boost.Chances())
	}
	var readers []io.Reader
	for j := range x.Dim() {
		readers = append(readers, bytes.NewReader(x.Column(j)))
	}
	readers = append(readers, bytes.NewReader(pages.Bytes(all.Usable())), bytes.NewReader(chance))
	s, err := newSession(q, p, io.MultiReader(readers...), []int64{int64(x.Rows) * int64(x.Dim()),
		int64(4 * len(all.Usable())), int64(len(chance))})
	if err != nil {
		b.Fatal(err)
	}
	words, u := make([]uint64, (x.Rows+63)/64), make([]float64, x.Rows)
	for i, v := range z {
		u[i] = 1
		if v > 0 {
			words[i/64] |= 1 << (i % 64)
		}
	}
	keys, columns := p.Draw(&boost.Problem{Z: words, U: u, Seed: 1, Bit: 1})
	if p.Drawn == 0 {
		columns = nil
	}
	parts := [][]byte{pages.Bytes(words), pages.Bytes(u), nil, pages.Bytes(keys), pages.Bytes(columns)}
	var input []io.Reader
	for _, part := range parts {
		input = append(input, bytes.NewReader(part))
	}
	if err := s.start(io.MultiReader(input...), frame.Lengths(parts...)); err != nil {
		b.Fatal(err)
	}
	return s
}
