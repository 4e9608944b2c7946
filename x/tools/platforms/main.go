// Platforms checks the types of all packages of a folder, and of their tests, for every platform that make release
// makes programs for and for two where an int has 32 bits. It reads everything from source, which takes seconds for
// each where go vet compiles for minutes.
//
//	go run ./platforms ../..
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

var platforms = []string{
	"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64",
	"linux/386", "linux/arm",
}

func main() {
	failed := 0
	for _, platform := range platforms {
		system, processor, _ := strings.Cut(platform, "/")
		found, err := packages.Load(&packages.Config{
			Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
				packages.NeedTypes | packages.NeedTypesSizes,
			Dir:   os.Args[1],
			Env:   append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
			Tests: true,
		}, "./...")
		if err != nil {
			fmt.Fprintln(os.Stderr, platform, err)
			os.Exit(1)
		}
		n := packages.PrintErrors(found)
		fmt.Printf("%s: %d packages, %d mistakes\n", platform, len(found), n)
		if failed += n; len(found) < 60 {
			failed++
		}
	}
	if failed > 0 {
		os.Exit(1)
	}
}
