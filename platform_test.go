package hashgrove_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fused is an instruction that rounds a product and a sum once, in a listing for arm64.
var fused = regexp.MustCompile(`(?m)^\s*(\S+:\d+)\s.*\sFN?M(?:ADD|SUB)[SD]\s`)

// fusedOnPurpose is the file whose results are defined by such an instruction: products of matrices.
const fusedOnPurpose = "fma_arm64.go:"

// TestNothingIsFused looks at the program for arm64, where the compiler makes one instruction of x*y + z: its last bit is
// another than on amd64, and models would be too. The remedy is float64(x*y) + z, which rounds the product. The compiler
// looks through variables, and takes a division by a power of two for a product.
func TestNothingIsFused(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles everything for arm64")
	}
	program := filepath.Join(t.TempDir(), "hashgrove")
	build := exec.Command("go", "build", "-o", program, "./cmd/hashgrove")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	listing, err := exec.Command("go", "tool", "objdump", "-s", `^hashgrove[./]`, program).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fused.FindAllSubmatch(listing, -1) {
		place := string(m[1])
		if strings.HasPrefix(place, fusedOnPurpose) {
			continue
		}
		t.Errorf("%s: a product is fused with a sum on arm64: round it with a conversion, as in float64(x*y) + z", place)
	}
	// The listing has plain products, and the pattern finds the others: else this test could not fail.
	if !strings.Contains(string(listing), "FMULD ") || !fused.MatchString("  a.go:7\t0x78\t1f000821\tFMADDS F0, F2, F1, F1\t") {
		t.Error("this test looks for the wrong instructions")
	}
}

// ownBits are the functions of package math that have other last bits on other machines.
var ownBits = regexp.MustCompile(`\b(?:math\.(?:Exp|Exp2|Expm1|Log|Log2|Log10|Log1p|Pow|Sin|Cos|Sincos|Tan|Tanh|Sinh|Cosh|` +
	`Atan|Atan2|Asin|Acos|Hypot|Cbrt|Erf|Erfc)|(?:floats|blas32|blas64|lapack64)\.|\w+\.(?:NormFloat64|ExpFloat64))\(`)

// TestLearnersUsePortableFunctions keeps what differs between machines out of the packages whose results are saved.
func TestLearnersUsePortableFunctions(t *testing.T) {
	allowed := map[string]bool{
		"internal/fasthash/estimate.go":            true, // seconds
		"internal/numeric/linalg/product_amd64.go": true, // held to a definition by a test
	}
	for _, dir := range []string{
		"fasthash", "fasthash/affinity", "fasthash/boost", "fasthash/inference", "fasthash/svm", "feature", "feature/dictionary",
		"method", "model", "numeric/gemm", "numeric/linalg", "numeric/portable", "numeric/solve", "supervision", "vectors",
	} {
		files, err := filepath.Glob(filepath.Join("internal", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") || allowed[filepath.ToSlash(name)] {
				continue
			}
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(b), "\n") {
				code, _, _ := strings.Cut(line, "//")
				if found := ownBits.FindString(code); found != "" {
					t.Errorf("%s:%d: %s...) differs between machines: use package portable or linalg", name, i+1, found)
				}
			}
		}
	}
}
