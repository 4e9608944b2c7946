package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hashgrove/internal/fault"
)

const restSecret = "hunter2hunter2"

// openTestRest makes a client of a server that answers with a handler.
func openTestRest(t *testing.T, handle http.HandlerFunc) *rest {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	t.Setenv("TEST_SECRET", restSecret)
	r, err := openRest(Target{URL: "test+" + s.URL + "/prefix/", InFlight: 2}, dialect{
		name: "Test", variables: []string{"TEST_OTHER", "TEST_SECRET"}, authorize: bearer,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// TestRestErrors sorts answers, and none of them shows the secret.
func TestRestErrors(t *testing.T) {
	status, body, location := 200, "", ""
	r := openTestRest(t, func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Bearer "+restSecret || q.URL.Path != "/prefix/x" {
			t.Errorf("%s with %v", q.URL, q.Header)
		}
		w.Header().Set("Location", location)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	})
	for _, c := range []struct {
		status    int
		body      string
		temporary bool
		refused   bool
		code      fault.Code // or none, and the error has the status
		facts     []string
	}{
		{400, "bad \x1b[31m\n value " + restSecret, false, true, "", []string{"400", "bad [31m value ***"}},
		{401, "", false, false, "", []string{"401", "password"}},
		{404, "nothing", false, false, "", []string{"404", "nothing"}},
		{408, "", true, false, "", []string{"408"}},
		{413, "", false, true, "", []string{"413", "batches"}},
		{422, "x", false, true, "", []string{"422"}},
		{429, "slow down", true, false, "", []string{"429", "slow down"}},
		{500, strings.Repeat("long ", 4000), true, false, "", []string{"500", "…"}},
		{503, "", true, false, "", []string{"503"}},
		{302, "", false, false, "redirected", []string{`"elsewhere:1"`}},
		{200, `{"a": 1} more`, false, false, "unreadable-answer", nil},
		{200, `<html>`, false, false, "unreadable-answer", []string{"<html>"}},
	} {
		status, body, location = c.status, c.body, "http://elsewhere:1/x"
		var answer any
		err := refusedItems(r.call(t.Context(), newRequest("POST", "/x", 1), &answer))
		if err == nil || errors.Is(err, ErrTemporary) != c.temporary || errors.Is(err, ErrRefused) != c.refused ||
			strings.Contains(err.Error(), restSecret) || len(err.Error()) > 3000 {
			t.Errorf("%d %.20q: %v", c.status, c.body, err)
		}
		e, ok := errors.AsType[*StatusError](err)
		if c.code == "" && (!ok || e.Status != c.status) || c.code != "" && !fault.Is(err, c.code) {
			t.Errorf("%d %.20q: %T %v", c.status, c.body, err, err)
		}
		for _, fact := range c.facts {
			if !strings.Contains(fmt.Sprint(err), fact) {
				t.Errorf("%d %.20q: %v does not name %q", c.status, c.body, err, fact)
			}
		}
	}
	status, body = 200, `{"n": 9007199254740993}`
	var answer map[string]any
	if err := r.call(t.Context(), newRequest("GET", "/x", nil), &answer); err != nil || fmt.Sprint(answer["n"]) != "9007199254740993" {
		t.Errorf("%v, %v", answer, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := r.call(ctx, newRequest("GET", "/x", nil), nil); err != context.Canceled {
		t.Errorf("a call that was cancelled: %v", err)
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	away, err := openRest(Target{URL: "test+" + gone.URL, Password: restSecret}, dialect{name: "Test", authorize: bearer})
	if err != nil {
		t.Fatal(err)
	}
	if err := away.call(t.Context(), newRequest("GET", "/x", nil), nil); !errors.Is(err, ErrTemporary) || !strings.Contains(err.Error(), "Test: ") {
		t.Errorf("a server that is away: %v", err)
	}
	plain, err := openRest(Target{URL: strings.Replace(r.base.String(), "http", "test", 1)}, dialect{name: "Test"})
	if err != nil || plain.base.Scheme != "https" {
		t.Fatal(plain, err)
	}
	if err := plain.call(t.Context(), newRequest("GET", "/x", nil), nil); err == nil || !strings.Contains(err.Error(), "+http") {
		t.Error("plain HTTP where HTTPS was asked for:", err)
	}
}

// TestRestAddresses: what cannot be an address is refused.
func TestRestAddresses(t *testing.T) {
	for _, bad := range []string{"x://", "x://:9200", "x://h?a=b", "x://h#a", "x:///path", "x://h:port"} {
		if _, err := openRest(Target{URL: bad}, dialect{}); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	if _, err := openRest(Target{URL: "x://h", Password: "two\nlines"}, dialect{}); err == nil || strings.Contains(err.Error(), "lines") {
		t.Errorf("a password of two lines: %v", err)
	}
}
