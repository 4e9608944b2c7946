package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/engine"
	"hashgrove/internal/engine/enginetest"
	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/searchtest"
)

// schemes are those of the dialects.
var elasticSchemes = map[bool]string{true: "opensearch", false: "elasticsearch"}

// openTable opens a table of a fake server.
func openTable(t *testing.T, url, table string) engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Target{URL: url, Table: table, Password: "hunter2hunter2", InFlight: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// TestElastic runs the suite in both dialects, against fakes.
func TestElastic(t *testing.T) {
	for open, scheme := range elasticSchemes {
		t.Run(scheme, func(t *testing.T) {
			s, n := newElasticFake(t, open), 0
			t.Run("suite", func(t *testing.T) {
				runFake(t, noDates, func(t *testing.T) engine.Engine {
					n++
					return openTable(t, s.address(scheme), fmt.Sprintf("items-%d", n))
				})
			})
			if len(s.points) > 0 {
				t.Errorf("%d points in time were left open", len(s.points))
			}
			t.Run("plan", func(t *testing.T) {
				s := newElasticFake(t, open)
				checkRequests(t, s.fake, openTable(t, s.address(scheme), "items"), func(body, answer string) bool {
					return !strings.Contains(body, "script") || strings.Contains(answer, `"17"`)
				})
			})
			t.Run("items", func(t *testing.T) { checkElasticItems(t, open) })
			t.Run("tables", func(t *testing.T) { checkElasticTables(t, open) })
			t.Run("pages", func(t *testing.T) { checkElasticPages(t, open) })
			t.Run("faults", func(t *testing.T) {
				checkFaults(t, func(t *testing.T) (*fake, engine.Engine) {
					s := newElasticFake(t, open)
					return s.fake, openTable(t, s.address(scheme), "items")
				}, func(q asked) bool { return strings.HasSuffix(q.path, "/_bulk") })
			})
		})
	}
}

// checkElasticItems: single items that the service refuses are named and the others are written; items that are late are
// sent again.
func checkElasticItems(t *testing.T, open bool) {
	s := newElasticFake(t, open)
	e := openTable(t, s.address(elasticSchemes[open]), "items")
	b := searchtest.Items(100, 64, 1)
	b.Labels[17], b.IDs[80] = "\xff", index.Text(strings.Repeat("x", 600))
	b.Labels[50] = strings.Repeat("long", 9000)
	bad, late := b.IDs[33].String(), b.IDs[60].String()
	tries := 0
	s.refuse = func(id string) (int, string) {
		switch {
		case id == bad:
			return 400, "mapper_parsing_exception"
		case id == late && tries < 3:
			tries++
			return 429, "es_rejected_execution_exception"
		}
		return 0, ""
	}
	r, err := engine.Push(t.Context(), e, b, engine.PushOptions{Batch: 40, Wait: 1})
	if !errors.Is(err, engine.ErrRefused) || len(r.Refused) != 4 || r.Written != 96 || r.Retries != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, refused := range r.Refused {
		if refused.ID.String() == bad && !strings.Contains(refused.Reason, "mapper_parsing_exception") {
			t.Errorf("%v was refused: %s", refused.ID, refused.Reason)
		}
	}
	if n, err := e.Count(t.Context()); n != 96 || err != nil {
		t.Errorf("%d items, %v", n, err)
	}
	more := index.NewBatch(64)
	more.Append(index.Item{ID: index.Int(1000), Code: []uint64{1}})
	more.Append(index.Item{ID: index.Text("text"), Code: []uint64{1}})
	if err := e.Write(t.Context(), more); err != nil {
		t.Fatal(err)
	}
	if n, err := e.Count(t.Context()); n != 98 || err != nil {
		t.Errorf("%d items after another batch, %v", n, err)
	}
	f, err := index.Parse(`id >= "1000"`)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Read(t.Context(), f, func(b *index.Batch) error {
		if len(b.IDs) != 1 || b.IDs[0] != index.Int(1000) {
			t.Errorf("where %v: %v", f, b.IDs)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	for _, text := range []string{`added = 2024-01-31`, `label > "2024-01-31"`, `tag between 2024-01-01 and 2024-01-31`} {
		f, err := index.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Search(t.Context(), engine.Query{Codes: hamming.NewCodes(1, 64), K: 1, Radius: -1, Filter: f})
		if !errors.Is(err, engine.ErrFilter) || !fault.Is(err, "no-dates") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// checkElasticTables: indexes of others, other versions and the other service are refused.
func checkElasticTables(t *testing.T, open bool) {
	s := newElasticFake(t, open)
	scheme := elasticSchemes[open]
	e, space := openTable(t, s.address(scheme), "items"), engine.Space{Bits: 64}
	first, err := e.Prepare(t.Context(), space)
	if err != nil || !strings.HasPrefix(strings.ToLower(first.Engine), scheme+" ") {
		t.Fatal(first, err)
	}
	delete(s.indexes, "items")
	if again, err := e.Prepare(t.Context(), space); err != nil || again.Identity == first.Identity {
		t.Errorf("the index made anew is %v, before %v: %v", again, first, err)
	}
	mappings := s.indexes["items"].body["mappings"].(map[string]any)
	delete(mappings, "_meta")
	_, err = e.Prepare(t.Context(), space)
	if d := fault.Differs(err, "foreign-table", "items"); d != "" {
		t.Errorf("an index of others: %s", d)
	}
	for version, want := range map[string]fault.Code{"1.3.0": "old-version", "7.10.2": "", "x": "unknown-version"} {
		if s.version = version; want == "" && !open {
			want = "old-version"
		}
		_, err := e.Info(t.Context())
		if d := fault.Differs(err, want, version); want != "" && d != "" {
			t.Errorf("version %s: %s", version, d)
		}
	}
	_, err = openTable(t, s.address(elasticSchemes[!open]), "items").Info(t.Context())
	if d := fault.Differs(err, "wrong-service", scheme); d != "" {
		t.Errorf("the other service: %s", d)
	}
	for _, bad := range []string{"Items", "_x", "a b", "a,b", "a/b", "-x", ".x", strings.Repeat("x", 300)} {
		if _, err := engine.Open(t.Context(), engine.Target{URL: s.address(scheme), Table: bad}); err == nil {
			t.Errorf("the index %q", bad)
		}
	}
}

// checkElasticPages reads and searches more than one page.
func checkElasticPages(t *testing.T, open bool) {
	if testing.Short() {
		t.Skip("writes 12,000 items")
	}
	s := newElasticFake(t, open)
	e := openTable(t, s.address(elasticSchemes[open]), "items")
	const n = 12000
	b := searchtest.Items(n, 16, 1)
	if _, err := engine.Push(t.Context(), e, b, engine.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	x := index.New(16, searchtest.Fingerprint, index.Config{})
	if err := x.Add(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for _, q := range []engine.Query{{K: 11000, Radius: -1}, {Radius: 16}, {K: n + 5, Radius: -1}} {
		q.Codes = hamming.NewCodes(1, 16)
		want, err := enginetest.Exact(t.Context(), x.Snapshot(), q)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.Search(t.Context(), q); err != nil || !slices.Equal(got[0], want[0]) {
			t.Errorf("k %d, radius %d: %d hits, want %d, %v", q.K, q.Radius, len(got[0]), len(want[0]), err)
		}
	}
	read := 0
	err := e.Read(t.Context(), index.Filter{}, func(some *index.Batch) error { read += len(some.IDs); return nil })
	if read != n || err != nil {
		t.Errorf("%d items were read, %v", read, err)
	}
	stop := errors.New("enough")
	if err := e.Read(t.Context(), index.Filter{}, func(*index.Batch) error { return stop }); err != stop {
		t.Errorf("a read that was stopped: %v", err)
	}
	if len(s.points) > 0 {
		t.Errorf("%d points in time were left open", len(s.points))
	}
}
