package engine_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hashgrove/internal/engine"
	"hashgrove/internal/engine/enginetest"
	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/redistest"
	"hashgrove/internal/testkit/searchtest"
)

// openRedis opens a table of the server; more is added to the URL.
func openRedis(t *testing.T, s *redistest.Server, table, more string) engine.Engine {
	t.Helper()
	return openTarget(t, engine.Target{URL: s.URL + more, Password: redistest.Password, Table: table, InFlight: 3})
}

func openTarget(t *testing.T, target engine.Target) engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// TestRedis runs everything against one real server.
func TestRedis(t *testing.T) {
	s := redistest.Start(t)
	n := 0
	t.Run("suite", func(t *testing.T) {
		if testing.Short() {
			t.Skip("thousands of searches")
		}
		enginetest.Run(t, func(t *testing.T) engine.Engine {
			n++
			return openRedis(t, s, fmt.Sprintf(`odd "name" %d`, n), "")
		}, searchtest.Abilities{Refuses: noOrder})
	})
	t.Run("graph", func(t *testing.T) { checkRedisGraph(t, s) })
	t.Run("plan", func(t *testing.T) { checkRedisPlan(t, s, 0) })
	t.Run("plan with detail", func(t *testing.T) { checkRedisPlan(t, s, 10) })
	t.Run("refusals", func(t *testing.T) { checkRedisRefusals(t, s) })
	t.Run("filters", func(t *testing.T) { checkRedisFilters(t, s) })
	t.Run("bulk", func(t *testing.T) { checkRedisBulk(t, s, 0) })
	t.Run("bulk with detail", func(t *testing.T) { checkRedisBulk(t, s, 20) })
	t.Run("tables", func(t *testing.T) { checkRedisTables(t, s) })
	t.Run("secrets", func(t *testing.T) { checkRedisPasswords(t, s) })
	t.Run("secure", func(t *testing.T) { checkRedisSecure(t, s) })
	t.Run("slow", func(t *testing.T) { checkRedisSlow(t, s) })
	t.Run("cut off", func(t *testing.T) { checkRedisCutOff(t, s) })
	t.Run("interrupted", func(t *testing.T) { checkInterrupted(t, openRedis(t, s, "interrupted", ""), 2000) })
}

// TestRedisAfterCrashes ends a server of its own: it adds every item to its graphs once more when it comes back.
func TestRedisAfterCrashes(t *testing.T) {
	s := redistest.Start(t)
	t.Run("replaced", func(t *testing.T) { checkRedisReplaced(t, s) })
	t.Run("gone", func(t *testing.T) {
		checkServerGone(t, s, 500, func(table string) engine.Engine { return openRedis(t, s, table, "") })
	})
}

// checkRedisGraph: a search that walks the graph finds nearly all, with filters too.
func checkRedisGraph(t *testing.T, s *redistest.Server) {
	ctx, b, e := t.Context(), searchtest.Items(1000, 64, 3), openRedis(t, s, "graph", "?search=graph")
	if r, err := engine.Push(ctx, e, b, engine.PushOptions{}); err != nil || r.Info.Exact {
		t.Fatalf("%+v, %v", r.Info, err)
	}
	f, err := index.Parse(`price < 10 or label = "boots"`)
	if err != nil {
		t.Fatal(err)
	}
	r, err := compared(t, e, b, engine.CheckOptions{
		Queries: searchtest.Items(50, 64, 4).Codes, Radius: 4, Filters: []index.Filter{f},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, search := range r.Searches { // within a radius all are found
		if search.Recall < 0.95 || i%2 == 1 && (search.Recall != 1 || search.Differ > 0) || search.Hits < 20 {
			t.Errorf("%+v", search)
		}
	}
}

// redisWords splits what redis-cli and MONITOR print into words.
func redisWords(t *testing.T, line string) []string {
	t.Helper()
	var words []string
	for _, word := range regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"|'[^']*'|<[^>]*>|\S+`).FindAllString(line, -1) {
		switch word[0] {
		case '\'':
			word = strings.Trim(word, "'")
		case '"':
			var err error
			if word, err = strconv.Unquote(word); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		words = append(words, word)
	}
	return words
}

// checkRedisPlan: a push sends what the plan says, as the server itself tells, and the searches that are printed answer
// as ours.
func checkRedisPlan(t *testing.T, s *redistest.Server, detail int) {
	ctx, e := t.Context(), openRedis(t, s, fmt.Sprint("planned table ", detail), "")
	watch, err := net.Dial("unix", s.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	fmt.Fprintf(watch, "AUTH \"%s\"\r\nMONITOR\r\n", redistest.Password)
	lines := bufio.NewReaderSize(watch, 1<<20)
	for range 2 {
		if line, err := lines.ReadString('\n'); line != "+OK\r\n" {
			t.Fatal(line, err)
		}
	}
	b, wide := searchtest.Items(100, 24, 1), 24
	if detail > 0 {
		b.Fingerprint, wide = b.Fingerprint.WithDetail(detail), 8*(24-detail)+detail
	}
	space := engine.Space{Bits: 24, Fingerprint: b.Fingerprint}
	if _, err := engine.Push(ctx, e, b, engine.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.RedisDo(ctx, e, "ECHO", "the end"); err != nil {
		t.Fatal(err)
	}
	var sent [][]string
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		words := redisWords(t, line)[2:]
		if words[0] == "lua]" || words[len(words)-2] == "ECHO" {
			if words[len(words)-2] == "ECHO" {
				break
			}
			continue
		}
		sent = append(sent, words[slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, "]") })+1:])
	}
	for _, st := range e.Plan(space) {
		want := redisWords(t, st.Text)
		if !st.Sent {
			checkRedisSearch(t, e, want, wide)
			continue
		}
		at := slices.IndexFunc(sent, func(words []string) bool {
			return len(words) > 4 && slices.Equal(words[:5], want[:5])
		})
		if at < 0 || !regexp.MustCompile(`^\{"bits":24,.*"identity":"[0-9a-f]{32}"\}$`).MatchString(sent[at][5]) {
			t.Fatalf("not sent, or not in this order: %s\n%q", st.Text, sent)
		}
		sent = sent[at+1:]
	}
}

// checkRedisSearch runs a command that the plan prints.
func checkRedisSearch(t *testing.T, e engine.Engine, words []string, wide int) {
	t.Helper()
	if words[0] == "UNLINK" {
		return
	}
	for i, word := range words {
		switch {
		case strings.HasPrefix(word, fmt.Sprintf("<%d floats", wide)):
			words[i] = engine.RedisFloats(wide)
		case word == "<id>":
			words[i] = "0"
		}
	}
	answer, err := engine.RedisDo(t.Context(), e, words...)
	if err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	list, _ := answer.([]any)
	if !slices.Contains(words, "TRUTH") {
		return
	}
	want, err := e.Search(t.Context(), engine.Query{Codes: hamming.NewCodes(1, 24), K: 10, Radius: -1})
	if err != nil || len(list) != 20 {
		t.Fatalf("%v, %v", answer, err)
	}
	for i, h := range want[0] {
		score, err := strconv.ParseFloat(list[2*i+1].(string), 64)
		want := h.Distance
		if wide > 24 {
			want = h.MarginDistance / hamming.DetailUnits
		}
		if got := (1 - score) * float64(wide); err != nil || got < float64(want)-0.01 || got > float64(want)+0.01 {
			t.Errorf("hit %d is at distance %v, want %d", i, got, want)
		}
	}
}

// checkRedisRefusals: items that cannot be stored are named and the others are written.
func checkRedisRefusals(t *testing.T, s *redistest.Server) {
	ctx, e := t.Context(), openRedis(t, s, "refusing", "")
	b := searchtest.Items(100, 64, 1)
	b.Labels[17], b.Labels[60], b.IDs[80] = "no\x00no", "\xff", index.Text("\xff"+strings.Repeat("x", 60000))
	b.Attributes[33] = map[string]index.Value{"\xfe": index.Number(1)}
	r, err := engine.Push(ctx, e, b, engine.PushOptions{Batch: 40})
	if !errors.Is(err, engine.ErrRefused) || len(r.Refused) != 2 || r.Written != 98 {
		t.Errorf("%d refused, %d written, %v", len(r.Refused), r.Written, err)
	}
	for _, refused := range r.Refused {
		if refused.ID != b.IDs[60] && refused.ID != b.IDs[33] {
			t.Errorf("%v was refused: %s", refused.ID, refused.Reason)
		}
	}
	if n, _ := e.Count(ctx); n != 98 {
		t.Errorf("%d items in the table", n)
	}
	for _, i := range []int{17, 80} {
		err := e.Read(ctx, index.IDs(b.IDs[i]), func(got *index.Batch) error {
			if got.IDs[0] != b.IDs[i] || got.Item(0).Label != b.Labels[i] {
				t.Errorf("item %d came back as %+v", i, got.Item(0))
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// checkRedisFilters: filters on which the language of Redis thinks otherwise, against the exact index.
func checkRedisFilters(t *testing.T, s *redistest.Server) {
	ctx, e := t.Context(), openRedis(t, s, "filters", "")
	b := index.NewBatch(8)
	for i, it := range []index.Item{
		{ID: index.Int(1), Label: `a\b`, Tags: []string{`"q"`, "'"}},
		{ID: index.Int(2), Label: "0", Attributes: map[string]index.Value{"x": index.String("abc")}},
		{ID: index.Int(3), Attributes: map[string]index.Value{"x": index.Number(0), "y": index.Number(-1e-17)}},
		{ID: index.Int(1<<53 + 1), Attributes: map[string]index.Value{"x": index.String(""), "y": index.Number(1e300)}},
		{ID: index.Text("1e3"), Tags: []string{"line\nend", "tab\t", "\x01\x7f"}, Attributes: map[string]index.Value{
			"_x": index.Number(1), "a-b_9": index.Number(5), "x": index.String("0")}},
	} {
		it.Code = []uint64{uint64(i) << 56}
		b.Append(it)
	}
	if _, err := engine.Push(ctx, e, b, engine.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	x := index.New(8, hamming.Fingerprint{}, index.Config{})
	if err := x.Add(ctx, b); err != nil {
		t.Fatal(err)
	}
	for text, refused := range map[string]bool{
		`x = 0`: false, `x = "0"`: false, `x = "abc"`: false, `x = ""`: false, `x != 0`: false, `not x = 0`: false,
		`x < 1`: false, `not x < 1`: false, `not x >= 1 or y > 0`: false, `x in (0, "abc")`: false, `not (x = 0 and y < 0)`: false,
		`y < 0`: false, `y > 1e299`: false, `y = 1e300`: false, `y = -1e-17`: false, `y < 1e-290`: true,
		`label = "a\\b"`: false, `label = "0"`: false, `label in ("", "0")`: false, `tag = "\"q\""`: false, `tag = "'"`: false,
		`tag = "line\nend"`: false, `tag = "tab\t"`: false, `tag in ("none", "'")`: false, `label = "\\"`: true,
		`id = 1000`: false, `id = "1e3"`: false, `id > 2`: false, `id < 9007199254740993`: true, `id <= 1e18`: true,
		`id in (1, 3.5, "1e3")`: false, "`a-b_9` = 5": false, "`_x` = 1": true, "has `_x`": true,
		`tag = "'\""`: true, `x = 2024-01-31`: true,
	} {
		f, err := index.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		q := engine.Query{Codes: hamming.NewCodes(1, 8), K: 9, Radius: -1, Filter: f}
		got, err := e.Search(ctx, q)
		if refused {
			if !errors.Is(err, engine.ErrFilter) {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		want, wantErr := enginetest.Exact(ctx, x.Snapshot(), q)
		if err != nil || wantErr != nil || !slices.Equal(got[0], want[0]) {
			t.Errorf("%s: %v, %v, want %v, %v", text, got, err, want, wantErr)
		}
	}
}

// checkRedisTables: keys of others are left alone, and a table that was removed is made anew.
func checkRedisTables(t *testing.T, s *redistest.Server) {
	ctx, space := t.Context(), engine.Space{Bits: 64}
	e := openRedis(t, s, "removed", "")
	do := func(words ...string) {
		t.Helper()
		if _, err := engine.RedisDo(ctx, e, words...); err != nil {
			t.Fatal(err)
		}
	}
	do("SET", "theirs", "x")
	do("VADD", "vectors", "VALUES", "2", "1", "1", "x")
	do("HSET", "hash:details", "a", "b")
	for _, name := range []string{"theirs", "vectors", "hash"} {
		_, err := openRedis(t, s, name, "").Prepare(ctx, space)
		if d := fault.Differs(err, "foreign-table", name); d != "" {
			t.Errorf("keys of others: %s", d)
		}
	}
	first, err := e.Prepare(ctx, space)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Write(ctx, searchtest.Items(10, 64, 1)); err != nil {
		t.Fatal(err)
	}
	do("UNLINK", "removed", "removed:details")
	if err := e.Write(ctx, searchtest.Items(10, 64, 1)); !errors.Is(err, engine.ErrNoTable) {
		t.Errorf("writing into a table that was removed: %v", err)
	}
	if _, err := e.Info(ctx); !errors.Is(err, engine.ErrNoTable) {
		t.Errorf("a table that was removed: %v", err)
	}
	again, err := e.Prepare(ctx, space)
	if err != nil || again.Identity == first.Identity {
		t.Errorf("the table made anew is %v, before %v: %v", again, first, err)
	}
	if err := e.Write(ctx, searchtest.Items(10, 64, 1)); err != nil {
		t.Fatal(err)
	}
	do("VREM", "removed", searchtest.Items(10, 64, 1).IDs[3].String())
	_, err = e.Prepare(ctx, space)
	if d := fault.Differs(err, "count-mismatch", "removed", "9", "10"); d != "" {
		t.Errorf("a table that lost an element: %s", d)
	}
	do("UNLINK", "removed")
	do("VADD", "removed", "VALUES", "2", "1", "1", "x", "BIN")
	err = e.Write(ctx, searchtest.Items(10, 64, 1))
	if d := fault.Differs(err, "foreign-table", "removed"); d != "" {
		t.Errorf("a vector set of others in the place of ours: %s", d)
	}
	do("HSET", "removed:details", "", "{}")
	_, err = e.Info(ctx)
	if d := fault.Differs(err, "damaged-table", "removed"); d != "" {
		t.Errorf("a damaged note: %s", d)
	}
}
