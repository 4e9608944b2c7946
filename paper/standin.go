package paper

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"

	"hashgrove/dataset"
	"hashgrove/internal/trial"
	"hashgrove/method"
	"hashgrove/vectors"
)

// standin is vectors of a chosen size that are made, not measured: every class raises a fifteenth of the columns a
// little, the rest is noise. Row i depends on the seed and on i alone.
type standin struct {
	Rows, Cols, Classes int
	Seed                uint64
}

// Dim implements vectors.Source.
func (s standin) Dim() int { return s.Cols }

// Chunks implements vectors.Source.
func (s standin) Chunks(ctx context.Context) iter.Seq2[vectors.Chunk, error] {
	return func(yield func(vectors.Chunk, error) bool) {
		const rows = 256
		x := make([]float32, rows*s.Cols)
		for lo := 0; lo < s.Rows; lo += rows {
			if ctx.Err() != nil {
				yield(vectors.Chunk{}, context.Cause(ctx))
				return
			}
			n := min(rows, s.Rows-lo)
			c := vectors.Chunk{First: lo, X: vectors.Matrix{Rows: n, Cols: s.Cols, Data: x[:n*s.Cols]}}
			for i := range n {
				c.Labels = append(c.Labels, strconv.Itoa(s.row(c.X.Row(i), lo+i)))
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

// row fills in row i and returns its class.
func (s standin) row(x []float32, i int) int {
	rng := rand.New(rand.NewPCG(s.Seed, uint64(i)))
	class := rng.IntN(s.Classes)
	for j := range x {
		r := rng.Uint32() // the sum of four bytes is near enough to a bell
		x[j] = float32(r&255+r>>8&255+r>>16&255+r>>24) / 256
		if (j*31+class*17)%10 == 0 && (j/10+class)%3 != 0 {
			x[j] += 0.3
		}
	}
	return class
}

// sun397Size trains on vectors of the size of SUN397, since its pictures are not at hand for everybody: time and memory
// are what there is to see. The paper needs less than 7 GB for FastHash, and 62,076 s for 1024 bits: 61 s for a bit.
var sun397Size = Experiment{
	Name:  "sun397-size",
	About: "Time and memory on synthetic vectors of the size of SUN397: 100,417 x 11,200 in 397 classes",
	Run: func(ctx context.Context, lab *Lab) (*Table, error) {
		c := collection{name: "sun397-size", title: "SUN397", prefix: "standin-",
			vectors: func(ctx context.Context, lab *Lab) (material, error) {
				base := standin{100_417, 11_200, 397, 1}
				queries := standin{8000, 11_200, 397, 2}
				if lab.Short {
					base, queries = standin{600, 120, 12, 1}, standin{100, 120, 12, 2}
				}
				return lab.standins(ctx, base, queries)
			}}
		made := recipe{Name: "made-up"}
		sampled := trees(16, 0, 6)
		sampled.Trees.NodeRows = 5000
		rows := []row{
			methodRow(made, 0, "lsh", method.Options{}, paperRow{}),
			fastHashRow(made, 0, trees(16, 0, 6), "FastHash", paperRow{}),
			fastHashRow(made, 0, sampled, "FastHash-N", paperRow{}),
			methodRow(made, 0, "pca-itq", method.Options{}, paperRow{}),
			methodRow(made, 0, "cca-itq", method.Options{}, paperRow{}),
		}
		return lab.table(ctx, c, "Synthetic vectors of the size of SUN397: time and memory", `The training set and database are
100,417 synthetic vectors of 11,200 values in 397 classes, 4.5 GB as float32 and 1.1 GB as the bytes that trees learn
from; there are 8,000 queries. The quality of the codes says nothing about real pictures. Trees have depth 6. The paper
reports less than 7 GB for FastHash, and 61 s per bit (62,076 s for 1,024 bits).`, rows)
	},
}

// sizes is the labels of such vectors, for Step 1, which sees nothing else.
var sizes = collection{
	name: "sun397-size", title: "labels of the size of SUN397", prefix: "standin-",
	parts: "The 100,417 labels of 397 classes are drawn at random; those of SUN397 are less even.",
	open: func(*Lab) (base, queries split, err error) {
		s := standin{100_417, 1, 397, 1}
		base = split{name: "standin-base", digest: trial.Key("standin 1", s),
			open: func() (vectors.Source, error) { return s, nil }}
		return base, base, nil
	},
}

// standins makes the files of a stand-in.
func (lab *Lab) standins(ctx context.Context, base, queries standin) (m material, err error) {
	for _, part := range []struct {
		name string
		standin
		set *(*dataset.Set)
		key *string
	}{{"base", base, &m.base, &m.baseKey}, {"queries", queries, &m.queries, &m.queryKey}} {
		*part.key = trial.Key("standin 1", part.standin)
		path, err := lab.file(fmt.Sprintf("standin%d-%s", part.Cols, part.name), *part.key, ".npy",
			func(path string) error {
				_, err := dataset.SaveNpy(ctx, part.standin, path, dataset.Float32, nil)
				return err
			})
		if err != nil {
			return m, err
		}
		if *part.set, err = openVectors(path); err != nil {
			return m, err
		}
	}
	return m, nil
}
