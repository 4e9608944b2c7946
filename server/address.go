package server

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"hashgrove/api"
	"hashgrove/internal/index"
)

// checkAddress refuses requests whose parameters cannot be read wholly. Package url leaves out what it cannot parse, so
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
		}
	}
	return nil
}

// nothingElse refuses a body and parameters.
func nothingElse(r *http.Request) error {
	if err := noBody(r); err != nil {
		return err
	}
	return noParameters(r)
}

// noBody refuses a body, which would have no effect.
func noBody(r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	return bad("a %s request here has no body: it would have no effect", r.Method)
}

// noParameters refuses parameters in the address, but for the fingerprint: they would have no effect.
func noParameters(r *http.Request) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	p := &parameters{Values: r.URL.Query()}
	p.known()
	return p.err
}

// parameters parses query parameters and keeps the first error.
type parameters struct {
	url.Values
	err error
}

// number returns a whole number, or nil if absent.
func (p *parameters) number(name string) *int {
	if !p.Has(name) {
		return nil
	}
	text := p.Get(name)
	n, err := strconv.Atoi(text)
	if err != nil && p.err == nil {
		p.err = bad("%s=%.40s: give a whole number", name, text)
	}
	return &n
}

// truth returns a boolean; absent means false.
func (p *parameters) truth(name string) bool {
	if !p.Has(name) {
		return false
	}
	switch p.Get(name) {
	case "false", "0":
		return false
	case "true", "1":
		return true
	}
	if p.err == nil {
		p.err = bad("%s=%.40s: give true or false", name, p.Get(name))
	}
	return false
}

// known rejects parameters with other names.
func (p *parameters) known(names ...string) {
	for name := range p.Values {
		found := name == "fingerprint"
		for _, n := range names {
			found = found || n == name
		}
		if !found && p.err == nil {
			p.err = bad("unknown parameter %.40q: known here are %s", name, strings.Join(append(names, "fingerprint"), ", "))
		}
	}
}

// pathID returns the item id in the URL.
func pathID(r *http.Request) (index.ID, error) {
	id, err := index.ParseID(r.PathValue("id"))
	if err != nil {
		return id, bad("id: %v", err)
	}
	return id, nil
}

// noItem is the error for an unknown id.
func noItem(id fmt.Stringer) error {
	return api.Errorf(api.ErrNotFound, "no item has the id %.100q", id.String())
}
