package svm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/internal/numeric/portable"
	"hashgrove/internal/vectors"
)

func columnsOf(n, dim int, bin func(i, j int) uint8) *vectors.Columns {
	q := vectors.Quantizer{Lo: make([]float32, dim), Hi: make([]float32, dim)}
	for j := range dim {
		q.Hi[j] = vectors.Bins - 1
	}
	x := vectors.NewColumns(n, q)
	for i := range n {
		for j := range dim {
			x.Column(j)[i] = bin(i, j)
		}
	}
	return x
}

// planes is random data cut by a random plane, with noise.
func planes(rng *rand.Rand, n, dim int, noise float64) (*vectors.Columns, []int8) {
	x := columnsOf(n, dim, func(i, j int) uint8 { return uint8(rng.IntN(256)) })
	w := make([]float64, dim)
	for j := range w {
		w[j] = rng.NormFloat64()
	}
	z := make([]int8, n)
	for i := range z {
		s := noise * rng.NormFloat64()
		for j := range w {
			s += w[j] * (float64(x.Column(j)[i])/255 - 0.5)
		}
		z[i] = -1
		if s > 0 {
			z[i] = 1
		}
	}
	return x, z
}

// slow is f(w) and its gradient, as defined.
func slow(x *vectors.Columns, z []int8, c float64, w []float64) (f float64, g []float64) {
	g = append([]float64(nil), w...)
	for _, v := range w {
		f += v * v / 2
	}
	for i := range z {
		row := make([]float64, len(w))
		s := 0.0
		for j := range row {
			row[j] = 1
			if j < x.Dim() {
				row[j] = float64(x.Column(j)[i]) / 255
			}
			s += w[j] * row[j]
		}
		if l := 1 - float64(z[i])*s; l > 0 {
			f += c * l * l
			for j := range row {
				g[j] -= 2 * c * l * float64(z[i]) * row[j]
			}
		}
	}
	return f, g
}

// descend finds the least f by gradient steps with momentum.
func descend(x *vectors.Columns, z []int8, c float64) float64 {
	dim := x.Dim() + 1
	step := 1 / (1 + 2*c*float64(len(z)*dim)) // no curvature is greater
	w, at := make([]float64, dim), make([]float64, dim)
	least := math.Inf(1)
	for k := range 4000 {
		_, g := slow(x, z, c, at)
		for j := range w {
			next := at[j] - step*g[j]
			at[j] = next + float64(k)/float64(k+3)*(next-w[j])
			w[j] = next
		}
		if k%100 == 99 {
			f, _ := slow(x, z, c, w)
			least = min(least, f)
		}
	}
	return least
}

// fit fits and checks what must hold of every result.
func fit(t testing.TB, b *Trainer, z []int8) (*model.Linear, float64) {
	t.Helper()
	h, err := b.Fit(context.Background(), z)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Check(b.x.Dim()); err != nil {
		t.Fatal(err)
	}
	mistakes := 0
	for i := range z {
		score := h.Bias
		for j, w := range h.Weight {
			if w >= 1<<30 || w <= -1<<30 {
				t.Fatalf("weight %d is %d", j, w)
			}
			score += int64(w) * int64(b.x.Column(j)[i])
		}
		if (score >= 0) != (z[i] == 1) {
			mistakes++
		}
	}
	return h, float64(mistakes) / float64(len(z))
}

func newTrainer(t testing.TB, x *vectors.Columns, o Options, threads int) *Trainer {
	t.Helper()
	b, err := New(x, o, threads)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestObjectiveIsTheLeast(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for turn := range 8 {
		n, dim := 20+rng.IntN(100), 1+rng.IntN(7)
		x, z := planes(rng, n, dim, 0.2)
		c := []float64{0.001, 0.1, 1, 10}[turn%4]
		least := descend(x, z, c)
		b := newTrainer(t, x, Options{C: c}, 1)
		fit(t, b, z)
		if f, _ := slow(x, z, c, b.w); f > 1.01*least || f < 0.999*least {
			t.Errorf("turn %d: f = %v, least %v", turn, f, least)
		}
		b = newTrainer(t, x, Options{C: c, Tolerance: 1e-9}, 1)
		fit(t, b, z)
		if _, g := slow(x, z, c, b.w); math.Sqrt(portable.Dot(g, g)) > 1e-5*(1+c*float64(n)) {
			t.Errorf("turn %d: gradient %v at the end", turn, g)
		}
	}
}

// The hyperplane over bins must be w, up to rounding and scale.
func TestRoundingKeepsTheDirection(t *testing.T) {
	w := []float64{3, -1.5, 1e-7, 0.25}
	h, err := roundedPlane(w)
	if err != nil {
		t.Fatal(err)
	}
	scale := float64(h.Weight[0]) / (w[0] / 255)
	for j, v := range h.Weight {
		if math.Abs(float64(v)-w[j]/255*scale) > 1 {
			t.Errorf("weight %d is %d", j, v)
		}
	}
	if h.Weight[0] != 1<<30-1 || math.Abs(float64(h.Bias)-w[3]*scale) > 1000 {
		t.Errorf("rounded to %+v", h)
	}
	for _, w := range [][]float64{{0, 0}, {0, -1}, {1e-300, 1}, {1, 1e300}, {0, 1e-300}} {
		h, err := roundedPlane(w)
		if err != nil || h.Check(1) != nil || (h.Bias >= 0) != (w[1] >= 0) {
			t.Errorf("%v rounded to %+v, %v", w, h, err)
		}
	}
	for _, w := range [][]float64{{math.NaN(), 1}, {1, math.Inf(1)}} {
		if _, err := roundedPlane(w); err == nil {
			t.Errorf("%v was rounded", w)
		}
	}
}

func TestSameOnAnyNumberOfThreads(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	x, z := planes(rng, 3*rowBlock+5, 10, 0.5)
	var first *model.Linear
	for _, threads := range []int{1, 2, 7} {
		b := newTrainer(t, x, Options{}, threads)
		for range 2 { // and the same again in used memory
			h, _ := fit(t, b, z)
			if first == nil {
				first = h
			}
			if !reflect.DeepEqual(h, first) {
				t.Fatalf("another hyperplane on %d threads", threads)
			}
		}
	}
}

func TestConstantBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	x, z := planes(rng, 50, 3, 0)
	for _, sign := range []int8{-1, 1} {
		for i := range z {
			z[i] = sign
		}
		if _, miss := fit(t, newTrainer(t, x, Options{}, 1), z); miss != 0 {
			t.Errorf("z = %d: error %v", sign, miss)
		}
	}
	same := columnsOf(6, 2, func(i, j int) uint8 { return 9 })
	if _, miss := fit(t, newTrainer(t, same, Options{}, 1), []int8{1, 1, -1, 1, 1, -1}); miss != 2.0/6 {
		t.Errorf("equal rows: error %v", miss)
	}
}

func TestRefusals(t *testing.T) {
	x := columnsOf(3, 1, func(i, j int) uint8 { return uint8(i) })
	for _, o := range []Options{{C: -1}, {C: math.NaN()}, {C: math.Inf(1)}, {Tolerance: -1}, {Tolerance: 1},
		{Iterations: -1}} {
		if _, err := New(x, o, 1); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if _, err := New(columnsOf(0, 1, nil), Options{}, 1); err == nil {
		t.Error("no rows were taken")
	}
	b := newTrainer(t, x, Options{}, 1)
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("enough")
	cancel(stop)
	if _, err := b.Fit(ctx, []int8{1, -1, 1}); !errors.Is(err, stop) {
		t.Errorf("after cancelling: %v", err)
	}
	for _, z := range [][]int8{{1, 1}, {1, 0, 1}} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.HasPrefix(fmt.Sprint(p), "svm: ") {
					t.Errorf("recovered %v", p)
				}
			}()
			b.Fit(ctx, z)
		}()
	}
}

// The quick products of the conjugate gradients are those of the definition, up to single precision.
func TestPackedProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, size := range [][2]int{{1, 1}, {3, 31}, {70, 32}, {300, 33}, {700, 1100}} {
		n, dim := size[0], size[1]
		x := columnsOf(n, dim, func(i, j int) uint8 { return uint8(rng.IntN(256)) })
		p := products{x, 2}
		q, err := pack(context.Background(), x, 2)
		if err != nil {
			t.Fatal(err)
		}
		var rows []uint32
		for i := range n {
			if rng.IntN(3) > 0 {
				rows = append(rows, uint32(i))
			}
		}
		normal := func(n int) []float64 {
			v := make([]float64, n)
			for i := range v {
				v[i] = rng.NormFloat64()
			}
			return v
		}
		check := func(what string, got, want []float64) {
			for i := range want {
				if math.Abs(got[i]-want[i]) > 2e-5*(1+math.Abs(want[i])) {
					t.Fatalf("%d x %d: %s %d is %v, not %v", n, dim, what, i, got[i], want[i])
				}
			}
		}
		v, got, want := normal(dim+1), make([]float64, len(rows)), make([]float64, len(rows))
		if err := errors.Join(p.multiply(context.Background(), rows, v, want),
			q.multiply(context.Background(), rows, v, got)); err != nil {
			t.Fatal(err)
		}
		check("product", got, want)
		a := normal(len(rows))
		got, want = make([]float64, dim+1), make([]float64, dim+1)
		if err := errors.Join(p.combine(context.Background(), rows, a, want, nil),
			q.combine(context.Background(), rows, a, got)); err != nil {
			t.Fatal(err)
		}
		check("sum", got, want)
	}
}
