package hashgrove_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hashgrove/internal/testkit/needs"
)

// These tests hold what no linter knows; the rest is in .golangci.yml.

// TestWhatPackagesLink keeps what encodes and searches free of what reads files and learns, databases out of all but the
// command.
func TestWhatPackagesLink(t *testing.T) {
	const (
		learners = `fasthash(/(inference|boost|svm))?|method|numeric/linalg`
		readers  = `supervision|fasthash/affinity|dataset|picture/gallery`
		unlinked = `^(image/(jpeg|png|gif)|golang\.org/x/image|github\.com/parquet-go)` // until a package of format is imported
		formats  = unlinked + `|^github\.com/klauspost/compress`
		engines  = `^github\.com/jackc/|^hashgrove/internal/postgres`
	)
	serving := formats + `|` + engines + `|^hashgrove/internal/(` + learners + `|` + readers + `)$`
	for folder, unwanted := range map[string]string{
		"internal/model": serving,
		"internal/store": serving,
		"internal/index": serving + `|^hashgrove/internal/(model|feature|picture|vectors)$`,
		"server":         engines + `|^hashgrove(/internal/compare|/internal/(` + learners + `))?$`,
		".":              engines + `|` + unlinked,
	} {
		for linked := range strings.FieldsSeq(output(t, "go", "list", "-deps", "./"+folder)) {
			if regexp.MustCompile(unwanted).MatchString(linked) {
				t.Errorf("%s links %s", folder, linked)
			}
		}
	}
}

// TestNothingIsFused looks at the program for arm64, where the compiler makes one instruction of x*y + z: its last bit is
// another than on amd64, and models would be too. The remedy is float64(x*y) + z, which rounds the product. The compiler
// looks through variables, and takes a division by a power of two for a product.
func TestNothingIsFused(t *testing.T) {
	needs.Check(t, "compiles everything for arm64")
	program := filepath.Join(t.TempDir(), "hashgrove")
	output(t, "env", "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0", "go", "build", "-o", program, "./cmd/hashgrove")
	listing := output(t, "go", "tool", "objdump", "-s", `^hashgrove[./]`, program)
	fused := regexp.MustCompile(`(?m)^\s*(\S+:\d+)\s.*\sFN?M(?:ADD|SUB)[SD]\s`)
	for _, m := range fused.FindAllStringSubmatch(listing, -1) {
		// Products of matrices are defined by such an instruction, and the map of codes is but a picture.
		if !strings.HasPrefix(m[1], "fma_arm64.go:") && !strings.HasPrefix(m[1], "atlas.go:") {
			t.Errorf("%s: a product is fused with a sum on arm64: round it with a conversion, as in float64(x*y) + z", m[1])
		}
	}
	if !strings.Contains(listing, "FMULD ") || !fused.MatchString("  a.go:7\t0x78\t1f000821\tFMADDS F0, F2, F1, F1\t") {
		t.Error("this test looks for the wrong instructions")
	}
}

// output is what a program prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}
