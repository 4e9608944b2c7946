// Package trial is what comparisons and the paper's tables have in common: a method is trained, its codes are judged,
// and the outcome is kept in a file.
//
//	Train            a method on data -> Training: the model and the time to each code length
//	Bench            base and queries: encodes both and judges the codes
//	Key, Load, Save  values in files that are named after the digest of their inputs
//	Protect          a panic of one method -> an error, which costs only its own row
package trial

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"hashgrove/internal/section"
)

// Key is the digest of the inputs of a result, for the name of its file.
func Key(inputs ...any) string {
	b, err := json.Marshal(inputs)
	if err != nil {
		panic("trial: inputs do not marshal: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// Load reads a value that Save has written. A file that is missing or damaged counts as none.
func Load[T any](path string) (v T, ok bool) {
	b, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(b, &v) != nil {
		return *new(T), false
	}
	return v, true
}

// Save writes a value as JSON, all or nothing.
func Save(path string, v any) error {
	return section.WriteFile(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(v) })
}

// Protect runs f for a method and turns a panic into an error, so that hours of work of other methods are not lost.
func Protect(method string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			text, _, _ := strings.Cut(fmt.Sprint(p), "\n") // the rest is a stack
			err = fmt.Errorf("internal error in method %s: %s", method, text)
		}
	}()
	return f()
}
