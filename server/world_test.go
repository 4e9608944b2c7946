package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hashgrove"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/store"
	"hashgrove/internal/vectors"
	"hashgrove/server"
)

// world is a server over one collection, "shop", of vectors of three classes, with its model and the vectors.
type world struct {
	*testing.T
	path, vectorsFile string
	model             *model.Model
	x                 vectors.Matrix
	labels            []string
	server            *server.Server
	http              *httptest.Server
	header            http.Header // of every request
}

const worldRows, worldDim, worldBits = 240, 6, 16

var ctx = context.Background()

// worldData returns vectors around three centres.
func worldData() (vectors.Matrix, []string) {
	r := rand.New(rand.NewPCG(7, 7))
	x := vectors.Matrix{Rows: worldRows, Cols: worldDim}
	var labels []string
	for i := range worldRows {
		class := i % 3
		for j := range worldDim {
			v := r.NormFloat64()
			if j%3 == class {
				v += 3
			}
			x.Data = append(x.Data, float32(v))
		}
		labels = append(labels, []string{"boots", "hats", `"><script>alert(1)</script>`}[class])
	}
	return x, labels
}

// worldModel is learned once for all tests.
var worldModel = sync.OnceValues(func() (*model.Model, error) {
	x, labels := worldData()
	rows := make([][]float32, x.Rows)
	for i := range rows {
		rows[i] = x.Row(i)
	}
	m, err := hashgrove.Train(ctx, hashgrove.Rows(rows, labels),
		hashgrove.Options{Bits: worldBits, Effort: "paper", Rounds: 10, Depth: 3})
	if err != nil {
		return nil, err
	}
	return m.Expert(), nil
})

// newWorld starts a server; change may be nil.
func newWorld(t *testing.T, change func(o *server.Options)) *world {
	t.Helper()
	m, err := worldModel()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, model: m, path: filepath.Join(t.TempDir(), "shop.hgi"), header: http.Header{}}
	w.x, w.labels = worldData()
	w.fill(w.path, m)
	w.vectorsFile = filepath.Join(t.TempDir(), "x.npy")
	w.writeNpy(w.vectorsFile)
	o := server.Options{Collections: []server.CollectionOptions{{Name: "shop", Path: w.path, Vectors: w.vectorsFile}}}
	if change != nil {
		change(&o)
	}
	if w.server, err = server.New(ctx, o); err != nil {
		t.Fatal(err)
	}
	w.http = httptest.NewServer(w.server.Handler())
	t.Cleanup(func() {
		w.http.Close()
		if err := w.server.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// fill makes an index file of all rows.
func (w *world) fill(path string, m *model.Model) {
	w.Helper()
	st, err := store.Create(ctx, path, store.Options{Model: m})
	if err != nil {
		w.Fatal(err)
	}
	codes, err := m.Encode(ctx, w.x, 0)
	if err != nil {
		w.Fatal(err)
	}
	b := index.NewBatch(codes.Bits)
	b.Fingerprint = m.Fingerprint()
	for i := range w.x.Rows {
		b.Append(index.Item{
			ID: index.Int(int64(i)), Code: codes.Row(i), Label: w.labels[i], Tags: []string{fmt.Sprint("t", i%4)},
			Attributes: map[string]index.Value{"price": index.Number(float64(i)), "name": index.String(fmt.Sprint("n", i))},
		})
	}
	if err := st.Add(ctx, b); err != nil {
		w.Fatal(err)
	}
	if err := st.Close(); err != nil {
		w.Fatal(err)
	}
}

// writeNpy writes the vectors to a file.
func (w *world) writeNpy(path string) {
	w.Helper()
	if err := writeFile(path, npyOf(w.x)); err != nil {
		w.Fatal(err)
	}
}

// call sends a request and returns status, headers and body. A body that is a string or bytes is sent as it is, anything
// else as JSON.
func (w *world) call(method, path string, body any, header ...string) (int, http.Header, []byte) {
	w.Helper()
	var in io.Reader
	kind := "application/json"
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	case []byte:
		in, kind = bytes.NewReader(b), "application/octet-stream"
	default:
		text, err := json.Marshal(b)
		if err != nil {
			w.Fatal(err)
		}
		in = bytes.NewReader(text)
	}
	r, err := http.NewRequest(method, w.http.URL+path, in)
	if err != nil {
		w.Fatal(err)
	}
	for name, values := range w.header {
		r.Header[name] = values
	}
	if in != nil {
		r.Header.Set("Content-Type", kind)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		w.Fatal(err)
	}
	return a.StatusCode, a.Header, b
}

// get calls and decodes a JSON response with status 200 into v.
func (w *world) get(v any, method, path string, body any, header ...string) {
	w.Helper()
	status, _, b := w.call(method, path, body, header...)
	if status != http.StatusOK {
		w.Fatalf("%s %s: status %d: %s", method, path, status, b)
	}
	if err := json.Unmarshal(b, v); err != nil {
		w.Fatalf("%s %s: %v: %s", method, path, err, b)
	}
}

// refused calls, expects an error and returns its message.
func (w *world) refused(status int, method, path string, body any, header ...string) string {
	w.Helper()
	got, _, b := w.call(method, path, body, header...)
	var a struct {
		Error struct {
			Status    int
			Message   string
			RequestID string `json:"request_id"`
		}
	}
	if err := json.Unmarshal(b, &a); err != nil || a.Error.Status != got || a.Error.Message == "" || a.Error.RequestID == "" {
		w.Errorf("%s %s: not an error as they are: %s", method, path, b)
	}
	if got != status {
		w.Errorf("%s %s: status %d, want %d: %s", method, path, got, status, b)
	}
	return a.Error.Message
}
