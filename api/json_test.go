package api

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestAppendJSONIsPackageJSON compares answers written by hand with those of package json. The answers are filled by
// reflection, so that a field that AppendJSON forgets is found.
func TestAppendJSONIsPackageJSON(t *testing.T) {
	f := filler{rand.New(rand.NewPCG(6, 6))}
	for range 500 {
		a := new(Answer)
		f.fill(reflect.ValueOf(a).Elem())
		for i := range a.Results {
			if a.Results[i].Hits == nil {
				a.Results[i].Hits = []Hit{} // searchers never leave it out
			}
		}
		if a.Results == nil {
			a.Results = []Result{}
		}
		got, err := a.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := json.Marshal(a); err != nil || string(got) != string(want) {
			t.Fatalf("%v\ngot  %s\nwant %s", err, got, want)
		}
	}
}

// filler gives fields random values, and now and then none.
type filler struct{ *rand.Rand }

func (f filler) text() string {
	texts := []string{"", "plain", `"quoted" \ <b>&`, "line\nfeed", "umlaut ä", "\u2028", string([]byte{0xff, 'x'}), "~", "\x7f", "17", "-0"}
	return texts[f.IntN(len(texts))]
}

func (f filler) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text())
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.IntN(4)))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(f.NormFloat64() * 1e-9)
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Pointer:
		if f.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Slice:
		if f.IntN(3) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), f.IntN(3), 3))
			for i := range v.Len() {
				f.fill(v.Index(i))
			}
		}
	case reflect.Map:
		if f.IntN(2) == 0 {
			v.Set(reflect.ValueOf(map[string]any{"a" + f.text(): f.text(), "n": f.NormFloat64()}))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	default:
		panic("no values of kind " + v.Kind().String())
	}
}

// TestParameters reads options back from an address.
func TestParameters(t *testing.T) {
	f := filler{rand.New(rand.NewPCG(7, 7))}
	for range 200 {
		var o Options
		f.fill(reflect.ValueOf(&o).Elem())
		if o.Fields != nil {
			o.Fields = []string{"label", "tags"}
		}
		got, err := ParseOptions(o.Values())
		if err != nil || !reflect.DeepEqual(got, o) {
			t.Fatalf("%v: %+v instead of %+v", err, got, o)
		}
	}
	for _, bad := range []map[string][]string{{"k": {"x"}}, {"explain": {"maybe"}}, {"nothing": {"1"}}, {"prefix": {"1.5"}}} {
		if _, err := ParseOptions(bad); !isInvalid(err) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func isInvalid(err error) bool { e, ok := err.(*Error); return ok && e.Is(ErrInvalid) }
