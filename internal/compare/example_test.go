package compare_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"hashgrove/internal/compare"
	"hashgrove/internal/vectors"
)

// shop makes vectors of three categories.
func shop() vectors.Table {
	rng := rand.New(rand.NewPCG(1, 2))
	items := vectors.Table{X: vectors.Matrix{Rows: 300, Cols: 6}}
	for i := range items.X.Rows {
		for j := range items.X.Cols {
			items.X.Data = append(items.X.Data, float32(rng.NormFloat64()+float64(4*(i%3)*(j%2))))
		}
		items.Labels = append(items.Labels, []string{"boots", "hats", "shirts"}[i%3])
	}
	return items
}

// Compare two methods on items with categories, a tenth of which become queries.
func ExampleRun() {
	ctx := context.Background()
	items, err := compare.Read(ctx, shop(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	base, queries, err := items.Split(0.1, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	data := &compare.Data{Name: "shop", Base: base, Queries: queries}
	o := compare.Options{Methods: []string{"sdh", "lsh"}, Bits: []int{8}, Seed: 1}
	result, err := compare.Run(ctx, data, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Title())
	sdh, random := result.Find("sdh", 8), result.Find("random", 8)
	fmt.Println("SDH is better than random codes:", sdh.MAP > random.MAP)
	fmt.Println("rows:", len(result.Rows), "failures:", len(result.Failures()))
	// Output:
	// 30 queries against 270 items of 6 dimensions (216 learned from, 54 new), similar by same class, 3 classes
	// SDH is better than random codes: true
	// rows: 9 failures: 0
}
