package server

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hashgrove/api"
)

// checkAddress refuses requests with parameters that cannot be read. Package url leaves out what it cannot parse, so
// that a stray % or ; would drop a filter.
func checkAddress(r *http.Request) error {
	if !utf8.ValidString(r.URL.Path) {
		return bad("the path %.100q is not UTF-8", r.URL.Path)
	}
	for _, name := range []string{"Content-Type", "Hashgrove-Fingerprint", "Authorization", "Content-Encoding"} {
		if len(r.Header[name]) > 1 {
			return bad("the header %s occurs twice", name)
		}
	}
	if r.URL.RawQuery == "" {
		return nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return bad("the parameters in the address cannot be read: %v; write %% as %%25 and ; as %%3B", err)
	}
	for name, list := range values {
		switch {
		case len(list) > 1:
			return bad("the parameter %.40q occurs twice in the address", name)
		case !utf8.ValidString(name) || !utf8.ValidString(list[0]):
			return bad("the parameter %.40q is not UTF-8", name)
		case list[0] == "" && name != "fields": // an empty list of fields asks for none
			return bad("the parameter %.40q %v", name, errEmpty)
		}
	}
	return nil
}

// check refuses a body or parameters that have no effect here. Any request may name a fingerprint.
func (at *route) check(r *http.Request) error {
	if !at.body && r.ContentLength != 0 {
		return bad("a %s request here has no body: it would have no effect", r.Method)
	}
	if at.parameters == "*" || r.URL.RawQuery == "" {
		return nil
	}
	known := append(strings.Fields(at.parameters), "fingerprint")
	for name := range r.URL.Query() {
		if !slices.Contains(known, name) {
			return bad("unknown parameter %.40q: known here are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// whole returns a parameter that is a whole number from least to most, or the usual one where there is none.
func whole(r *http.Request, name string, usual, least, most int) (int, error) {
	text := cmp.Or(r.URL.Query().Get(name), strconv.Itoa(usual))
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, bad("%s=%.40s: give a whole number from %d to %d", name, text, least, most)
	}
	return n, nil
}

// truth returns a parameter that is true or false; absent means false.
func truth(r *http.Request, name string) (bool, error) {
	text := cmp.Or(r.URL.Query().Get(name), "false")
	is, err := strconv.ParseBool(text)
	if err != nil {
		return false, bad("%s=%.40s: give true or false", name, text)
	}
	return is, nil
}

// noItem is the error for an unknown id.
func noItem(id fmt.Stringer) error {
	return api.Errorf(api.ErrNotFound, "no item has the id %.100q", id.String())
}
