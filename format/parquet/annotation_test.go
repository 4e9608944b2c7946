package parquet

import (
	"testing"

	"github.com/parquet-go/parquet-go"
)

func TestDecimals(t *testing.T) {
	for _, c := range []struct {
		value parquet.Value
		want  string
	}{
		{parquet.Int32Value(-5), "-0.05"},
		{parquet.Int32Value(5), "0.05"},
		{parquet.Int64Value(1200), "12"},
		{parquet.Int64Value(0), "0"},
		{parquet.Int64Value(-1250), "-12.5"},
		{parquet.ByteArrayValue([]byte{0xff, 0x85}), "-1.23"},
	} {
		if got := decimalWriter(2)(&c.value); got != c.want {
			t.Errorf("%v: got %q, want %q", c.value, got, c.want)
		}
	}
}
