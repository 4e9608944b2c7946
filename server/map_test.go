package server

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/store"
)

// clusters returns items around a centre for each label, from an id on.
func clusters(from, n, bits, flips int, labels ...string) *index.Batch {
	rng, b := rand.New(rand.NewPCG(uint64(from), 9)), index.NewBatch(bits)
	for i := range n {
		code := hamming.NewCodes(1, bits)
		class := i % max(len(labels), 1)
		for at := range bits {
			code.SetBit(0, at, (at*7+class*5)%11 < 5)
		}
		for range rng.IntN(flips + 1) {
			at := rng.IntN(bits)
			code.SetBit(0, at, !code.Bit(0, at))
		}
		it := index.Item{ID: index.Int(int64(from + i)), Code: code.Row(0)}
		if len(labels) > 0 {
			it.Label = labels[class]
		}
		b.Append(it)
	}
	return b
}

// serveBatch serves items as the collection shop.
func serveBatch(t *testing.T, b *index.Batch) (*Server, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.hgi")
	st, err := store.Create(context.Background(), path, store.Options{Bits: b.Codes.Bits})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(st.Add(context.Background(), b), st.Close()); err != nil {
		t.Fatal(err)
	}
	return serveOptions(t, CollectionOptions{Name: "shop", Path: path})
}

func serveOptions(t *testing.T, o CollectionOptions) (*Server, string) {
	t.Helper()
	s, err := New(context.Background(), Options{Collections: []CollectionOptions{o}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		web.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, web.URL + "/v1/collections/" + o.Name + "/"
}

// ask sends a request and reads the answer into v.
func ask(t *testing.T, url string, v any) *http.Response {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v: %.200s", url, err, b)
	}
	return r
}

func TestMapShowsEveryCode(t *testing.T) {
	items := clusters(0, 600, 32, 4, "hats", "boots", "coats", "boots")
	items.Labels[5] = "" // its code may still be that of others
	_, url := serveBatch(t, items)
	var m mapAnswer
	if r := ask(t, url+"map", &m); r.StatusCode != 200 || r.Header.Get("Hashgrove-Fingerprint") != m.Fingerprint {
		t.Fatal(r.Status, r.Header)
	}
	type group struct {
		first index.ID
		items int
		label map[string]int
	}
	groups, first := map[index.ID]*group{}, map[uint64]index.ID{}
	for i, id := range items.IDs {
		code := items.Codes.Row(i)[0]
		if _, known := first[code]; !known {
			first[code] = id
			groups[id] = &group{id, 0, map[string]int{}}
		}
		g := groups[first[code]]
		g.items++
		g.label[items.Labels[i]]++
	}
	if m.Collection != "shop" || m.Items != 600 || m.Points != len(groups) || m.Sampled || m.Labels[0] != "boots" {
		t.Errorf("%+v", m)
	}
	if len(m.IDs) != m.Points || len(m.XY) != 4*m.Points || len(m.Label) != 2*m.Points || len(m.Count) != 4*m.Points {
		t.Fatalf("%d points, and lists of %d, %d, %d, %d", m.Points, len(m.IDs), len(m.XY), len(m.Label), len(m.Count))
	}
	places := map[uint32]bool{}
	for i, id := range m.IDs {
		g, label := groups[id], ""
		if n := binary.LittleEndian.Uint16(m.Label[2*i:]); n != noLabel {
			label = m.Labels[n]
		}
		best := 0
		for l, n := range g.label {
			if l != "" {
				best = max(best, n)
			}
		}
		if items := binary.LittleEndian.Uint32(m.Count[4*i:]); int(items) != g.items || (label == "") != (best == 0) || label != "" && g.label[label] != best {
			t.Fatalf("point %d, %v: %q %d, want %+v", i, id, label, items, g)
		}
		places[binary.LittleEndian.Uint32(m.XY[4*i:])] = true
	}
	if len(places) < m.Points*9/10 {
		t.Errorf("%d points lie at %d places", m.Points, len(places))
	}
}

// TestMapsFollowTheItems changes a few items, and then many.
func TestMapsFollowTheItems(t *testing.T) {
	_, url := serveBatch(t, clusters(0, 500, 32, 6, "a", "b"))
	var m mapAnswer
	ask(t, url+"map", &m)
	put := func(from, n int) {
		t.Helper()
		body := map[string]any{"ids": []int{}, "codes": []string{}}
		for i := range n {
			body["ids"] = append(body["ids"].([]int), from+i)
			body["codes"] = append(body["codes"].([]string), fmt.Sprintf("%08x", 77*(from+i)))
		}
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.Post(url+"items", "application/json", strings.NewReader(string(b)))
		if err != nil || r.StatusCode != 200 {
			t.Fatal(r, err)
		}
		r.Body.Close()
	}
	put(1000, 3)
	if ask(t, url+"map", &m); m.Items != 500 {
		t.Errorf("three more items of 500 make a new map, of %d", m.Items)
	}
	put(2000, 10)
	if ask(t, url+"map", &m); m.Items != 513 || !slices.Contains(m.IDs, index.Int(2005)) {
		t.Errorf("the map has %d items", m.Items)
	}
}
