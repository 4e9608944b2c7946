package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"hashgrove/internal/model"
	"hashgrove/server"
)

// shopServer is a server over one collection, "shop", with its model and the vectors.
type shopServer struct {
	*testing.T
	*service
	model *model.Model
	x     [][]float32
}

var ctx = context.Background()

// newShop starts a server; change may be nil.
func newShop(t *testing.T, change func(o *server.Options)) *shopServer {
	t.Helper()
	models, err := learned()
	ok(t, err)
	x, _ := shopRows()
	return &shopServer{t, serve(t, func(o *server.Options) {
		o.Collections = o.Collections[:1]
		if change != nil {
			change(o)
		}
	}), models["shop"], x}
}

// row returns the vector of an item.
func (w *shopServer) row(id int) []float32 { return w.x[id-1] }

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
