package sqlitetest

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver"
	_ "github.com/ncruces/go-sqlite3/embed"

	"hashgrove/internal/engine"
	"hashgrove/internal/engine/enginetest"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/testkit/searchtest"
)

// TestFilesInAnotherSQLite pushes items, reads them with the driver, and runs the search that a dry run prints.
func TestFilesInAnotherSQLite(t *testing.T) {
	needs.Program(t, needs.SQLite, "sqlite3")
	const width = 100
	ctx, file, b := t.Context(), filepath.Join(t.TempDir(), "items.db"), searchtest.Items(300, width, 1)
	e, err := engine.Open(ctx, engine.Target{URL: "sqlite://" + filepath.ToSlash(file)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Push(ctx, e, b, engine.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i, id := range b.IDs {
		checkItem(t, db, id, b.Item(i))
	}
	x := index.New(width, b.Fingerprint, index.Config{})
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	want, err := enginetest.Exact(ctx, x.Snapshot(), engine.Query{Codes: hamming.NewCodes(1, width), K: 10, Radius: -1})
	if err != nil {
		t.Fatal(err)
	}
	searches := 0
	for _, st := range e.Plan(engine.Space{Bits: width}) {
		if st.Sent || !strings.HasPrefix(st.Text, "SELECT") {
			continue
		}
		searches++
		rows, err := db.Query(st.Text)
		if err != nil {
			t.Fatal(err)
		}
		var hits []index.Hit
		for rows.Next() {
			var id string
			var distance int
			if err := rows.Scan(&id, &distance); err != nil {
				t.Fatal(err)
			}
			hits = append(hits, index.Hit{ID: index.Text(id), Distance: distance})
		}
		if err := rows.Err(); err != nil || fmt.Sprint(hits) != fmt.Sprint(want[0]) {
			t.Errorf("%s\nfinds %v, want %v, %v", st.Text, hits, want[0], err)
		}
	}
	if searches == 0 {
		t.Error("no search is printed")
	}
}

// checkItem compares an item with what the driver reads.
func checkItem(t *testing.T, db *sql.DB, id index.ID, it index.Item) {
	t.Helper()
	var item, w0, w1 int64
	var label sql.NullString
	err := db.QueryRow("SELECT item, label, w0, w1 FROM items WHERE id = ?", id.String()).Scan(&item, &label, &w0, &w1)
	if err != nil || label.String != it.Label || label.Valid != (it.Label != "") ||
		w0 != int64(it.Code[0]) || w1 != int64(it.Code[1]) {
		t.Fatalf("item %v is %q, %x %x, want %+v, %v", id, label.String, w0, w1, it, err)
	}
	var tags, attributes int
	for _, tag := range it.Tags {
		var n int
		if err := db.QueryRow("SELECT count(*) FROM items_tags WHERE item = ? AND tag = ?", item, tag).Scan(&n); err != nil || n != 1 {
			t.Errorf("item %v has no tag %q, %v", id, tag, err)
		}
	}
	for name, v := range it.Attributes {
		var number sql.NullFloat64
		var text sql.NullString
		err := db.QueryRow("SELECT number, text FROM items_attributes WHERE item = ? AND name = ?", item, name).Scan(&number, &text)
		x, isNumber := v.Number()
		s, isText := v.Text()
		if err != nil || number.Valid != isNumber || number.Float64 != x || text.Valid != isText || text.String != s {
			t.Errorf("attribute %q of item %v is %v, %v, want %v, %v", name, id, number, text, v, err)
		}
	}
	err = db.QueryRow("SELECT (SELECT count(*) FROM items_tags WHERE item = ?1), (SELECT count(*) FROM items_attributes WHERE item = ?1)",
		item).Scan(&tags, &attributes)
	if err != nil || tags != len(it.Tags) || attributes != len(it.Attributes) {
		t.Errorf("item %v has %d tags and %d attributes, want %+v, %v", id, tags, attributes, it, err)
	}
}
