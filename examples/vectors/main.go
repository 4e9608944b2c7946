// Vectors learns codes from vectors and labels in memory, saves the model, loads it again and searches.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"

	"hashgrove/api"

	"hashgrove"
)

func main() {
	ctx := context.Background()
	vectors, labels := products(1, 400)

	made, err := hashgrove.Train(ctx, hashgrove.Rows(vectors, labels), hashgrove.Options{Bits: 16,
		Trees: hashgrove.TreeOptions{Rounds: 20}})
	check(err)
	path := filepath.Join(os.TempDir(), "products.hgm")
	check(made.Save(path))
	defer os.Remove(path)

	m, err := hashgrove.LoadModel(path)
	check(err)
	ix, err := hashgrove.NewIndex(ctx, m, hashgrove.Rows(vectors, labels))
	check(err)

	queries, wanted := products(2, 5)
	for i, q := range queries {
		code, err := m.Encode(q)
		check(err)
		hits, err := api.Nearest(ctx, ix, q, 5)
		check(err)
		fmt.Printf("%-6s code %v, nearest:", wanted[i], code)
		for _, h := range hits {
			fmt.Printf(" %s (%d)", h.Label, h.Distance)
		}
		fmt.Println()
	}
}

// products draws vectors of three kinds of things; a real program has embeddings instead.
func products(seed uint64, n int) (vectors [][]float32, labels []string) {
	rng := rand.New(rand.NewPCG(seed, 7))
	for range n {
		kind := rng.IntN(3)
		v := make([]float32, 12)
		for j := range v {
			v[j] = float32(rng.NormFloat64())
			if j%3 == kind {
				v[j] += 3
			}
		}
		vectors, labels = append(vectors, v), append(labels, []string{"boots", "coats", "hats"}[kind])
	}
	return vectors, labels
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
