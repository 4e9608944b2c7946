package workshop

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hashgrove/server"
)

// newService is a service with a workshop, as the command has it.
func newService(t *testing.T, o server.Options) *bench {
	t.Helper()
	s, err := server.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	w := New(Options{
		Dir: t.TempDir(),
		Attach: func(ctx context.Context, c Collection) error {
			return s.AddCollection(ctx, server.CollectionOptions{
				Name: c.Name, Path: c.Path, Vectors: c.Vectors, Pictures: c.Pictures,
			})
		},
		Detach: s.RemoveCollection,
	})
	s.Mount("try", w)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		web.Close()
		for _, err := range []error{w.Close(), s.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return (&bench{t: t, Workshop: w, url: web.URL})
}

// answer reads the answer to a request that must succeed.
func (b *bench) answer(method, path, body string, to any) {
	b.t.Helper()
	r, err := http.NewRequest(method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer a.Body.Close()
	if err := json.NewDecoder(a.Body).Decode(to); err != nil || a.StatusCode != http.StatusOK {
		b.t.Fatalf("%s %s: %s, %v, %+v", method, path, a.Status, err, to)
	}
}

// explanation is a part of the answer to explain.
type explanation struct {
	Bits []struct {
		Reasons []struct{ Name string }
	}
}

func TestATableIsServed(t *testing.T) {
	b := newService(t, server.Options{})
	// The label is a number, which must not become a part of the vector again when the vectors are read.
	table := strings.NewReplacer("setosa", "1", "versicolor", "2", "virginica", "3").Replace(flowers(120))
	b.try("flowers.csv", table)
	b.wait("1", stateDone)
	var found struct {
		Results []struct {
			Hits []struct {
				ID         string
				Label      string
				Attributes map[string]any
			}
		}
	}
	b.answer("POST", "/v1/collections/try-1/search", `{"vector":[4.1,0.3],"k":5,"where":"colour = \"red\""}`, &found)
	for _, h := range found.Results[0].Hits {
		if h.Label != "1" || h.Attributes["colour"] != "red" || h.Attributes["petal"] == nil {
			t.Errorf("%+v", h)
		}
	}
	b.answer("POST", "/v1/collections/try-1/search", `{"id":"f7","k":3,"rerank":"euclidean"}`, &found)
	var why explanation
	b.answer("POST", "/v1/collections/try-1/explain", `{"query":{"id":"f0"},"id":"f1"}`, &why)
	if len(why.Bits) != 8+2 || len(why.Bits[0].Reasons) == 0 {
		t.Errorf("%+v", why)
	}
	b.must("DELETE", "/v1/try/1", "")
	b.refused(404, "GET", "/v1/collections/try-1", "", "try-1")
}

func TestPicturesAreServed(t *testing.T) {
	b := newService(t, server.Options{})
	b.try("pets.zip", pets(t, func(map[string][]byte) {}))
	b.wait("1", stateDone)
	const path = "/v1/collections/try-1/pictures/cat%2F000001.png"
	if status, picture := b.ask("GET", path, nil); status != 200 || len(picture) == 0 {
		t.Errorf("%d %s", status, picture)
	}
	var why explanation
	b.answer("POST", "/v1/collections/try-1/explain", `{"query":{"id":"cat/000001.png"},"id":"dog/000021.png"}`, &why)
	if len(why.Bits) != 8+64 {
		t.Errorf("%d bits", len(why.Bits))
	}
}

// TestTokensGuardUploads checks that the service guards what is mounted as everything else.
func TestTokensGuardUploads(t *testing.T) {
	b := newService(t, server.Options{ReadToken: "a token to read", WriteToken: "a token to write"})
	for token, want := range map[string]int{"": 401, "a token to read": 403, "a token to write": 202} {
		r, err := http.NewRequest("POST", b.url+"/v1/try?name=a.csv", strings.NewReader(flowers(60)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != want {
			t.Errorf("with the token %q: %s, want %d", token, a.Status, want)
		}
	}
}
