package gemm

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// slow multiplies by definition: one chain per value, in the order of k.
func slow(a, b View) []float32 {
	c := make([]float32, a.Rows*b.Cols)
	for i := range a.Rows {
		for j := range b.Cols {
			for k := range a.Cols {
				c[i*b.Cols+j] = fma(a.Data[i*a.RowStep+k*a.ColStep], b.Data[k*b.RowStep+j*b.ColStep], c[i*b.Cols+j])
			}
		}
	}
	return c
}

func random(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = rng.Float32()*2 - 1
	}
	return v
}

// check compares Mul and the strips with the definition, bit by bit.
func check(t *testing.T, a, b View) {
	t.Helper()
	want := slow(a, b)
	for _, threads := range []int{1, 2, 7} {
		// The rows of c are further apart than they are long, and what lies between must stay.
		stride := b.Cols + 3
		c := View{a.Rows, b.Cols, stride, 1, slices.Repeat([]float32{7}, a.Rows*stride)}
		if err := Mul(context.Background(), threads, c, a, b); err != nil {
			t.Fatal(err)
		}
		for i := range a.Rows {
			row := c.Data[i*stride:][:stride]
			if !same(row[:b.Cols], want[i*b.Cols:][:b.Cols]) {
				t.Fatalf("%d x %d x %d on %d threads: row %d differs from the definition", a.Rows, a.Cols, b.Cols, threads, i)
			}
			if row[b.Cols] != 7 || row[b.Cols+2] != 7 {
				t.Fatalf("%d x %d x %d: values after row %d were overwritten", a.Rows, a.Cols, b.Cols, i)
			}
		}
		checkEach(t, threads, a, b, want)
	}
	var l Left
	l.Reset(a.Rows, a.Cols)
	for i := range a.Rows {
		row, step := l.Row(i)
		for k := range a.Cols {
			row[k*step] = a.Data[i*a.RowStep+k*a.ColStep]
		}
	}
	r := PackRight(b)
	for p := range r.Panels() {
		dst := slices.Repeat([]float32{7}, l.StripRows()*StripCols)
		l.Strip(dst, r, p)
		for i := range l.StripRows() {
			for j := range StripCols {
				w := float32(0)
				if i < a.Rows && p*StripCols+j < b.Cols {
					w = want[i*b.Cols+p*StripCols+j]
				}
				if got := dst[i*StripCols+j]; math.Float32bits(got) != math.Float32bits(w) {
					t.Fatalf("%d x %d x %d: strip %d has %v at (%d, %d), want %v", a.Rows, a.Cols, b.Cols, p, got, i, j, w)
				}
			}
		}
	}
}

// checkEach compares the parts of MulEach with the definition: each value must come once, and with lower none above
// the diagonal.
func checkEach(t *testing.T, threads int, a, b View, want []float32) {
	t.Helper()
	for _, lower := range []bool{false, true} {
		got := slices.Repeat([]float32{7}, len(want))
		err := MulEach(context.Background(), threads, a, b, lower, func(i, j int, values []float32) {
			for k, v := range values {
				if to := &got[i*b.Cols+j+k]; *to != 7 || lower && j+k > i {
					t.Errorf("lower %v: value (%d, %d) came, %v before", lower, i, j+k, *to)
				} else {
					*to = v
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range a.Rows {
			cols := b.Cols
			if lower {
				cols = min(cols, i+1)
			}
			if !same(got[i*b.Cols:][:cols], want[i*b.Cols:][:cols]) {
				t.Fatalf("%d x %d x %d on %d threads, lower %v: row %d differs from the definition",
					a.Rows, a.Cols, b.Cols, threads, lower, i)
			}
		}
	}
}

func same(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

func TestMulIsTheDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{
		{0, 3, 2}, {2, 0, 5}, {3, 2, 0}, {1, 1, 1}, {5, 7, 9}, {6, 8, 16}, {7, 9, 17}, {13, 31, 33}, {6, 256, 16}, {7, 257, 15},
		{121, 63, 47}, {3, 2, 1040}, {245, 515, 18}, {300, 20, 300}, {130, 9, 1100},
	} {
		a, b := RowMajor(s[0], s[1], random(rng, s[0]*s[1])), RowMajor(s[1], s[2], random(rng, s[1]*s[2]))
		check(t, a, b)
		check(t, RowMajor(s[1], s[0], a.Data).T(), b)
		check(t, a, RowMajor(s[2], s[1], b.Data).T())
		check(t, View{s[0], s[1], 2 * s[1], 2, random(rng, 2*s[0]*s[1])}, b)
	}
}

func FuzzMul(f *testing.F) {
	f.Add(uint8(7), uint8(9), uint8(17), uint64(1))
	f.Fuzz(func(t *testing.T, m, k, n uint8, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		// Any bits make a value, small and great ones too; those that are not finite are left out, as NaN has many.
		values := func(n int) []float32 {
			v := make([]float32, n)
			for i := range v {
				v[i] = math.Float32frombits(rng.Uint32()&^(1<<30) | rng.Uint32()&(1<<27))
			}
			return v
		}
		rows, depth, cols := int(m), int(k), int(n)
		check(t, RowMajor(rows, depth, values(rows*depth)), RowMajor(depth, cols, values(depth*cols)))
	})
}

// exactly computes a*b + c without rounding, then rounds once.
func exactly(a, b, c float32) float32 {
	wide := func(x float32) *big.Float { return new(big.Float).SetPrec(1000).SetFloat64(float64(x)) }
	s := wide(a)
	s.Mul(s, wide(b))
	f, _ := s.Add(s, wide(c)).Float32()
	return f
}

func checkFMA(t *testing.T, a, b, c float32) {
	t.Helper()
	want := exactly(a, b, c)
	if got := fma(a, b, c); got != want {
		t.Errorf("fma(%x, %x, %x) = %x, want %x", a, b, c, got, want)
	}
	var row, bs [tileCols]float32
	row[3], bs[3] = c, b
	if addTimes(&row, a, &bs); row[3] != want {
		t.Errorf("addTimes(%x, %x, %x) = %x, want %x", c, a, b, row[3], want)
	}
}

func TestFMARoundsOnce(t *testing.T) {
	// 1 + 2^-24 lies between two float32, and the product's last digits decide.
	half := float32(math.Ldexp(1, -24))
	for _, nudge := range []float32{-1e-12, 0, 1e-12} {
		checkFMA(t, 1+nudge*float32(math.Ldexp(1, 20)), half, 1)
		checkFMA(t, float32(1+math.Ldexp(1, -12)), float32(1-math.Ldexp(1, -12)), nudge*half)
	}
	// Two roundings would give another result here.
	checkFMA(t, float32(1+math.Ldexp(1, -23)), float32(math.Ldexp(1, -24)), 1)
	checkFMA(t, float32(math.Ldexp(1, -80)), float32(math.Ldexp(1, -80)), float32(1.5+math.Ldexp(1, -23)))
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200_000 {
		bits := func() float32 {
			return math.Float32frombits(rng.Uint32()&0x8000ffff | uint32(127+rng.IntN(70)-35)<<23 | rng.Uint32()&0x7f0000)
		}
		checkFMA(t, bits(), bits(), bits())
	}
}

func TestMulStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	v := RowMajor(300, 300, make([]float32, 300*300))
	if err := Mul(ctx, 2, RowMajor(300, 300, make([]float32, 300*300)), v, v); err == nil {
		t.Error("no error")
	}
}

func ExampleMul() {
	a := RowMajor(2, 3, []float32{1, 2, 3, 4, 5, 6})
	c := RowMajor(2, 2, make([]float32, 4))
	if err := Mul(context.Background(), 1, c, a, a.T()); err != nil {
		panic(err)
	}
	fmt.Println(c.Data)
	// Output: [14 32 32 77]
}
