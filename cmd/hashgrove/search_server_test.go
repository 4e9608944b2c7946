package main

import (
	"net/http/httptest"
	"reflect"
	"testing"

	"hashgrove/server"
)

// TestSearchInAService: the same line gives the same answer from the file and from a service that serves it.
func TestSearchInAService(t *testing.T) {
	indexed(t)
	succeed(t, shellWords("encode -m m.hgm new.csv --label category --id-column sku -o new.hgc")...)
	address := serveItems(t, "items.hgi")
	for _, line := range []string{
		"items.hgi new.csv --label category --id-column sku --row 0,3,4 -k 5",
		"items.hgi new.csv --vector f* --row 1 --rank margins --where 'label = \"hats\"'",
		"items.hgi --id items-7,items-8 --radius 2",
		"items.hgi --code ffff --explain -k 3",
		"items.hgi new.hgc --row 3 --prefix 8",
		"items.hgi new.csv --label category --id-column sku --row 2 --rank margins -k 20",
	} {
		want, got := searched(t, line), searched(t, line+" --server "+address)
		want.Seconds, got.Seconds = 0, 0
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", line, got, want)
		}
	}
	for _, c := range []struct {
		line, want string
	}{
		{"search items.hgi --id nobody --server " + address, "1 - nobody"},
		{"search nowhere --id items-7 --server " + address, "1 - nowhere"},
		{"search items.hgi --id items-7 -k 0 --server " + address, "2 bad-flag-value -k 0"},
		{"search items.hgi --id items-7 --rerank items.csv --server " + address, "2 conflicting-flags --rerank"},
		{"search items.hgi --id items-7 --token-file x", "2 missing-flag --server"},
		{"search items.hgi --id items-7 --server http://127.0.0.1:1", "1 - 127.0.0.1:1"},
	} {
		o := try(t, shellWords(c.line)...)
		if d := o.unlike(c.want); d != "" {
			t.Errorf("%s: %s", c.line, d)
		}
	}
}

// serveItems serves a copy of items.hgi under a name, so that the file itself stays free, and returns the address.
func serveItems(t *testing.T, name string) string {
	t.Helper()
	write(t, "served.hgi", string(read(t, "items.hgi")))
	s, err := server.New(t.Context(), server.Options{
		Collections: []server.CollectionOptions{{Name: name, Path: "served.hgi"}}, ReadOnly: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return h.URL
}
