package search

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/store"
)

// Attributes converts attributes to those of package api: numbers become float64, texts string.
func Attributes(values map[string]index.Value) map[string]any {
	if len(values) == 0 {
		return nil
	}
	m := make(map[string]any, len(values))
	for name, v := range values {
		if text, ok := v.Text(); ok {
			m[name] = text
		} else if number, ok := v.Number(); ok {
			m[name] = number
		}
	}
	return m
}

// Values converts attributes to values of an index.
func Values(attributes map[string]any) (map[string]index.Value, error) {
	values := make(map[string]index.Value, len(attributes))
	for name, v := range attributes {
		switch v := v.(type) {
		case string:
			values[name] = index.String(v)
		case bool:
			values[name] = index.String(strconv.FormatBool(v))
		case time.Time:
			values[name] = index.String(v.Format(time.RFC3339Nano))
		case float64:
			values[name] = index.Number(v)
		case float32:
			values[name] = index.Number(float64(v))
		case int, int64:
			text := fmt.Sprint(v)
			x, _ := strconv.ParseFloat(text, 64)
			if values[name] = index.Number(x); !index.IsExact(text, x) {
				return nil, api.Errorf(api.ErrInvalid, "the attribute %.80q: %s %v", name, text, index.ErrInexact)
			}
		default:
			return nil, api.Errorf(api.ErrInvalid, "the attribute %.80q is a %T: give numbers, texts, booleans or times",
				name, v)
		}
	}
	return values, nil
}

// Changes returns a batch for an update; replace says that attributes which an item has no value for are removed.
func Changes(list []api.Change, replace bool) (*index.Batch, error) {
	b := &index.Batch{}
	for i, c := range list {
		id, err := index.ParseID(string(c.ID))
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, refused(api.ErrInvalid, err))
		}
		if c.Label == nil && c.Tags == nil && len(c.Attributes) == 0 && !replace {
			return nil, api.Errorf(api.ErrInvalid, "item %d (id %.80q): give label, tags or attributes to change", i, c.ID)
		}
		values, err := Values(c.Attributes)
		if err != nil {
			return nil, fmt.Errorf("item %d (id %.80q): %w", i, c.ID, err)
		}
		label, clear := "", index.Clear(0)
		if c.Label != nil {
			if label = *c.Label; label == "" {
				clear |= index.ClearLabel
			}
		}
		if c.Tags != nil && len(c.Tags) == 0 {
			clear |= index.ClearTags
		}
		b.IDs, b.Labels, b.Tags = append(b.IDs, id), append(b.Labels, label), append(b.Tags, c.Tags)
		b.Attributes, b.Clear = append(b.Attributes, values), append(b.Clear, clear)
	}
	return b, refused(api.ErrInvalid, b.CheckDetails())
}

// Item converts an item of an index to one of package api; bits is the length of its code.
func Item(it index.Item, bits int) api.Item {
	return api.Item{
		ID: api.ID(it.ID.String()), Code: HexCode(it.Code, bits), Label: it.Label, Tags: it.Tags,
		Attributes: Attributes(it.Attributes),
	}
}

// HexCode returns a code in hexadecimal.
func HexCode(code []uint64, bits int) string {
	one := hamming.Codes{Bits: bits, Words: len(code), Data: code}
	return hex.EncodeToString(one.AppendBytes(nil, 0))
}

// ParseFilter parses a filter; errors match api.ErrFilter.
func ParseFilter(where string) (index.Filter, error) {
	f, err := index.Parse(where)
	if err != nil {
		err = refused(api.ErrFilter, message.With("bad-filter", err))
	}
	return f, err
}

// ParseDeletion parses the filter of a deletion, which must have a condition.
func ParseDeletion(where string) (index.Filter, error) {
	f, err := ParseFilter(where)
	if err == nil {
		err = refused(api.ErrInvalid, f.CheckDeletion())
	}
	return f, err
}

// refused wraps an error with a code of package api; nil stays nil.
func refused(as api.ErrorCode, err error) error {
	if err == nil {
		return nil
	}
	return &coded{&api.Error{Code: as, Message: err.Error()}, err}
}

// coded is an error of package api that also wraps another error.
type coded struct {
	as    *api.Error
	cause error
}

func (e *coded) Error() string   { return e.as.Message }
func (e *coded) Unwrap() []error { return []error{e.as, e.cause} }

// Coded wraps errors of an index, its file or a model with their codes of package api.
func Coded(err error) error {
	filter, refusal := new(index.FilterError), new(api.Error)
	switch {
	case err == nil || errors.As(err, &refusal):
	case errors.As(err, &filter):
		return refused(api.ErrFilter, err)
	case errors.Is(err, store.ErrLocked):
		return refused(api.ErrLocked, err)
	case errors.Is(err, store.ErrReadOnly):
		return refused(api.ErrReadOnly, err)
	case errors.Is(err, hamming.ErrDamaged):
		return refused(api.ErrDamaged, err)
	case message.Is(err, "duplicate-id"):
		return refused(api.ErrExists, err)
	case message.Is(err, "wrong-dimension"), message.Is(err, "wrong-dimensions"):
		return refused(api.ErrDimension, err)
	}
	return err
}

// invalid returns an error about a field of a request.
func invalid(field, format string, args ...any) error {
	return &api.Error{Code: api.ErrInvalid, Message: fmt.Sprintf(format, args...), Field: field}
}

// Accept returns an error if a request expects another model; "" expects none.
func Accept(f hamming.Fingerprint, expected string) error {
	if expected = strings.ToLower(expected); expected == "" || expected == f.String() || expected == f.Full() {
		return nil
	}
	return api.Errorf(api.ErrOtherModel, "the request expects codes of model %.64q, but these are of %v", expected, f)
}

// Memory is what an index takes, as package api has it.
func Memory(m index.Memory) *api.Memory {
	return &api.Memory{
		Total: m.Total(), Codes: m.Codes, Postings: m.Postings, IDs: m.IDs, Columns: m.Columns, Tables: m.Tables,
	}
}
