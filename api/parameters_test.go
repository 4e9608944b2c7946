package api

import (
	"errors"
	"reflect"
	"testing"
)

// TestParameters reads options back from an address.
func TestParameters(t *testing.T) {
	k, radius := 7, 0
	all := Options{
		K: &k, Radius: &radius, Where: `label = "a,b" & "ä"`, Rank: Margins, Ties: Vectors, Prefix: 32, Rerank: Cosine,
		Explain: true, Fields: []string{"label", "tags"}, Fingerprint: "ab",
	}
	for i := range reflect.TypeFor[Options]().NumField() {
		if reflect.ValueOf(all).Field(i).IsZero() {
			t.Errorf("the test leaves out %s", reflect.TypeFor[Options]().Field(i).Name)
		}
	}
	for _, o := range []Options{{}, all, {Fields: []string{}}} {
		got, err := ParseOptions(o.Values())
		if err != nil || !reflect.DeepEqual(got, o) {
			t.Fatalf("%v: %+v instead of %+v", err, got, o)
		}
	}
	for _, bad := range []map[string][]string{{"k": {"x"}}, {"explain": {"maybe"}}, {"nothing": {"1"}}, {"prefix": {"1.5"}}} {
		if _, err := ParseOptions(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
