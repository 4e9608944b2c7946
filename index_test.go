package hashgrove

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hashgrove/api"
	"hashgrove/internal/dataset"
	"hashgrove/internal/index"
)

// TestAttributesOfAnIndex: filters know the attributes, an upsert keeps them, and an update changes them alone.
func TestAttributesOfAnIndex(t *testing.T) {
	ctx := context.Background()
	x, labels := clouds(1, 60)
	var ids []string
	var about []map[string]any
	day := time.Date(2024, 1, 31, 12, 0, 0, 0, time.FixedZone("", 3600))
	for i := range x {
		ids = append(ids, fmt.Sprintf("item-%02d", i))
		about = append(about, map[string]any{"price": i, "new": i%2 == 0, "added": day.AddDate(0, 0, i)})
	}
	m := trained(t)(Train(ctx, Rows(x, labels), quick))
	items := Rows(x, labels).WithIDs(ids).WithAttributes(about)
	known := []index.Attribute{
		{Name: "added", Kind: index.DateKind}, {Name: "new", Kind: index.BooleanKind},
		{Name: "price", Kind: index.NumberKind},
	}
	for name, ix := range inMemoryAndFile(t, m, items) {
		t.Run(name, func(t *testing.T) {
			if hits := listed(t, ix, `new = true and added between 2024-02-01 and 2024-02-10T11:00Z and id starts with "item-0"`); len(hits) != 4 || hits[0].ID != "item-02" {
				t.Errorf("%+v", hits)
			}
			_, found := ix.Search(ctx, &api.Request{Query: api.Query{Vector: x[0]}, Options: api.Options{Where: "prce < 3"}})
			var listed error
			for _, listed = range ix.List(ctx, "prce < 3") {
			}
			_, deleted := ix.DeleteWhere(ctx, "not has prce")
			for _, err := range []error{found, listed, deleted} {
				refusal, ok := errors.AsType[*index.FilterError](err)
				if !ok || !errors.Is(err, api.ErrFilter) || refusal.Name != "prce" || !slices.Equal(refusal.Known, known) || !strings.Contains(err.Error(), "prce") {
					t.Fatalf("%v", err)
				}
			}
			check := func(when string, id api.ID, label string, tags int, want map[string]any) {
				t.Helper()
				if h, _ := ix.Get(id); h.Label != label || len(h.Tags) != tags || !maps.Equal(h.Attributes, want) {
					t.Errorf("after %s: %+v", when, h)
				}
			}
			update := func(want int, changes ...api.Change) {
				t.Helper()
				if n, err := ix.Update(ctx, changes...); n != want || err != nil {
					t.Fatalf("%d updated, %v", n, err)
				}
			}
			if err := ix.Upsert(ctx, Vectors(x[:10]).WithIDs(ids[:10])); err != nil {
				t.Fatal(err)
			}
			seven := map[string]any{"price": 7.0, "new": "false", "added": "2024-02-07T12:00:00+01:00"}
			eight := map[string]any{"price": 8.0, "new": "true", "added": "2024-02-08T12:00:00+01:00"}
			check("an upsert", "item-07", labels[7], 0, seven)
			for _, price := range []any{int64(1<<53 + 1), int64(math.MaxInt64)} { // they would be rounded
				if _, err := ix.Update(ctx, api.Change{ID: "item-07", Attributes: map[string]any{"price": price}}); !errors.Is(err, api.ErrInvalid) {
					t.Errorf("a price of %d: %v", price, err)
				}
			}
			if _, err := ix.Search(ctx, nil); !errors.Is(err, api.ErrInvalid) {
				t.Errorf("a search for nothing: %v", err)
			}
			cheaper := api.Change{ID: "item-07", Attributes: map[string]any{"price": 1.5}}
			update(2, cheaper, api.Change{ID: "nobody", Label: new("x")}, api.Change{ID: "item-08", Label: new("x"), Tags: []string{"a", "b"}})
			seven["price"] = 1.5
			check("an update", "item-07", labels[7], 0, seven)
			check("a new label", "item-08", "x", 2, eight)
			if n, err := ix.Replace(ctx, cheaper); n != 1 || err != nil {
				t.Fatalf("%d updated, %v", n, err)
			}
			check("a replacement", "item-07", labels[7], 0, cheaper.Attributes)
			update(1, api.Change{ID: "item-08", Label: new("")})
			check("losing its label", "item-08", "", 2, eight)
			update(1, api.Change{ID: "item-08", Tags: []string{}})
			check("losing its tags", "item-08", "", 0, eight)
			for _, bad := range []api.Change{{}, {ID: "item-01", Attributes: map[string]any{"price": []int{1}}}} {
				if _, err := ix.Update(ctx, bad); !errors.Is(err, api.ErrInvalid) {
					t.Errorf("%+v: %v", bad, err)
				}
			}
			if err := ix.Add(ctx, Vectors(x[:1]).WithIDs(ids[:1])); !errors.Is(err, api.ErrExists) {
				t.Errorf("added twice: %v", err)
			}
			if _, err := ix.Get("nobody"); !errors.Is(err, api.ErrNotFound) {
				t.Errorf("an item that is not there: %v", err)
			}
			if err := ix.Close(); err != nil {
				t.Fatal(err)
			}
			_, searched := ix.Search(ctx, &api.Request{Query: api.Query{ID: "item-08"}})
			_, explained := ix.Explain(ctx, api.Query{ID: "item-08"}, "item-01")
			added := ix.Upsert(ctx, Vectors(x[:1]).WithIDs(ids[:1]))
			if file := added != nil; (searched != nil) != file || (explained != nil) != file {
				t.Errorf("after Close: a change %v, a search %v, an explanation %v", added, searched, explained)
			}
		})
	}
}

// TestAttributesInFiles takes attributes from the file of the vectors, or from one of their own.
func TestAttributesInFiles(t *testing.T) {
	ctx := context.Background()
	t.Chdir(t.TempDir())
	var rows, table strings.Builder
	rows.WriteString("sku,kind,a,b,price\n")
	table.WriteString("code,name\n")
	for i := range 40 {
		fmt.Fprintf(&rows, "s%d,k%d,%d,%d,%d\n", i, i%2, i%2*9+i%3, i%5, 100+i)
		fmt.Fprintf(&table, "s%d,n%d\n", 39-i, 39-i)
	}
	for name, text := range map[string]string{"rows.csv": rows.String(), "table.csv": table.String()} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := Columns{Vector: "a,b", Label: "kind", ID: "sku"}
	m := trained(t)(Train(ctx, must[*Data](t)(OpenData("rows.csv", c)), quick))
	c.Attributes = []string{"price"}
	ix := must[*Index](t)(NewIndex(ctx, m, must[*Data](t)(OpenData("rows.csv", c))))
	if h, _ := ix.Get("s7"); len(h.Attributes) != 1 || h.Attributes["price"] != 107.0 {
		t.Errorf("%+v", h)
	}
	c.Attributes = nil
	f := Files{Paths: []string{"rows.csv"}, Attributes: "table.csv"}
	_, err := NewIndex(ctx, m, must[*Data](t)(OpenFiles(f, c)))
	if refusal, ok := errors.AsType[*dataset.SpecError](err); !ok || refusal.Field != "AttributesID" ||
		!strings.Contains(err.Error(), "table.csv") {
		t.Errorf("a table without the column of ids: %v", err)
	}
	f.AttributesID = "code"
	ix = must[*Index](t)(NewIndex(ctx, m, must[*Data](t)(OpenFiles(f, c))))
	if h, _ := ix.Get("s7"); len(h.Attributes) != 1 || h.Attributes["name"] != "n7" {
		t.Errorf("%+v", h)
	}
}

// find answers a query.
func find(t *testing.T, ix *Index, q api.Query, o api.Options) []api.Hit {
	t.Helper()
	return must[*api.Answer](t)(ix.Search(t.Context(), &api.Request{Query: q, Options: o})).Results[0].Hits
}

// listed collects the items that a filter lets through.
func listed(t *testing.T, ix *Index, where string) (items []api.Item) {
	t.Helper()
	for it, err := range ix.List(t.Context(), where) {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	return items
}

// inMemoryAndFile returns two indexes of the same items.
func inMemoryAndFile(t *testing.T, m *Model, items *Data) map[string]*Index {
	t.Helper()
	file := must[*Index](t)(CreateIndex(t.Context(), filepath.Join(t.TempDir(), "shop.hgi"), m, items))
	t.Cleanup(func() { file.Close() })
	return map[string]*Index{"memory": must[*Index](t)(NewIndex(t.Context(), m, items)), "file": file}
}

// TestBlankFiltersDeleteNothing: what a program sends that has no condition left.
func TestBlankFiltersDeleteNothing(t *testing.T) {
	x, labels := clouds(1, 60)
	m := trained(t)(Train(t.Context(), Rows(x, labels), quick))
	for name, ix := range inMemoryAndFile(t, m, Rows(x, labels)) {
		for _, blank := range []string{"", " ", "\t\n"} {
			if n, err := ix.DeleteWhere(t.Context(), blank); n != 0 || !errors.Is(err, api.ErrInvalid) || ix.Len() != 60 {
				t.Errorf("%s, %q: %d deleted, %d left, %v", name, blank, n, ix.Len(), err)
			}
		}
		if n, err := ix.DeleteWhere(t.Context(), "has id"); n != 60 || err != nil || ix.Len() != 0 {
			t.Errorf("%s: %d deleted, %d left, %v", name, n, ix.Len(), err)
		}
	}
}

// TestWritesBringVectors: after a write, a search by id, a reranking and ties use the vector that was written, or none
// if the item came with a code alone; vectors that are not those of the items' codes are not taken in.
func TestWritesBringVectors(t *testing.T) {
	ctx := t.Context()
	x, labels := clouds(1, 60)
	m := trained(t)(Train(ctx, Rows(x, labels), quick))
	ids := make([]string, len(x))
	for i := range ids {
		ids[i] = fmt.Sprint("item-", i)
	}
	for name, ix := range inMemoryAndFile(t, m, Rows(x, labels).WithIDs(ids)) {
		if err := ix.SetVectors(ctx, Rows(x, labels).WithIDs(ids)); err != nil {
			t.Fatal(err)
		}
		nine := 9
		one := func(from int) *Data { return Rows(x[from:from+1], labels[from:from+1]).WithIDs([]string{"item-0"}) }
		same := func(when string, vector []float32) {
			t.Helper()
			for _, o := range []api.Options{{Rank: api.Margins, K: &nine}, {Rerank: api.Euclidean, K: &nine}, {Ties: api.Vectors, K: &nine}} {
				byID, err := ix.Search(ctx, &api.Request{Query: api.Query{ID: "item-0"}, Options: o})
				if err != nil {
					t.Fatalf("%s, %s: %v", name, when, err)
				}
				byVector := must[*api.Answer](t)(ix.Search(ctx, &api.Request{Query: api.Query{Vector: vector}, Options: o}))
				if a, b := byID.Results[0].Hits, byVector.Results[0].Hits; !reflect.DeepEqual(a, b) {
					t.Errorf("%s, %s, %+v:\nby id     %+v\nby vector %+v", name, when, o, a, b)
				}
			}
		}
		same("as built", x[0])
		if err := ix.Upsert(ctx, one(31)); err != nil {
			t.Fatal(err)
		}
		same("another vector", x[31])
		if err := ix.Add(ctx, one(17)); !errors.Is(err, api.ErrExists) {
			t.Fatal(err)
		}
		same("a write that failed", x[31])
		if _, err := ix.Delete(ctx, "item-0"); err != nil {
			t.Fatal(err)
		}
		if err := ix.Add(ctx, one(17)); err != nil {
			t.Fatal(err)
		}
		same("deleted and added again", x[17])
		code := must[Code](t)(m.Encode(x[31]))
		if err := ix.Upsert(ctx, Codes([]Code{code}).WithIDs([]string{"item-0"})); err != nil {
			t.Fatal(err)
		}
		rerank := api.Options{Rerank: api.Euclidean}
		if _, err := ix.Search(ctx, &api.Request{Query: api.Query{ID: "item-0"}, Options: rerank}); !errors.Is(err, api.ErrNoVector) {
			t.Errorf("%s: a reranking by the vector of an item that came with a code: %v", name, err)
		}
		if err := ix.SetVectors(ctx, Rows(x, labels).WithIDs(ids)); err != nil {
			t.Fatal(err)
		}
		if _, err := ix.Search(ctx, &api.Request{Query: api.Query{ID: "item-0"}, Options: rerank}); !errors.Is(err, api.ErrNoVector) {
			t.Errorf("%s: a vector of another code was taken in: %v", name, err)
		}
	}
}

// TestIndexOfCodes builds indexes of codes that no model has made, from memory and from a file.
func TestIndexOfCodes(t *testing.T) {
	ctx := context.Background()
	codes := []Code{{0, 1, 2}, {0, 1, 3}, {255, 1, 2}}
	path := filepath.Join(t.TempDir(), "hashes.csv")
	if err := os.WriteFile(path, []byte("id,hash,price\na,000102,1\nb,000103,2\nc,ff0102,3\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	files := must[*Data](t)(OpenFiles(Files{Paths: []string{path}, Codes: true, Attributes: path}, Columns{Vector: "hash"}))
	inFile := must[*Index](t)(CreateIndex(ctx, path+".hgi", nil, files))
	defer inFile.Close()
	for _, ix := range []*Index{
		must[*Index](t)(NewIndex(ctx, nil, Codes(codes).WithIDs([]string{"a", "b", "c"}))), must[*Index](t)(NewIndex(ctx, nil, files)), inFile,
	} {
		if ix.Model() != nil || ix.Len() != 3 {
			t.Errorf("%d items", ix.Len())
		}
		radius := 1
		r := &api.Request{Query: api.Query{Code: "000103"}, Options: api.Options{Radius: &radius}}
		if a := must[*api.Answer](t)(ix.Search(ctx, r)); len(a.Results[0].Hits) != 2 || a.Results[0].Hits[0].ID != "b" {
			t.Errorf("found %+v", a.Results)
		}
		if _, err := ix.Search(ctx, &api.Request{Query: api.Query{Vector: []float32{1}}}); !errors.Is(err, api.ErrNoModel) {
			t.Errorf("a vector: %v", err)
		}
		if err := ix.Add(ctx, Codes([]Code{{1}})); err == nil {
			t.Error("a shorter code was added")
		}
	}
	if it := must[api.Item](t)(inFile.Get("c")); it.Attributes["price"] != 3.0 || it.Attributes["hash"] != nil {
		t.Errorf("attributes %v", it.Attributes)
	}
	for _, d := range []*Data{nil, Codes(nil), Codes([]Code{{}}), Vectors([][]float32{{1}}), Codes([]Code{{1}, {1, 2}})} {
		if _, err := NewIndex(ctx, nil, d); err == nil {
			t.Error("items without a model and without codes of one length")
		}
	}
}

// TestDuplicates: those of an index in memory are those of its file, and there are none of a closed index.
func TestDuplicates(t *testing.T) {
	codes := []Code{{1, 2}, {1, 3}, {255, 0}, {1, 2}}
	ix, err := NewIndex(t.Context(), nil, Codes(codes).WithIDs([]string{"a", "b", "c", "d"}))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.hgi")
	if err := ix.Save(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	o := DuplicateOptions{Radius: 1}
	here, err := ix.Duplicates(t.Context(), o)
	there, err2 := FindDuplicates(t.Context(), path, o)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	want := []Duplicate{{A: "a", B: "b", Distance: 1}, {A: "a", B: "d"}, {A: "b", B: "d", Distance: 1}}
	for _, d := range []*Duplicates{here, there} {
		var got []Duplicate
		for p, err := range d.AllPairs(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p)
		}
		if d.Pairs != 3 || !slices.Equal(got, want) {
			t.Errorf("%d pairs: %v", d.Pairs, got)
		}
	}
	o.Groups = true
	if d, err := ix.Duplicates(t.Context(), o); err != nil || d.Groups != 1 || d.Items != 3 {
		t.Errorf("groups: %+v, %v", d, err)
	}
	if _, err := ix.Duplicates(t.Context(), DuplicateOptions{Radius: -1}); !errors.Is(err, api.ErrInvalid) {
		t.Errorf("a negative radius: %v", err)
	}
	if _, err := ix.Duplicates(t.Context(), DuplicateOptions{Radius: 1, Most: 2}); !errors.Is(err, api.ErrTooLarge) {
		t.Errorf("too many pairs: %v", err)
	}
}
