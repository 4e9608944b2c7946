package parquet

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"hashgrove/internal/dataset/columnfile"
)

// field is a column with what reading it takes.
type field struct {
	columnfile.Field
	leaf     int // number of the column in the file
	listed   int // definition level from which a list has an item
	kind     parquet.Kind
	unsigned bool
	half     bool                        // two bytes are a float16
	write    func(*parquet.Value) string // the text of an annotated value; nil for plain ones
}

// addFields adds the columns of the schema from a node on; inside of a list that is one of its items, and name that of
// the list.
func (f *file) addFields(c, list *parquet.Column, name string, lists map[string]bool) {
	if path := c.Path(); c.Repeated() {
		if list != nil {
			return // lists of lists
		}
		if list = c; name == "" {
			name = strings.Join(path, ".")
		}
	} else if list == nil {
		name = ""
	}
	if c.Leaf() {
		f.fields = append(f.fields, f.newField(c, list, name, lists))
		return
	}
	if list == nil && len(c.Columns()) == 1 && isList(c) { // list.element and its other spellings
		name = strings.Join(c.Path(), ".")
	}
	for _, child := range c.Columns() {
		f.addFields(child, list, name, lists)
	}
}

// isList reports whether a group is marked as a list.
func isList(c *parquet.Column) bool {
	t := c.Type().LogicalType()
	if t == nil {
		return false
	}
	_, ok := t.Value.(*format.ListType)
	return ok
}

func (of *file) newField(c, list *parquet.Column, name string, lists map[string]bool) field {
	f := field{Field: columnfile.Field{Name: strings.Join(c.Path(), ".")}, leaf: c.Index(), kind: c.Type().Kind()}
	if list != nil {
		f.List, f.listed = true, list.MaxDefinitionLevel()
		// The items of a list are one column, unless they are groups of several.
		if !lists[name] {
			f.Name = name
		}
		lists[f.Name] = true
	}
	number, decimal := true, false                 // according to the annotation
	meaning := of.leaves[f.leaf].LogicalType.Value // the type of the column has those of older files too, but no float16
	if t := c.Type().LogicalType(); t != nil {
		meaning = t.Value
	}
	switch t := meaning.(type) {
	case nil:
	case *format.IntType:
		f.unsigned = !t.IsSigned
	case *format.Float16Type:
		f.half = f.kind == parquet.FixedLenByteArray && c.Type().Length() == 2
	default: // decimals, dates and times are integers only on the outside
		_, decimal = t.(*format.DecimalType)
		number = false
	}
	switch f.kind {
	case parquet.Boolean, parquet.Int32, parquet.Int64, parquet.Float, parquet.Double:
		f.Number, f.Text = number, number
	case parquet.FixedLenByteArray:
		f.Number, f.Text = f.half, f.half
	default:
		f.Text = f.kind == parquet.ByteArray
	}
	f.Quantity = f.Number && f.kind != parquet.Boolean
	if f.write = textWriter(f.kind, meaning); f.write != nil {
		f.Text, f.Quantity = true, decimal
	}
	return f
}

// Annotated columns hold integers or bytes that mean something else: dates and times are written as in ISO 8601,
// decimals with their point, UUIDs in their usual form.

const (
	dateLayout      = "2006-01-02"
	clockLayout     = "15:04:05.999999999"
	timestampLayout = dateLayout + "T" + clockLayout
)

// textWriter returns a function that formats the values of an annotated column, or nil if unknown.
func textWriter(kind parquet.Kind, meaning format.LogicalTypeValue) func(*parquet.Value) string {
	if kind == parquet.Int96 && meaning == nil {
		return int96Text
	}
	switch t := meaning.(type) {
	case *format.DateType:
		return func(v *parquet.Value) string { return instant(int64(v.Int32())*86400, time.Second).Format(dateLayout) }
	case *format.TimeType:
		return timeWriter(t.Unit, clockLayout)
	case *format.TimestampType:
		if t.IsAdjustedToUTC {
			return timeWriter(t.Unit, timestampLayout+"Z")
		}
		return timeWriter(t.Unit, timestampLayout)
	case *format.DecimalType:
		return decimalWriter(t.Scale)
	case *format.UUIDType:
		return uuidText
	}
	return nil
}

// wide returns an integer of either size.
func wide(v *parquet.Value) int64 {
	if v.Kind() == parquet.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

func timeWriter(unit format.TimeUnit, layout string) func(*parquet.Value) string {
	if unit.Value == nil {
		return nil
	}
	return func(v *parquet.Value) string { return instant(wide(v), unit.Value.Duration()).Format(layout) }
}

// instant returns the time n units after the epoch.
func instant(n int64, unit time.Duration) time.Time {
	perSecond := int64(time.Second / unit)
	return time.Unix(n/perSecond, n%perSecond*int64(unit)).UTC()
}

// int96Text formats the timestamps of older programs: nanoseconds of the day, and the Julian day.
func int96Text(v *parquet.Value) string {
	const epoch = 2440588 // the Julian day of 1970-01-01
	i := v.Int96()
	nanoseconds := int64(uint64(i[1])<<32 | uint64(i[0]))
	return time.Unix((int64(i[2])-epoch)*86400, nanoseconds).UTC().Format(timestampLayout)
}

// decimalWriter formats an integer, as such or in big-endian bytes, with scale digits after the point.
func decimalWriter(scale int32) func(*parquet.Value) string {
	if scale < 0 || scale > 1<<10 {
		return nil
	}
	return func(v *parquet.Value) string {
		n := new(big.Int)
		if v.Kind() == parquet.Int32 || v.Kind() == parquet.Int64 {
			n.SetInt64(wide(v))
		} else if b := v.ByteArray(); len(b) > 0 && len(b) <= 1<<10 {
			n.SetBytes(b)
			if b[0] >= 0x80 { // two's complement
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
		}
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
		text := new(big.Rat).SetFrac(n, unit).FloatString(int(scale))
		if scale > 0 {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		return text
	}
}

func uuidText(v *parquet.Value) string {
	b := v.ByteArray()
	if len(b) != 16 {
		return hex.EncodeToString(b)
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
