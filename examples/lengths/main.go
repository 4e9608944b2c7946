// Lengths trains once and uses several code lengths, since a prefix of a FastHash code is itself a code. It shows how
// well each length finds items that training never saw.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"hashgrove/api"

	"hashgrove"
)

func main() {
	ctx := context.Background()
	learned, labels := clouds(1, 400)
	items, itemLabels := clouds(2, 400) // new items, which training never sees
	queries, wanted := clouds(3, 100)

	m, err := hashgrove.Train(ctx, hashgrove.Rows(learned, labels), hashgrove.Options{Bits: 32,
		Trees: hashgrove.TreeOptions{Rounds: 20}})
	check(err)
	for _, bits := range []int{4, 8, 16, 32} {
		short, err := m.Shorter(bits)
		check(err)
		ix, err := hashgrove.NewIndex(ctx, short, hashgrove.Rows(items, itemLabels))
		check(err)
		right := 0
		for i, q := range queries {
			hits, err := api.Nearest(ctx, ix, q, 10)
			check(err)
			for _, h := range hits {
				if h.Label == wanted[i] {
					right++
				}
			}
		}
		fmt.Printf("%2d bits: %2d %% of the ten nearest new items are of the query's class\n", bits, right/10)
	}
}

// clouds draws vectors of eight classes that overlap a little.
func clouds(seed uint64, n int) (x [][]float32, labels []string) {
	rng := rand.New(rand.NewPCG(seed, 5))
	for range n {
		class := rng.IntN(8)
		v := make([]float32, 16)
		for j := range v {
			v[j] = float32(rng.NormFloat64())
			if j%8 == class {
				v[j] += 2.5
			}
		}
		x, labels = append(x, v), append(labels, fmt.Sprint("class ", class))
	}
	return x, labels
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
