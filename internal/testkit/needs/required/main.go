// Required prints the value of HASHGROVE_REQUIRED for CI, without what setup.sh could not install. Given a thing and a
// message, it prints the message, and fails if the variable names the thing:
//
//	go run ./internal/testkit/needs/required
//	go run ./internal/testkit/needs/required THING MESSAGE
package main

import (
	"fmt"
	"os"
	"strings"

	"hashgrove/internal/testkit/needs"
)

func main() {
	switch len(os.Args) {
	case 1:
		missing, err := os.ReadFile("bin/missing")
		if err != nil {
			fmt.Fprintln(os.Stderr, "required: run make setup first:", err)
			os.Exit(1)
		}
		names := strings.Fields(string(missing))
		if os.Geteuid() != 0 {
			names = append(names, string(needs.Mount))
		}
		fmt.Println(needs.InCI(names...))
	case 3:
		fmt.Fprintln(os.Stderr, os.Args[2])
		if required, err := needs.Required(needs.Thing(os.Args[1])); err != nil || required {
			if err == nil {
				err = fmt.Errorf("%s requires %s here", needs.Variable, os.Args[1])
			}
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		fmt.Fprintln(os.Stderr, "required: give the name of a thing and a message, or nothing")
		os.Exit(2)
	}
}
