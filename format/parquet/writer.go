package parquet

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"hashgrove/internal/dataset/columnfile"
)

// writer writes a Parquet file row by row.
type writer struct {
	out     *parquet.GenericWriter[any]
	place   []int // of each column in the file
	columns []int // the other way round
	row     parquet.Row
}

// rowsInMemory are collected before they are written.
const rowsInMemory = 1 << 17

// create starts a file.
func create(w io.Writer, names []string, samples []any) (out columnfile.Writer, err error) {
	defer catch(&err)
	group := parquet.Group{}
	for i, name := range names {
		if _, twice := group[name]; twice || name == "" {
			return nil, fmt.Errorf("a column cannot be called %q: two are, or it has no name", name)
		}
		switch samples[i].(type) {
		case string:
			group[name] = parquet.Optional(parquet.String())
		case float64:
			group[name] = parquet.Optional(parquet.Leaf(parquet.DoubleType))
		case int64:
			group[name] = parquet.Optional(parquet.Int(64))
		case uint64:
			group[name] = parquet.Uint(64)
		case []string:
			group[name] = parquet.List(parquet.String())
		default:
			return nil, fmt.Errorf("column %s: a %T cannot be written", name, samples[i])
		}
	}
	x := &writer{place: make([]int, len(names)), columns: make([]int, len(names))}
	for i, name := range slices.Sorted(slices.Values(names)) { // the order of the library
		j := slices.Index(names, name)
		x.place[j], x.columns[i] = i, j
	}
	x.out = parquet.NewGenericWriter[any](w, parquet.NewSchema("rows", group), parquet.MaxRowsPerRowGroup(rowsInMemory))
	return x, nil
}

func (x *writer) Write(values []any) (err error) {
	defer catch(&err)
	if len(values) != len(x.place) {
		return errors.New("a row has another number of values than there are columns")
	}
	x.row = x.row[:0]
	for place, j := range x.columns {
		switch v := values[j].(type) {
		case nil:
			x.row = append(x.row, parquet.Value{}.Level(0, 0, place))
		case []string:
			for i, s := range v {
				x.row = append(x.row, parquet.ByteArrayValue([]byte(s)).Level(min(i, 1), 1, place))
			}
			if len(v) == 0 {
				x.row = append(x.row, parquet.Value{}.Level(0, 0, place))
			}
		case string:
			x.row = append(x.row, parquet.ByteArrayValue([]byte(v)).Level(0, 1, place))
		case uint64:
			x.row = append(x.row, parquet.ValueOf(v).Level(0, 0, place))
		default:
			x.row = append(x.row, parquet.ValueOf(v).Level(0, 1, place))
		}
	}
	_, err = x.out.WriteRows([]parquet.Row{x.row})
	return err
}

func (x *writer) Mark(key, value string) { x.out.SetKeyValueMetadata(key, value) }

func (x *writer) Close() (err error) {
	defer catch(&err)
	return x.out.Close()
}
