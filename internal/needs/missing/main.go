// Missing prints a message and fails where HASHGROVE_REQUIRED names the thing that is missing, for the Makefile:
//
//	go run ./internal/needs/missing THING MESSAGE
package main

import (
	"fmt"
	"os"

	"hashgrove/internal/needs"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "missing: give the name of a thing and a message")
		os.Exit(2)
	}
	fmt.Fprintln(os.Stderr, os.Args[2])
	if required, err := needs.Required(needs.Thing(os.Args[1])); err != nil || required {
		if err == nil {
			err = fmt.Errorf("%s requires %s here", needs.Variable, os.Args[1])
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
