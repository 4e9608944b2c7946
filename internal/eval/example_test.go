package eval_test

import (
	"context"
	"fmt"

	"hashgrove/internal/eval"
	"hashgrove/internal/hamming"
	"hashgrove/internal/vectors"
)

// codesOf packs codes of 4 bits that are written as text.
func codesOf(texts ...string) hamming.Codes {
	codes := hamming.NewCodes(len(texts), 4)
	for i, text := range texts {
		for bit, c := range text {
			codes.SetBit(i, bit, c == '1')
		}
	}
	return codes
}

func ExampleRetrieval() {
	base := codesOf("0000", "0001", "1110", "1111")
	queries := codesOf("0000", "1111")
	truth := eval.ByClass([]int32{0, 1}, []int32{0, 0, 1, 0}) // the last item is of the other class
	report, err := eval.Retrieval(context.Background(), queries, base, truth, eval.Options{K: []int{1, 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("MAP %.3f\n", report.MAP)
	fmt.Printf("precision of the first item %.2f, of the first two %.2f\n", report.Precision[1], report.Precision[2])
	// Output:
	// MAP 0.708
	// precision of the first item 0.50, of the first two 0.75
}

func ExampleReport_Fill() {
	base, queries := codesOf("0000", "1111"), codesOf("0001")
	report, err := eval.Retrieval(context.Background(), queries, base, eval.ByClass([]int32{0}, []int32{0, 1}), eval.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	row := eval.Row{Method: "lsh", Kind: eval.KindMethod, Bits: 4, Bytes: 1}
	report.Fill(&row)
	fmt.Printf("%s with %d bits: MAP %.2f, %d distinct codes\n", row.Method, row.Bits, row.MAP, row.DistinctCodes)
	// Output: lsh with 4 bits: MAP 1.00, 2 distinct codes
}

// Without labels, codes are judged by the nearest vectors that they find again.
func ExampleFindNeighbours() {
	ctx := context.Background()
	query := vectors.Matrix{Rows: 1, Cols: 2, Data: []float32{0, 0}}
	base := vectors.Matrix{Rows: 12, Cols: 2}
	codes := hamming.NewCodes(12, 4)
	for i := range 12 {
		base.Data = append(base.Data, float32(i), 0)
		codes.SetBit(i, 0, i%2 == 1) // half of the items are at distance 1
	}
	near, err := eval.FindNeighbours(ctx, query, base, eval.Euclidean, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := eval.Retrieval(ctx, codesOf("0000"), codes, eval.Truth{}, eval.Options{Neighbours: near})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("the first 10 codes hold %.2f of the %d nearest vectors\n", report.NeighbourRecall10, report.Neighbours)
	// Output: the first 10 codes hold 0.83 of the 10 nearest vectors
}
