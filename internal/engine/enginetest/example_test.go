package enginetest_test

import (
	"context"
	"fmt"
	"log"

	"hashgrove/internal/engine"
	"hashgrove/internal/engine/enginetest"
	"hashgrove/internal/testkit/searchtest"
)

// A push into an engine in memory.
func ExampleNewMemory() {
	m := enginetest.NewMemory()
	r, err := engine.Push(context.Background(), m, searchtest.Items(100, 64, 1), engine.PushOptions{Batch: 30})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Written, "items in", m.Writes, "batches")
	// Output: 100 items in 4 batches
}
