package parquet

import (
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// TestConvertedTypes: files of older programs annotate their columns in another way and mean the same.
func TestConvertedTypes(t *testing.T) {
	for _, c := range []struct {
		converted deprecated.ConvertedType
		kind      format.Type
		value     parquet.Value
		want      string
		quantity  bool
	}{
		{deprecated.Date, format.Int32, parquet.Int32Value(19782), "2024-02-29", false},
		{deprecated.TimeMillis, format.Int32, parquet.Int32Value(1500), "00:00:01.5", false},
		{deprecated.TimeMicros, format.Int64, parquet.Int64Value(86399999999), "23:59:59.999999", false},
		{deprecated.TimestampMillis, format.Int64, parquet.Int64Value(-1), "1969-12-31T23:59:59.999Z", false},
		{deprecated.TimestampMicros, format.Int64, parquet.Int64Value(1), "1970-01-01T00:00:00.000001Z", false},
		{deprecated.Decimal, format.Int32, parquet.Int32Value(-5), "-0.05", true},
		{deprecated.Decimal, format.Int64, parquet.Int64Value(1200), "12", true},
		{deprecated.Decimal, format.ByteArray, parquet.ByteArrayValue([]byte{0xff, 0x85}), "-1.23", true},
		{deprecated.Uint32, format.Int32, parquet.Int32Value(-1), "4294967295", true},
		{deprecated.Int32, format.Int32, parquet.Int32Value(-1), "-1", true},
		{deprecated.UTF8, format.ByteArray, parquet.ByteArrayValue([]byte("x")), "x", false},
	} {
		e := format.SchemaElement{
			Name: "v", Type: thrift.New(c.kind), ConvertedType: thrift.New(c.converted), Scale: thrift.New(int32(2)),
		}
		w := walk{}
		w.leaf(&e, []string{"v"}, level{})
		f := w.fields[0]
		column := column{field: f}
		if got := column.text(&c.value); got != c.want || !f.Text || f.Quantity != c.quantity {
			t.Errorf("%v: got %q, text %t, quantity %t, want %q", c.converted, got, f.Text, f.Quantity, c.want)
		}
	}
}
