package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hashgrove/internal/engine"
	"hashgrove/internal/fault"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/pgtest"
	"hashgrove/internal/testkit/searchtest"
)

// checkBulkFiles loads every form of file into a table of its own, as its text says: each must be the table of a push.
func checkBulkFiles(t *testing.T, s *pgtest.Server) {
	ctx, c, e := t.Context(), connect(t, s), open(t, s, "pushed")
	b := searchtest.Items(300, 13, 6)
	for i, text := range []string{"tab\there", "line\nbreak", "cr\r\n", `\N`, `\.`, "\v\f\b", `,"';`, "\x01\x02", "<&>\u2028"} {
		b.Labels[i], b.Tags[i], b.IDs[i] = text, []string{text, "x" + text}, index.Text(fmt.Sprint(i, text))
		b.Attributes[i] = map[string]index.Value{text: index.String(text)}
	}
	if _, err := engine.Push(ctx, e, b, engine.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	source, err := engine.FromBatch(b)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(text string) {
		t.Helper()
		if _, err := c.Exec(ctx, text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	layouts := e.(engine.Loader).Layouts(source.Space)
	loaded := 0
	for _, l := range layouts {
		if l.IsTable() {
			continue
		}
		var file bytes.Buffer
		if n, err := l.WriteText(ctx, &file, source, nil); n != 300 || err != nil {
			t.Fatalf("%s: %d items, %v", l.Name, n, err)
		}
		exec("CREATE TABLE loaded (LIKE pushed); CREATE TEMPORARY TABLE lines (line jsonb)")
		data, into := file.Bytes(), "loaded"
		if l.Name == "sql" {
			data = bytes.TrimSuffix(bytes.TrimPrefix(data, []byte(l.Head)), []byte(l.Tail))
		}
		if l.Name == "jsonl" {
			into = "lines"
		}
		options := ""
		if _, after, found := strings.Cut(l.Load, "'FILE' ("); found {
			options = " (" + after[:strings.Index(after, ")")+1]
		}
		if _, err := c.PgConn().CopyFrom(ctx, bytes.NewReader(data), "COPY "+into+" FROM STDIN"+options); err != nil {
			t.Fatalf("%s: %v", l.Name, err)
		}
		if _, insert, found := strings.Cut(l.Load, "INSERT INTO "); found {
			exec("INSERT INTO " + strings.Replace(insert, `"pushed"`, "loaded", 1))
		}
		var rows, other int
		err := c.QueryRow(ctx, "SELECT (SELECT count(*) FROM loaded), (SELECT count(*) FROM (TABLE loaded EXCEPT TABLE pushed) AS d)").Scan(&rows, &other)
		if rows != 300 || other != 0 || err != nil {
			t.Errorf("%s: %d rows, %d of them others than a push writes, %v", l.Name, rows, other, err)
		}
		exec("DROP TABLE loaded, lines")
		loaded++
	}
	if loaded != 4 {
		t.Errorf("%d forms were loaded", loaded)
	}
}

// TestBulkRefusesItems: an item that the engine could not hold, or that is there twice, ends the file with its id.
func TestBulkRefusesItems(t *testing.T) {
	e, err := engine.Open(t.Context(), engine.Target{URL: "postgres://localhost/x"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	b := searchtest.Items(20, 8, 1)
	b.Labels[3], b.IDs[3] = "zero\x00byte", index.Text("culprit")
	source, err := engine.FromBatch(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range e.(engine.Loader).Layouts(source.Space) {
		var err error
		if l.IsTable() {
			_, err = l.WriteRows(t.Context(), source, nil, func([]any) error { return nil })
		} else {
			_, err = l.WriteText(t.Context(), &bytes.Buffer{}, source, nil)
		}
		if d := fault.Differs(err, "zero-byte", `"culprit"`); d != "" {
			t.Errorf("%s: %s", l.Name, d)
		}
	}
}

// TestBulkRows: a table has the values of the JSON lines.
func TestBulkRows(t *testing.T) {
	e, err := engine.Open(t.Context(), engine.Target{URL: "postgres://localhost/x"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	source, err := engine.FromBatch(searchtest.Items(50, 12, 1))
	if err != nil {
		t.Fatal(err)
	}
	layouts := map[string]engine.Layout{}
	for _, l := range e.(engine.Loader).Layouts(source.Space) {
		layouts[l.Name] = l
	}
	var lines bytes.Buffer
	if _, err := layouts["jsonl"].WriteText(t.Context(), &lines, source, nil); err != nil {
		t.Fatal(err)
	}
	decoder, l := json.NewDecoder(&lines), layouts["parquet"]
	n, err := l.WriteRows(t.Context(), source, nil, func(row []any) error {
		var line map[string]any
		if err := decoder.Decode(&line); err != nil {
			return err
		}
		attributes, err := json.Marshal(line["attributes"])
		if err != nil {
			return err
		}
		var again, own any
		if err := json.Unmarshal([]byte(row[5].(string)), &own); err != nil {
			return err
		}
		if err := json.Unmarshal(attributes, &again); err != nil {
			return err
		}
		if row[0] != line["id"] || row[2] != line["code"] || row[3] != line["label"] || fmt.Sprint(row[4]) != fmt.Sprint(line["tags"]) ||
			fmt.Sprint(own) != fmt.Sprint(again) || (row[1] == nil) != (line["id_number"] == nil) || len(row) != len(l.Columns) {
			t.Errorf("%v, want %v", row, line)
		}
		return nil
	})
	if n != 50 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
}
