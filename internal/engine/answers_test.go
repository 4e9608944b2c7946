package engine_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hashgrove/internal/engine"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/searchtest"
)

var updateAnswers = flag.Bool("update-answers", false, "write the answers of the fakes as seeds of FuzzAnswers")

// conversation answers requests from a text, a line each: a status and a body. Without one it notes what a server answers.
type conversation struct {
	mu    sync.Mutex
	lines [][]byte
	asks  int
	note  *bytes.Buffer // nil when it answers
}

func (c *conversation) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.note != nil {
		a, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(a.Body)
		fmt.Fprintf(c.note, "%d %s\n", a.StatusCode, bytes.ReplaceAll(b, []byte("\n"), []byte(" ")))
		a.Body = io.NopCloser(bytes.NewReader(b))
		return a, errors.Join(err, a.Body.Close())
	}
	if c.asks++; len(c.lines) == 0 || c.asks > 200 {
		return nil, errors.New("nobody answers")
	}
	line := c.lines[0]
	c.lines = c.lines[1:]
	number, body, _ := bytes.Cut(line, []byte(" "))
	status, err := strconv.Atoi(string(number))
	if err != nil || status < 200 || status > 599 {
		status, body = 200, line
	}
	return &http.Response{
		StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)), Request: r,
	}, nil
}

// talk asks an engine for everything, and tells what came.
func talk(ctx context.Context, t *testing.T, e engine.Engine) (said []string) {
	tell := func(what string, err error) { said = append(said, fmt.Sprint(what, " ", err == nil)) }
	items := searchtest.Items(3, 64, 1)
	_, err := e.Prepare(ctx, engine.Space{Bits: 64, Fingerprint: searchtest.Fingerprint})
	tell("prepare", err)
	info, err := e.Info(ctx)
	tell(fmt.Sprint("info ", info.Bits), err)
	tell("write", e.Write(ctx, items))
	const k = 2
	f, err := index.Parse(`price < 1000000`)
	if err != nil {
		t.Fatal(err)
	}
	for _, filter := range []index.Filter{{}, f} {
		hits, err := e.Search(ctx, engine.Query{Codes: items.Codes, K: k, Radius: -1, Filter: filter})
		tell(fmt.Sprint("search ", len(hits)), err)
		if err == nil && len(hits) != items.Codes.Len() {
			t.Errorf("%d answers to %d queries", len(hits), items.Codes.Len())
		}
		for _, h := range hits {
			if err == nil && len(h) > k {
				t.Errorf("%d hits, and %d were asked for", len(h), k)
			}
		}
	}
	n := 0
	err = e.Read(ctx, index.Filter{}, func(b *index.Batch) error { n += len(b.IDs); return b.Check(64) })
	tell(fmt.Sprint("read ", n), err)
	n, err = e.Count(ctx)
	tell(fmt.Sprint("count ", n), err)
	return said
}

var talkers = []string{"elasticsearch", "opensearch", "milvus", "qdrant", "weaviate"}

// TestAnswersAreReplayed: what an engine makes of the answers of a server it makes of the same answers from a text, so
// FuzzAnswers begins with all that engines read.
func TestAnswersAreReplayed(t *testing.T) {
	for _, scheme := range talkers {
		t.Run(scheme, func(t *testing.T) {
			var e engine.Engine
			switch scheme {
			case "elasticsearch", "opensearch":
				e = openTable(t, newElasticFake(t, scheme == "opensearch").address(scheme), "items")
			case "milvus":
				_, e = startMilvus(t)
			case "qdrant":
				e = openTable(t, newQdrantFake(t).address(scheme), "items")
			case "weaviate":
				_, e = startWeaviate(t)
			}
			c := &conversation{note: new(bytes.Buffer)}
			engine.SetTransport(e, c)
			want := fmt.Sprint(talk(t.Context(), t, e))
			if strings.Contains(want, "false") {
				t.Errorf("the fake fails: %s", want)
			}
			again := openReplay(t, scheme, c.note.Bytes())
			if got := fmt.Sprint(talk(t.Context(), t, again)); got != want {
				t.Errorf("replayed: %s, want %s", got, want)
			}
			if *updateAnswers {
				seed := fmt.Sprintf("go test fuzz v1\nstring(%q)\n[]byte(%q)\n", scheme, c.note.Bytes())
				path := filepath.Join("testdata", "fuzz", "FuzzAnswers", scheme)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(seed), 0o666)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// openReplay opens an engine that is answered from a text.
func openReplay(t *testing.T, scheme string, text []byte) engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Target{URL: scheme + "+http://127.0.0.1:1", Table: "items", InFlight: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	engine.SetTransport(e, &conversation{lines: bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))})
	return e
}

// FuzzAnswers: whatever servers of engines answer, there is an error or an answer that fits the question, and an end.
func FuzzAnswers(f *testing.F) {
	for _, scheme := range talkers {
		f.Add(scheme, []byte("200 {}\n404 {}\n500 x\n200 []\n"))
	}
	f.Fuzz(func(t *testing.T, scheme string, text []byte) {
		known := false
		for _, s := range talkers {
			known = known || s == scheme
		}
		if !known {
			scheme = talkers[len(text)%len(talkers)]
		}
		watch := time.AfterFunc(20*time.Second, func() { panic("it hangs") })
		defer watch.Stop()
		_ = talk(t.Context(), t, openReplay(t, scheme, text))
	})
}
