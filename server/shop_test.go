package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"hashgrove"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/vectors"
	"hashgrove/server"
)

// shopServer is a server over one collection, "shop", of vectors of three classes, with its model and the vectors.
type shopServer struct {
	*testing.T
	*service
	path, vectorsFile string
	model             *model.Model
	x                 vectors.Matrix
	labels            []string
}

const servedRows, servedDim, servedBits = 240, 6, 16

var ctx = context.Background()

// servedData returns vectors around three centres.
func servedData() (vectors.Matrix, []string) {
	r := rand.New(rand.NewPCG(7, 7))
	x := vectors.Matrix{Rows: servedRows, Cols: servedDim}
	var labels []string
	for i := range servedRows {
		class := i % 3
		for j := range servedDim {
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

// servedModel is learned once for all tests.
var servedModel = sync.OnceValues(func() (*model.Model, error) {
	x, labels := servedData()
	rows := make([][]float32, x.Rows)
	for i := range rows {
		rows[i] = x.Row(i)
	}
	m, err := hashgrove.Train(ctx, hashgrove.Rows(rows, labels),
		hashgrove.Options{Bits: servedBits, Effort: "paper", Trees: hashgrove.TreeOptions{Rounds: 10, Depth: 3}})
	if err != nil {
		return nil, err
	}
	return inside.Model(m), nil
})

// newShop starts a server; change may be nil.
func newShop(t *testing.T, change func(o *server.Options)) *shopServer {
	t.Helper()
	m, err := servedModel()
	ok(t, err)
	w := &shopServer{T: t, model: m, path: filepath.Join(t.TempDir(), "shop.hgi"), vectorsFile: filepath.Join(t.TempDir(), "x.npy")}
	w.x, w.labels = servedData()
	w.fill(w.path, m)
	ok(t, os.WriteFile(w.vectorsFile, npyOf(w.x), 0o666))
	w.service = serve(t, func(o *server.Options) {
		o.Collections = []server.CollectionOptions{{Name: "shop", Path: w.path, Vectors: w.vectorsFile}}
		if change != nil {
			change(o)
		}
	})
	return w
}

// fill makes an index file of all rows.
func (w *shopServer) fill(path string, m *model.Model) {
	w.Helper()
	codes, err := m.Encode(ctx, w.x, 0)
	ok(w, err)
	b := index.NewBatch(codes.Bits)
	b.Fingerprint = m.Fingerprint()
	for i := range w.x.Rows {
		b.Append(index.Item{
			ID: index.Int(int64(i)), Code: codes.Row(i), Label: w.labels[i], Tags: []string{fmt.Sprint("t", i%4)},
			Attributes: map[string]index.Value{"price": index.Number(float64(i)), "name": index.String(fmt.Sprint("n", i))},
		})
	}
	writeIndex(w, path, m, b)
}

// call sends a request and returns status, headers and body. A body that is a string or bytes is sent as it is, anything
// else as JSON.
func (w *shopServer) call(method, path string, body any, header ...string) (int, http.Header, []byte) {
	w.Helper()
	var text []byte
	switch b := body.(type) {
	case nil:
	case string:
		text = []byte(b)
	case []byte:
		text, header = b, append([]string{"Content-Type", "application/octet-stream"}, header...)
	default:
		var err error
		text, err = json.Marshal(b)
		ok(w, err)
	}
	a, err := w.service.call(method, path, string(text), header...)
	ok(w, err)
	return a.StatusCode, a.Header, a.body
}

// get calls and decodes a JSON response with status 200 into v.
func (w *shopServer) get(v any, method, path string, body any, header ...string) {
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
func (w *shopServer) refused(status int, method, path string, body any, header ...string) string {
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
