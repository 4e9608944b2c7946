package parquetrows

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// Field is a column that holds, in every row, one value or a list of them.
type Field struct {
	Name     string // with dots inside of groups; of a list the name of the list, not of its items
	List     bool
	Number   bool // values can be read as numbers
	Text     bool // values can be read as text: strings, numbers, true and false, dates and times
	Quantity bool // the text is always a number

	leaf     int // number of the column in the file
	listed   int // definition level from which a list has an item
	kind     format.Type
	unsigned bool
	half     bool                        // two bytes are a float16
	write    func(*parquet.Value) string // the text of an annotated value; nil for plain ones
}

// readSchema turns the tree of the schema, written depth first, into fields, and checks its shape.
func readSchema(meta *format.FileMetaData) ([]Field, error) {
	elements := meta.Schema
	if len(elements) == 0 || len(elements) > maxElements {
		return nil, fmt.Errorf("the schema has %d elements", len(elements))
	}
	w := walk{elements: elements}
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
	fields   []Field
}

// level is what lies above an element.
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
	f := Field{Name: strings.Join(path, "."), leaf: w.leaves, kind: e.Type.V, listed: up.listed}
	w.leaves++
	if up.repetition > 1 {
		return // lists of lists
	}
	if up.repetition == 1 {
		f.List = true
		// The items of a list are one column, unless they are groups of several.
		if slices.ContainsFunc(w.fields, func(g Field) bool { return g.List && g.Name == up.list }) {
			up.list = f.Name
		}
		f.Name = up.list
	}
	number, decimal := true, false // as far as the annotation goes
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
