package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestAnEmptyTokenIsNone: a service with one token takes an empty one neither for the other, which it does not have,
// nor for its own. HTTP/1 cuts the space off that ends "Bearer ", and HTTP/2 does not.
func TestAnEmptyTokenIsNone(t *testing.T) {
	const secret = "a-token-that-nobody-guesses"
	s, _ := serveBatch(t, clusters(0, 10, 32, 2))
	for name, c := range map[string]struct {
		read, write string
		own         access // what the token allows
	}{
		"only a read token": {read: secret, own: reading}, "only a write token": {write: secret, own: writing},
		"both": {read: secret, write: secret + "2", own: reading},
	} {
		s.options.ReadToken, s.options.WriteToken = c.read, c.write
		for header, want := range map[string]access{
			"": none, "Bearer": none, "Bearer ": none, "Bearer  ": none, "Bearer x": none, "bearer ": none, "Basic ": none,
			"Bearer " + secret: c.own, "Bearer " + secret + " ": none, "Bearer " + secret[1:]: none,
		} {
			r := httptest.NewRequest("DELETE", "/v1/collections/shop/items/1", nil)
			r.Header["Authorization"] = []string{header}
			if got := s.accessOf(r); got != want {
				t.Errorf("%s: %q allows %v, want %v", name, header, got, want)
			}
		}
		r := httptest.NewRequest("GET", "http://localhost/v1/collections/shop/items/1", nil)
		// With two tokens, programs before this one may have looked at the other.
		for status, tokens := range map[int][]string{http.StatusUnauthorized: {"Bearer "}, http.StatusBadRequest: {"Bearer " + secret, "Bearer x"}} {
			r.Header["Authorization"] = tokens
			w := httptest.NewRecorder()
			if s.Handler().ServeHTTP(w, r); w.Code != status {
				t.Errorf("%s: a request with the tokens %q: %d, %s", name, tokens, w.Code, w.Body)
			}
		}
	}
}
