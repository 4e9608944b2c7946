package server

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"hashgrove/internal/store"
)

// TestHangUpsAreNoErrors: a client that goes away during a search is no error of the service in its log and its metrics,
// which would wake somebody up.
func TestHangUpsAreNoErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.hgi")
	st, err := store.Create(t.Context(), path, store.Options{Bits: 64})
	if err == nil {
		err = st.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s, err := New(t.Context(), Options{Collections: []CollectionOptions{{Name: "x", Path: path}}, Hosts: Loopback(),
		Log: slog.New(slog.NewTextHandler(&log, nil)), LogAll: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	gone, leave := context.WithCancel(t.Context())
	leave()
	r := httptest.NewRequestWithContext(gone, "POST", "http://localhost/v1/collections/x/search", strings.NewReader(`{"code":"0123456789abcdef"}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if w.Code >= http.StatusInternalServerError || !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("status %d, %s", w.Code, &log)
	}
}
