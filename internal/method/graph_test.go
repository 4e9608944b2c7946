package method

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"hashgrove/internal/fasthash/affinity"
	"hashgrove/internal/numeric/linalg"
	"hashgrove/internal/testkit/methodtest"
	"hashgrove/internal/vectors"
)

// neighboursByDefinition returns the matrix W: for every row its k nearest similar rows, made symmetric by the maximum.
func neighboursByDefinition(x vectors.Matrix, y affinity.Matrix, k int) *mat.SymDense {
	w := mat.NewSymDense(x.Rows, nil)
	for i := range x.Rows {
		var others []int
		cosine := make([]float64, x.Rows)
		for j := range x.Rows {
			if y.At(i, j) == 1 {
				others = append(others, j)
				cosine[j] = linalg.Dot32(x.Row(i), x.Row(j))
			}
		}
		slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(cosine[b], cosine[a]) })
		for _, j := range others[:min(k, len(others))] {
			w.SetSym(i, j, max(w.At(i, j), cosine[j], leastWeight))
		}
	}
	return w
}

func affinities(t *testing.T, n int) map[string]affinity.Matrix {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 4))
	class := make([]int32, n)
	start, tag := []int{0}, []int32{}
	var list []affinity.Pair
	for i := range n {
		class[i] = rng.Int32N(3)
		for v := range int32(5) {
			if rng.IntN(2) == 0 {
				tag = append(tag, v)
			}
		}
		start = append(start, len(tag))
		for j := range i {
			if rng.IntN(6) == 0 {
				list = append(list, affinity.Pair{A: int32(i), B: int32(j), Y: int8(2*rng.IntN(2) - 1)})
			}
		}
	}
	class[n-1] = 9 // alone
	classes, err := affinity.ByClass(class)
	if err != nil {
		t.Fatal(err)
	}
	tags, err := affinity.ByTags(start, tag, 3)
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := affinity.FromPairs(n, list)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]affinity.Matrix{"classes": classes, "tags": tags, "pairs": pairs}
}

func TestGraphAgainstDense(t *testing.T) {
	const n, d, k, vectors = 130, 9, 6, 12
	x := methodtest.RandomRows(2, n, d)
	for i := range n {
		scaleToUnit(x.Row(i))
	}
	for name, y := range affinities(t, n) {
		g, err := similarNeighbours(context.Background(), x, y, k, 2)
		if err != nil {
			t.Fatal(err)
		}
		w := neighboursByDefinition(x, y, k)
		got := mat.NewDense(n, n, nil)
		for i := range n {
			for p := g.start[i]; p < g.start[i+1]; p++ {
				got.Set(i, int(g.to[p]), float64(g.weight[p]))
			}
		}
		for i := range n {
			for j := range n {
				if math.Abs(got.At(i, j)-w.At(i, j)) > 1e-5 {
					t.Fatalf("%s: rows %d and %d have the weight %v instead of %v", name, i, j, got.At(i, j), w.At(i, j))
				}
			}
		}
		// The dense problem, as D^-1/2 (D - W) D^-1/2.
		degree := g.degrees()
		l := mat.NewSymDense(n, nil)
		for i := range n {
			for j := i; j < n; j++ {
				v := -w.At(i, j)
				if i == j {
					v += degree[i]
				}
				l.SetSym(i, j, v/math.Sqrt(degree[i]*degree[j]))
			}
		}
		values, _, err := linalg.AllEigenvectors(l)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(values)
		if math.Abs(values[0]) > 1e-5 {
			t.Fatalf("%s: the least λ is %v", name, values[0])
		}
		v, lambda, err := g.smoothestVectors(context.Background(), vectors, 3, 2)
		if err != nil {
			t.Fatal(err)
		}
		for b := range vectors {
			if math.Abs(lambda[b]-values[b+1]) > 1e-4 {
				t.Errorf("%s: λ of vector %d is %v instead of %v", name, b, lambda[b], values[b+1])
			}
			row := v.RawRowView(b)
			sum := 0.0
			for i := range n {
				left := degree[i] * row[i]
				for j := range n {
					left -= w.At(i, j) * row[j]
				}
				if math.Abs(left-lambda[b]*degree[i]*row[i]) > 1e-4 {
					t.Fatalf("%s: vector %d is none in row %d", name, b, i)
				}
				sum += degree[i] * row[i]
			}
			if math.Abs(sum) > 1e-5 {
				t.Errorf("%s: vector %d has a part of equal values, %v", name, b, sum)
			}
		}
	}
}
