package engine_test

import (
	"context"
	"fmt"
	"log"

	"hashgrove/internal/engine"
)

// What a push would send to PostgreSQL can be seen without a server.
func ExampleEngine() {
	e, err := engine.Open(context.Background(), engine.Target{URL: "postgres://shop@db.example/shop", Table: "boots"})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	for _, s := range e.Plan(engine.Space{Bits: 8}) {
		if !s.Sent {
			fmt.Println(s.Text)
			break
		}
	}
	// Output:
	// SELECT id, bit_count(code # B'00000000') AS distance
	// FROM "boots"
	// -- WHERE label = 'boots' AND tags && ARRAY['sale']
	// --   AND CASE jsonb_typeof(attributes->'price') WHEN 'number' THEN (attributes->>'price')::numeric < 30 END
	// ORDER BY distance, id_number NULLS LAST, id COLLATE "C"
	// LIMIT 10
}
