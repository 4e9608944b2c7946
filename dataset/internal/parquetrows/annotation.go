package parquetrows

import (
	"encoding/hex"
	"math/big"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// Annotated columns hold integers or bytes that mean something else: dates and times are written as in ISO 8601,
// decimals with their point, UUIDs in their usual form.

const (
	dateLayout      = "2006-01-02"
	clockLayout     = "15:04:05.999999999"
	timestampLayout = dateLayout + "T" + clockLayout
)

// annotation is what the values of a column mean beyond their type, or nil. Older files say it in another way.
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
	return new(format.NullType) // nothing that is read
}

// textWriter returns how the values of an annotated column are written, or nil where that is not known.
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

// wide is the value of a column of either size of integers.
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

// instant is the time n units after the epoch.
func instant(n int64, unit time.Duration) time.Time {
	perSecond := int64(time.Second / unit)
	return time.Unix(n/perSecond, n%perSecond*int64(unit)).UTC()
}

// int96Text writes the timestamps of older programs: nanoseconds of the day, and the Julian day.
func int96Text(v *parquet.Value) string {
	const epoch = 2440588 // the Julian day of 1970-01-01
	i := v.Int96()
	nanoseconds := int64(uint64(i[1])<<32 | uint64(i[0]))
	return time.Unix((int64(i[2])-epoch)*86400, nanoseconds).UTC().Format(timestampLayout)
}

// decimalWriter writes an integer, as such or in bytes with the most significant first, with scale digits after the
// point.
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
