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

// access is the level of access that a request has or needs. The page holds no data, and monitors ask for health: they
// need none. A backup holds everything, and needs as much as a change.
type access int

const (
	none access = iota
	reading
	writing
)

func (a access) String() string { return []string{"none", "read", "write"}[a] }

// Loopback returns the host names of the local machine, for Options.Hosts.
func Loopback() []string { return []string{"localhost", "127.0.0.1", "::1"} }

// secureHeaders restrict what a browser lets the page do. They go out with every response, so the values are shared.
var secureHeaders = http.Header{
	// The page may load only its own files and pictures dropped on it.
	"Content-Security-Policy": {
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
			"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	},
	"X-Content-Type-Options":       {"nosniff"},
	"X-Frame-Options":              {"DENY"},
	"Referrer-Policy":              {"no-referrer"},
	"Cross-Origin-Resource-Policy": {"same-origin"},
	"Cache-Control":                {"no-store"},
}

// checkSender refuses requests that reach the service by another name, or come from pages of other sites.
func (s *Server) checkSender(w http.ResponseWriter, r *http.Request) error {
	if !s.isOurs(r.Host) {
		return problem(http.StatusForbidden, "this service does not answer to the name %.80q: address it as %s, or start it "+
			"with this host name allowed", r.Host, s.options.Hosts[0])
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return problem(http.StatusUnsupportedMediaType, "compressed requests are not accepted: send the body uncompressed")
	}
	return s.checkOrigin(w, r)
}

// admit checks the token of a request, and that no other site has sent it.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, needed access) error {
	if site := r.Header.Get("Sec-Fetch-Site"); needed != none && r.Header.Get("Origin") == "" &&
		(site == "cross-site" || site == "same-site") {
		// Pictures and links of other sites have no origin; they could start searches and maps.
		return problem(http.StatusForbidden, "another web site sent this request")
	}
	switch given := s.accessOf(r); {
	case needed <= given && !(needed == writing && s.options.ReadOnly):
		return nil
	case given == none:
		w.Header().Set("WWW-Authenticate", `Bearer realm="hashgrove"`)
		if r.Header.Get("Authorization") == "" {
			return problem(http.StatusUnauthorized, "a token is needed: send the header Authorization: Bearer TOKEN")
		}
		return problem(http.StatusUnauthorized, "the token is not valid")
	case s.options.ReadOnly:
		return problem(http.StatusForbidden, "this service is read-only")
	}
	return problem(http.StatusForbidden, "this token allows reading only: changes need the write token")
}

// accessOf returns what the token of a request allows.
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

// equalTokens compares in time independent of the tokens and their lengths.
func equalTokens(given, want string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && want != ""
}

// isOurs reports whether host names this service.
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

// checkOrigin refuses requests from pages of other sites unless their origin is allowed.
func (s *Server) checkOrigin(w http.ResponseWriter, r *http.Request) error {
	origin := r.Header.Get("Origin")
	if u, err := url.Parse(origin); origin == "" || err == nil && u.Host == r.Host && u.Host != "" {
		return nil
	}
	if !slices.Contains(s.options.Origins, origin) {
		return problem(http.StatusForbidden, "pages of %.80q may not use this service: start it with this site "+
			"as an allowed origin", origin)
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Access-Control-Expose-Headers", "Hashgrove-Fingerprint, X-Request-Id, Retry-After")
	return nil
}

// preflight answers a CORS preflight request.
func preflight(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Origin") != "" {
		h := w.Header()
		h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Hashgrove-Fingerprint, X-Request-Id")
		h.Set("Access-Control-Max-Age", "600")
	}
	w.WriteHeader(http.StatusNoContent)
}
