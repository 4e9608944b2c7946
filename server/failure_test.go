package server

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHangUpsAreNoErrors: a client that goes away during a search is no error of the service in its log and its metrics,
// which would wake somebody up.
func TestHangUpsAreNoErrors(t *testing.T) {
	var log bytes.Buffer
	s, _ := serveBatch(t, clusters(0, 10, 64, 2))
	s.log, s.options.LogAll = slog.New(slog.NewTextHandler(&log, nil)), true
	gone, leave := context.WithCancel(t.Context())
	leave()
	r := httptest.NewRequestWithContext(gone, "POST", "/v1/collections/shop/search", strings.NewReader(`{"code":"0123456789abcdef"}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if w.Code >= http.StatusInternalServerError || !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("status %d, %s", w.Code, &log)
	}
}
