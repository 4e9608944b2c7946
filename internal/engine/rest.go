package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"hashgrove/internal/fault"
)

// Engines that speak JSON over HTTP share this client. The scheme of the URL names the engine and how to reach it:
//
//	opensearch://host:9200        HTTPS, as does opensearch+https://
//	opensearch+http://host:9200   plain HTTP
//
// The default port is that of HTTPS or HTTP, as in any URL, and a path is prepended to every path of the engine. The
// password, key or token comes with the target or from an environment variable.

// dialect is what differs between the services.
type dialect struct {
	name      string   // of the engine, for messages
	variables []string // environment variables for the password; the first one set counts
	authorize func(h http.Header, user, secret string)
}

// restSchemes opens the engines that are reached over HTTP.
var restSchemes = map[string]func(t Target) (Engine, error){
	"opensearch":    func(t Target) (Engine, error) { return openElastic(t, openSearchDialect) },
	"elasticsearch": func(t Target) (Engine, error) { return openElastic(t, elasticsearchDialect) },
	"qdrant":        openQdrant,
	"milvus":        openMilvus,
	"weaviate":      openWeaviate,
}

// rest is a client of one service. It is safe for concurrent use.
type rest struct {
	dialect
	base   url.URL
	header http.Header // sent with every request
	hidden []string    // what messages must not show: the password, also as encoded in headers
	client *http.Client
}

const (
	maxAnswer   = 256 << 20       // bytes per response
	longestWait = 5 * time.Minute // for a response to begin, unless the context ends earlier
)

// openRest returns a client for a target.
func openRest(t Target, d dialect) (*rest, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the URL of the engine cannot be used: write it as " +
			"engine://user@host:port, or engine+http://host:port for plain HTTP; nothing stands behind a ? or #")
	}
	r, secret := &rest{dialect: d, header: http.Header{}}, t.Password
	r.base = url.URL{Scheme: "https", Host: u.Host, Path: strings.TrimSuffix(u.Path, "/")}
	if strings.HasSuffix(u.Scheme, "+http") {
		r.base.Scheme = "http"
	}
	for _, name := range d.variables {
		secret = cmp.Or(secret, os.Getenv(name))
	}
	if strings.ContainsFunc(secret, unicode.IsControl) {
		return nil, errors.New("the password has a control character, which a request header cannot hold")
	}
	if secret != "" && d.authorize != nil {
		d.authorize(r.header, u.User.Username(), secret)
		r.hidden = append(r.hidden, secret)
		for _, values := range r.header {
			r.hidden = append(r.hidden, strings.Fields(values[0])...)
		}
		slices.SortFunc(r.hidden, func(a, b string) int { return len(b) - len(a) })
	}
	r.header.Set("User-Agent", "hashgrove")
	r.header.Set("Accept", "application/json")
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxConnsPerHost, transport.MaxIdleConnsPerHost = max(t.InFlight, 1), max(t.InFlight, 1)
	transport.ResponseHeaderTimeout = longestWait
	r.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // the password is for this server only
	}}
	return r, nil
}

// Close implements Engine.
func (r *rest) Close() error {
	r.client.CloseIdleConnections()
	return nil
}

// bearer authenticates with a bearer token.
func bearer(h http.Header, _, secret string) {
	if secret != "" {
		h.Set("Authorization", "Bearer "+secret)
	}
}

// request is a request before it is sent, as a plan shows it.
type request struct {
	method, path string // path may have a query; user-supplied parts are escaped
	body         []byte // nil means none
	kind         string // of the body; "" means JSON
}

// newRequest builds a request with value as its JSON body, or without a body for nil.
func newRequest(method, path string, value any) request {
	r := request{method: method, path: path}
	if value != nil {
		r.body = marshal(value)
	}
	return r
}

// marshal encodes JSON without HTML escapes. It panics on values that no engine produces, such as channels.
func marshal(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic("engine: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// String formats the request for a plan.
func (q request) String() string {
	if q.body == nil {
		return q.method + " " + q.path
	}
	return q.method + " " + q.path + "\n" + string(q.body)
}

// StatusError is a response with an error status.
type StatusError struct {
	Engine string
	Status int
	Text   string // of the response, shortened, without the password
}

func (e *StatusError) Error() string {
	hint := ""
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		hint = ": check the user and the password or key"
	case http.StatusRequestEntityTooLarge:
		hint = ": send smaller batches"
	}
	return strings.TrimSuffix(fmt.Sprintf("%s answers %d %s%s: %s", e.Engine, e.Status, http.StatusText(e.Status),
		hint, e.Text), ": ")
}

// Is makes an error that may pass match ErrTemporary.
func (e *StatusError) Is(target error) bool { return target == ErrTemporary && isBusy(e.Status) }

// isBusy reports whether a status may be temporary.
func isBusy(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500
}

// hasStatus reports whether err is a response with one of the codes.
func hasStatus(err error, codes ...int) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && slices.Contains(codes, e.Status)
}

// refusedItems marks the error of a write as a refusal if the request is at fault: then some item, or their number,
// is the cause, and smaller batches find the item.
func refusedItems(err error) error {
	if hasStatus(err, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// call sends a request and decodes the response into answer, or checks only its status for nil. Numbers decoded into
// any are json.Number.
func (r *rest) call(ctx context.Context, q request, answer any) error {
	sent, err := http.NewRequestWithContext(ctx, q.method, r.base.String()+q.path, bytes.NewReader(q.body))
	if err != nil {
		return errors.New("the address of the engine cannot be used: check its URL and the name of the table")
	}
	sent.Header = r.header.Clone()
	if q.body != nil {
		sent.Header.Set("Content-Type", cmp.Or(q.kind, "application/json"))
	}
	got, err := r.client.Do(sent)
	if err != nil {
		return r.lost(ctx, err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(io.LimitReader(got.Body, maxAnswer+1))
	switch {
	case err != nil:
		return r.lost(ctx, err)
	case len(text) > maxAnswer:
		return fmt.Errorf("%s sent more than %d MB: ask for less at a time", r.name, maxAnswer>>20)
	case got.StatusCode/100 == 3:
		to, _ := url.Parse(got.Header.Get("Location"))
		return fault.New("redirected", "%s redirects to %q, and redirects are not followed: "+
			"name that address as the engine's", r.name, r.clean(cmp.Or(to, &url.URL{}).Host))
	case got.StatusCode/100 != 2:
		return &StatusError{r.name, got.StatusCode, r.clean(string(text[:min(len(text), 4<<10)]))}
	case answer == nil:
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err = d.Decode(answer); err == nil {
		if _, err = d.Token(); err == io.EOF {
			return nil
		}
	}
	return fault.New("unreadable-answer", "the response of %s to %s cannot be parsed: is it another service or version? "+
		"It begins with %q", r.name, q.method, r.clean(string(text[:min(len(text), 100)])))
}

// lost maps an error of the connection to ours.
func (r *rest) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err // without the URL
	}
	switch {
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%s speaks plain HTTP there: add +http to the scheme in the URL", r.name)
	case isUntrusted(err):
		return fmt.Errorf("%s cannot be trusted: %s", r.name, r.clean(err.Error()))
	}
	return fmt.Errorf("%w: %s: %s", ErrTemporary, r.name, r.clean(err.Error()))
}

// isUntrusted reports whether a server has an invalid certificate, or no TLS that we accept.
func isUntrusted(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, other := errors.AsType[tls.RecordHeaderError](err)
	return certificate || alert || other
}

// clean makes a server's text fit for a message: one short line without the password.
func (r *rest) clean(text string) string {
	for _, secret := range r.hidden {
		text = strings.ReplaceAll(text, secret, "***")
	}
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(c rune) bool {
		return unicode.IsSpace(c) || !unicode.IsPrint(c)
	}), " ")
	if short := []rune(text); len(short) > 500 {
		return string(short[:500]) + "…"
	}
	return text
}
