package parquet

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"hashgrove/internal/dataset/columnfile"
	"hashgrove/internal/message"
)

// field is a column with what reading it takes.
type field struct {
	columnfile.Field
	leaf     int // number of the column in the file
	listed   int // definition level from which a list has an item
	kind     format.Type
	unsigned bool
	half     bool                        // two bytes are a float16
	write    func(*parquet.Value) string // the text of an annotated value; nil for plain ones
}

// readSchema turns the tree of the schema, written depth first, into fields, and checks its shape.
func readSchema(meta *format.FileMetaData) ([]field, error) {
	elements := meta.Schema
	if len(elements) == 0 || len(elements) > maxElements {
		return nil, message.New("schema-too-large", "the schema has %d elements", len(elements))
	}
	w := walk{elements: elements, lists: map[string]bool{}}
	if err := w.element(nil, level{}); err != nil {
		return nil, err
	}
	if w.next != len(elements) {
		return nil, errors.New("the schema is not a tree")
	}
	for i, g := range meta.RowGroups {
		if len(g.Columns) != w.leaves {
			return nil, fmt.Errorf("row group %d has %d columns, the schema %d", i+1, len(g.Columns), w.leaves)
		}
	}
	return w.fields, nil
}

// walk goes through the elements in order.
type walk struct {
	elements []format.SchemaElement
	next     int
	leaves   int
	fields   []field
	lists    map[string]bool // names of fields that hold lists
}

// level describes what is above an element.
type level struct {
	repetition, definition int
	listed                 int    // definition level of the list, when inside of one
	list                   string // its name
	inList                 bool   // the parent is a group marked as a list
}

func (w *walk) element(path []string, up level) error {
	if w.next == len(w.elements) || len(path) > maxDepth {
		return errors.New("the schema is not a tree, or nested too deeply")
	}
	e := &w.elements[w.next]
	root := w.next == 0
	w.next++
	if !root {
		path = append(path[:len(path):len(path)], e.Name)
		switch e.RepetitionType.V {
		case format.Optional:
			up.definition++
		case format.Repeated:
			up.definition++
			if up.repetition++; up.repetition == 1 {
				up.listed = up.definition
				up.list = strings.Join(path, ".")
				if up.inList { // list.element and its other spellings
					up.list = strings.Join(path[:len(path)-1], ".")
				}
			}
		}
	}
	children := int(e.NumChildren.V)
	if !e.NumChildren.Valid || !root && e.Type.Valid {
		children = 0
	}
	if children < 0 || children > len(w.elements)-w.next {
		return errors.New("the schema is not a tree")
	}
	if e.Type.Valid && !root {
		w.leaf(e, path, up)
		return nil
	}
	list := e.ConvertedType.Valid && e.ConvertedType.V == deprecated.List
	if _, ok := e.LogicalType.Value.(*format.ListType); ok {
		list = true
	}
	up.inList = list && children == 1 && up.repetition == 0
	for range children {
		if err := w.element(path, up); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) leaf(e *format.SchemaElement, path []string, up level) {
	f := field{Field: columnfile.Field{Name: strings.Join(path, ".")}, leaf: w.leaves, kind: e.Type.V, listed: up.listed}
	w.leaves++
	if up.repetition > 1 {
		return // lists of lists
	}
	if up.repetition == 1 {
		f.List = true
		// The items of a list are one column, unless they are groups of several.
		if w.lists[up.list] {
			up.list = f.Name
		}
		f.Name = up.list
		w.lists[f.Name] = true
	}
	number, decimal := true, false // according to the annotation
	switch t := annotation(e).(type) {
	case nil:
	case *format.IntType:
		f.unsigned = !t.IsSigned
	case *format.Float16Type:
		f.half = e.Type.V == format.FixedLenByteArray && e.TypeLength.V == 2
	default: // decimals, dates and times are integers only on the outside
		_, decimal = t.(*format.DecimalType)
		number = false
	}
	switch e.Type.V {
	case format.Boolean, format.Int32, format.Int64, format.Float, format.Double:
		f.Number, f.Text = number, number
	case format.FixedLenByteArray:
		f.Number, f.Text = f.half, f.half
	default:
		f.Text = e.Type.V == format.ByteArray
	}
	f.Quantity = f.Number && e.Type.V != format.Boolean
	if f.write = textWriter(e); f.write != nil {
		f.Text, f.Quantity = true, decimal
	}
	w.fields = append(w.fields, f)
}

// Annotated columns hold integers or bytes that mean something else: dates and times are written as in ISO 8601,
// decimals with their point, UUIDs in their usual form.

const (
	dateLayout      = "2006-01-02"
	clockLayout     = "15:04:05.999999999"
	timestampLayout = dateLayout + "T" + clockLayout
)

// annotation returns what the values of a column mean beyond their type, or nil. Older files encode it differently.
func annotation(e *format.SchemaElement) format.LogicalTypeValue {
	if e.LogicalType.Value != nil || !e.ConvertedType.Valid {
		return e.LogicalType.Value
	}
	millis, micros := format.TimeUnit{Value: new(format.MilliSeconds)}, format.TimeUnit{Value: new(format.MicroSeconds)}
	switch e.ConvertedType.V {
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return new(format.IntType)
	case deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
		return &format.IntType{IsSigned: true}
	case deprecated.Date:
		return new(format.DateType)
	case deprecated.TimeMillis:
		return &format.TimeType{Unit: millis}
	case deprecated.TimeMicros:
		return &format.TimeType{Unit: micros}
	case deprecated.TimestampMillis:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: millis}
	case deprecated.TimestampMicros:
		return &format.TimestampType{IsAdjustedToUTC: true, Unit: micros}
	case deprecated.Decimal:
		return &format.DecimalType{Scale: e.Scale.V}
	}
	return new(format.NullType) // an unsupported annotation
}

// textWriter returns a function that formats the values of an annotated column, or nil if unknown.
func textWriter(e *format.SchemaElement) func(*parquet.Value) string {
	integer := e.Type.V == format.Int32 || e.Type.V == format.Int64
	switch t := annotation(e).(type) {
	case nil:
		if e.Type.V == format.Int96 {
			return int96Text
		}
	case *format.DateType:
		if e.Type.V == format.Int32 {
			return dateText
		}
	case *format.TimeType:
		if integer && t.Unit.Value != nil {
			return clockWriter(t.Unit.Value.Duration())
		}
	case *format.TimestampType:
		if e.Type.V == format.Int64 && t.Unit.Value != nil {
			return timestampWriter(t.Unit.Value.Duration(), t.IsAdjustedToUTC)
		}
	case *format.DecimalType:
		return decimalWriter(e.Type.V, t.Scale)
	case *format.UUIDType:
		if e.Type.V == format.FixedLenByteArray && e.TypeLength.V == 16 {
			return uuidText
		}
	}
	return nil
}

func dateText(v *parquet.Value) string {
	return time.Unix(int64(v.Int32())*86400, 0).UTC().Format(dateLayout)
}

// wide returns an integer of either size.
func wide(v *parquet.Value) int64 {
	if v.Kind() == parquet.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

func clockWriter(unit time.Duration) func(*parquet.Value) string {
	return func(v *parquet.Value) string { return instant(wide(v), unit).Format(clockLayout) }
}

func timestampWriter(unit time.Duration, utc bool) func(*parquet.Value) string {
	layout := timestampLayout
	if utc {
		layout += "Z"
	}
	return func(v *parquet.Value) string { return instant(v.Int64(), unit).Format(layout) }
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
func decimalWriter(kind format.Type, scale int32) func(*parquet.Value) string {
	if scale < 0 || scale > 1<<10 {
		return nil
	}
	switch kind {
	case format.Int32, format.Int64, format.ByteArray, format.FixedLenByteArray:
	default:
		return nil
	}
	return func(v *parquet.Value) string {
		n := new(big.Int)
		if kind == format.Int32 || kind == format.Int64 {
			n.SetInt64(wide(v))
		} else if b := v.ByteArray(); len(b) > 0 && len(b) <= 1<<10 {
			n.SetBytes(b)
			if b[0] >= 0x80 { // two's complement
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
		}
		digits := new(big.Int).Abs(n).String()
		if missing := int(scale) + 1 - len(digits); missing > 0 {
			digits = strings.Repeat("0", missing) + digits
		}
		text := digits[:len(digits)-int(scale)]
		if fraction := strings.TrimRight(digits[len(text):], "0"); fraction != "" {
			text += "." + fraction
		}
		if n.Sign() < 0 {
			text = "-" + text
		}
		return text
	}
}

func uuidText(v *parquet.Value) string {
	b := v.ByteArray()
	if len(b) != 16 {
		return hex.EncodeToString(b)
	}
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
