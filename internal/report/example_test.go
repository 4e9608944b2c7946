package report_test

import (
	"bytes"
	"fmt"
	"strings"

	"hashgrove/internal/eval"
	"hashgrove/internal/report"
)

func ExampleWrite() {
	var page bytes.Buffer
	err := report.Write(&page, report.Data{
		Title:  "Which codes for the shop?",
		Advice: []string{"Use FastHash with 32 bits."},
		Rows: []eval.Row{
			{Method: "LSH", Kind: eval.KindMethod, Bits: 32, MAP: 0.35, Precision100: 0.41},
			{
				Method: "FastHash", Kind: eval.KindMethod, Supervised: true, Recommended: true,
				Bits: 32, MAP: 0.75, Precision100: 0.80,
			},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.HasPrefix(page.String(), "<!DOCTYPE html>"))
	fmt.Println(strings.Contains(page.String(), "FastHash, 32 bits"))
	// Output:
	// true
	// true
}
