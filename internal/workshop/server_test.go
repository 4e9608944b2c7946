package workshop

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hashgrove/internal/model"
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
				Name: c.Name, Path: c.Path, Vectors: c.Vectors, Pictures: c.Pictures, Report: c.Report,
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
	return (&bench{t: t, Workshop: w, url: web.URL}).listen()
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
	Heat []float64
}

func TestATableIsServed(t *testing.T) {
	b := newService(t, server.Options{})
	// The label is a number, which must not become a part of the vector again when the vectors are read.
	table := strings.NewReplacer("setosa", "1", "versicolor", "2", "virginica", "3").Replace(flowers(120))
	b.must("POST", "/v1/try?name=flowers.csv&label=species&bits=8&train=true", table)
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
	if len(why.Bits) != 8+2 || len(why.Bits[0].Reasons) == 0 || !strings.Contains("sepal petal", why.Bits[0].Reasons[0].Name) {
		t.Errorf("%+v", why)
	}
	var about struct{ Report bool }
	b.answer("GET", "/v1/collections/try-1", "", &about)
	if status, page := b.ask("GET", "/v1/collections/try-1/report", nil); !about.Report || status != 200 ||
		!strings.Contains(string(page), "flowers.csv") {
		t.Errorf("%d %.200s", status, page)
	}
	b.must("DELETE", "/v1/try/1", "")
	b.refused(404, "", "GET", "/v1/collections/try-1", "", "try-1")
}

func TestPicturesAreServed(t *testing.T) {
	b := newService(t, server.Options{})
	b.must("POST", "/v1/try?name=pets.zip&bits=4&train=true", pets(t, func(map[string][]byte) {}))
	b.wait("1", stateDone)
	const path = "/v1/collections/try-1/pictures/cat%2F000001.png"
	if status, picture := b.ask("GET", path, nil); status != 200 || len(picture) == 0 {
		t.Errorf("%d %s", status, picture)
	}
	var why explanation
	b.answer("POST", "/v1/collections/try-1/explain", `{"query":{"id":"cat/000001.png"},"id":"dog/000021.png"}`, &why)
	if len(why.Bits) != 4+64 || why.Heat != nil { // GIST has no pixels
		t.Errorf("%d bits and %d points", len(why.Bits), len(why.Heat))
	}
	b.refused(400, "no-such-features", "POST", "/v1/try/1/train", `{"features":"deep"}`, "deep", "gist320")
	b.must("POST", "/v1/try/1/train", `{"features":"pixels"}`)
	b.wait("1", stateDone)
	b.answer("POST", "/v1/collections/try-1/explain", `{"query":{"id":"cat/000001.png"},"id":"dog/000021.png"}`, &why)
	if len(why.Bits) != 4+64 || len(why.Heat) != 32*32 {
		t.Errorf("%d bits and %d points of pixels", len(why.Bits), len(why.Heat))
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

func TestErrorsNameTheRequest(t *testing.T) {
	b := newService(t, server.Options{})
	status, text := b.ask("POST", "/v1/try?name=a.csv", strings.NewReader("x"))
	var answer struct {
		Error struct {
			RequestID string `json:"request_id"`
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil || status != 400 || answer.Error.RequestID == "" {
		t.Errorf("%d %s, %v", status, text, fmt.Sprint(err))
	}
}

// TestTheModelCanBeKept downloads the model of an upload: it is that of the collection, and encodes.
func TestTheModelCanBeKept(t *testing.T) {
	b := newService(t, server.Options{})
	table := "a,b,kind\n" + strings.Repeat("1,2,x\n3,4,y\n1,3,x\n4,4,y\n", 20)
	j := b.must("POST", "/v1/try?name=shop.csv&label=kind&bits=8&train=true", table)
	j = b.wait(j.ID, stateDone)
	var about struct{ Fingerprint string }
	b.answer("GET", "/v1/collections/"+j.Collection, "", &about)
	a, err := http.Get(b.url + "/v1/try/" + j.ID + "/files/model.hgm")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	m, err := model.Read(a.Body)
	if err != nil || m.Fingerprint().String() != about.Fingerprint {
		t.Fatalf("%v, %v, want %s", m, err, about.Fingerprint)
	}
	if _, err := m.EncodeRow([]float32{1, 2}); err != nil {
		t.Error(err)
	}
}
