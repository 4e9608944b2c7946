package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// access is what a request may do.
type access int

const (
	none access = iota
	reading
	writing
)

func (a access) String() string { return []string{"none", "read", "write"}[a] }

// Loopback is the names of this machine for itself, for Options.Hosts.
var Loopback = []string{"localhost", "127.0.0.1", "::1"}

// secure sets the headers that keep a browser from doing more than the page needs.
func secure(h http.Header) {
	for i := range secureHeaders {
		h[secureHeaders[i].name] = secureHeaders[i].value
	}
}

// secureHeaders are set for every answer, so they share their values.
var secureHeaders = []struct {
	name  string
	value []string
}{
	// The page may load what it is made of, and pictures that people drop on it, from nowhere else.
	{"Content-Security-Policy", []string{
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
			"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}},
	{"X-Content-Type-Options", []string{"nosniff"}},
	{"X-Frame-Options", []string{"DENY"}},
	{"Referrer-Policy", []string{"no-referrer"}},
	{"Cross-Origin-Resource-Policy", []string{"same-origin"}},
	{"Cache-Control", []string{"no-store"}},
}

// admit decides whether a request is answered.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) error {
	if !s.isOurs(r.Host) {
		return problem(http.StatusForbidden, "this service is not called %.80q: address it as %s, or let it be started "+
			"with this host among its names", r.Host, s.options.Hosts[0])
	}
	if err := s.checkOrigin(w, r); err != nil {
		return err
	}
	if r.Header.Get("Content-Encoding") != "" && !strings.EqualFold(r.Header.Get("Content-Encoding"), "identity") {
		return problem(http.StatusUnsupportedMediaType, "compressed requests are not accepted: send the body as it is")
	}
	needed := neededAccess(r)
	switch given := s.accessOf(r); {
	case r.Method == http.MethodOptions || needed <= given && !(needed == writing && s.options.ReadOnly):
		return nil
	case given == none:
		w.Header().Set("WWW-Authenticate", `Bearer realm="hashgrove"`)
		if r.Header.Get("Authorization") == "" {
			return problem(http.StatusUnauthorized, "a token is needed: send the header Authorization: Bearer TOKEN")
		}
		return problem(http.StatusUnauthorized, "the token is not valid here")
	case s.options.ReadOnly:
		return problem(http.StatusForbidden, "this service is read-only")
	}
	return problem(http.StatusForbidden, "this token allows reading only: changes need the write token")
}

// neededAccess is what a request needs. The page and its parts hold no data, and health is asked for by machines.
func neededAccess(r *http.Request) access {
	switch path := r.URL.Path; {
	case path == "/" || path == "/healthz" || path == "/readyz" || path == "/openapi.json" ||
		strings.HasPrefix(path, "/assets/"):
		return none
	case changes(r) || strings.HasSuffix(path, "/backup"):
		return writing
	}
	return reading
}

// changes tells whether a request changes something: it does unless it only reads by its method, or asks for a search,
// a code or a reason, which need a body.
func changes(r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions {
		return false
	}
	parts := strings.Split(r.URL.Path, "/") // "", v1, collections, NAME, verb
	return !(r.Method == http.MethodPost && len(parts) == 5 && parts[2] == "collections" &&
		slices.Contains([]string{"search", "explain", "encode"}, parts[4]))
}

// accessOf is what the token of a request allows.
func (s *Server) accessOf(r *http.Request) access {
	if s.options.WriteToken == "" && s.options.ReadToken == "" {
		return writing
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok:
		return none
	case equalTokens(token, s.options.WriteToken):
		return writing
	case equalTokens(token, s.options.ReadToken):
		return reading
	}
	return none
}

// equalTokens compares in a time that depends neither on the tokens nor on their lengths.
func equalTokens(given, want string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && want != ""
}

// isOurs tells whether a request is addressed to this service.
func (s *Server) isOurs(host string) bool {
	if len(s.options.Hosts) == 0 {
		return true
	}
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	return slices.Contains(s.options.Hosts, host)
}

// checkOrigin refuses requests from the pages of other web sites, unless those are named.
func (s *Server) checkOrigin(w http.ResponseWriter, r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" {
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" && changes(r) {
			return problem(http.StatusForbidden, "another web site sent this request")
		}
		return nil
	}
	if u, err := url.Parse(origin); err == nil && u.Host == r.Host && u.Host != "" {
		return nil
	}
	if !slices.Contains(s.options.Origins, origin) {
		return problem(http.StatusForbidden, "pages of %.80q may not use this service: it must be started with this site "+
			"among its origins", origin)
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Access-Control-Expose-Headers", "Hashgrove-Fingerprint, X-Request-Id, Retry-After")
	return nil
}

// preflight answers a browser that asks what a page of another site may send.
func (s *Server) preflight(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Origin") != "" {
		h := w.Header()
		h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Hashgrove-Fingerprint, X-Request-Id")
		h.Set("Access-Control-Max-Age", "600")
	}
	w.WriteHeader(http.StatusNoContent)
}
