package gemm

import (
	"context"
	"testing"
)

// TestNoRoomForTheProduct: the kernel writes through pointers, so a result that does not fit must not reach it.
func TestNoRoomForTheProduct(t *testing.T) {
	a, b := RowMajor(20, 8, make([]float32, 160)), RowMajor(8, 20, make([]float32, 160))
	right := PackRight(b)
	for name, c := range map[string]View{
		"too short":   {20, 20, 20, 1, make([]float32, 399)},
		"rows share":  {20, 20, 19, 1, make([]float32, 400)},
		"nothing":     {20, 20, 20, 1, nil},
		"far too few": {20, 20, 100, 1, make([]float32, 400)},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			_ = MulRight(context.Background(), 1, c, a, right)
		}()
	}
	if err := MulRight(context.Background(), 1, View{20, 20, 20, 1, make([]float32, 400)}, a, right); err != nil {
		t.Error(err)
	}
	if err := MulRight(context.Background(), 1, View{20, 20, 30, 1, make([]float32, 19*30+20)}, a, right); err != nil {
		t.Error(err)
	}
}
