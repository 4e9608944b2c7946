//go:build (linux || darwin || windows) && (amd64 || arm64)

// Hashgrove-gpu holds a GPU for hashgrove, which starts it where it lies beside hashgrove or on the PATH. It is a
// program of its own since it needs the machine's dynamic linker and the driver of the GPU, and hashgrove needs
// neither. It reads requests from its standard input and answers on its standard output; package gpu describes both.
package main

import (
	"fmt"
	"os"

	"hashgrove/internal/gpu"
	"hashgrove/internal/gpu/worker"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "hashgrove-gpu is started by hashgrove, for example by: hashgrove train --device gpu")
		os.Exit(2)
	}
	if err := worker.Work(os.Stdin, os.Stdout, os.Getenv(gpu.AnyDevice) != ""); err != nil {
		fmt.Fprintln(os.Stderr, "hashgrove-gpu:", err)
		os.Exit(1)
	}
}
