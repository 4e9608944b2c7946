// Package client talks to a service started by "hashgrove serve".
//
// A Client holds the address and the token. A Collection searches, encodes and writes; it is an api.Searcher, so
// programs can swap it for an index of their own. Batches of vectors travel as packed float32, not as JSON.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hashgrove/api"
)

// Client connects to one server with one token. It is safe for concurrent use.
type Client struct {
	URL   string       // such as http://127.0.0.1:8080
	Token string       // empty if the server needs none
	HTTP  *http.Client // nil means http.DefaultClient
}

// Collection is one collection on the server.
type Collection struct {
	Client *Client
	Name   string

	// Fingerprint of the model the codes must come from; the server refuses requests if its model differs. Empty
	// accepts any model.
	Fingerprint string
}

// Error is a refused request. It unwraps to the api error named by its code:
//
//	if errors.Is(err, api.ErrNotFound) { ... }
type Error struct {
	Status     int           `json:"status"` // HTTP status
	Code       api.ErrorCode `json:"code"`   // of package api, or of the status
	Message    string        `json:"message"`
	RequestID  string        `json:"request_id"` // identifies the request in the server's log
	RetryAfter time.Duration `json:"-"`          // the server's Retry-After, or 0
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s (status %d, request %s)", e.Message, e.Status, e.RequestID)
}

// Unwrap returns the matching error of package api, or nil.
func (e *Error) Unwrap() error {
	if e.Code == "" {
		return nil
	}
	return &api.Error{Code: e.Code, Message: e.Message}
}

// Server returns the server's version, limits and permissions.
func (c *Client) Server(ctx context.Context) (*api.Server, error) {
	return ask[api.Server](ctx, c, request{method: http.MethodGet, path: "/v1/server"})
}

// Collections lists the collections by name.
func (c *Client) Collections(ctx context.Context) ([]api.Summary, error) {
	a, err := ask[struct {
		Collections []api.Summary `json:"collections"`
	}](ctx, c, request{method: http.MethodGet, path: "/v1/collections"})
	if err != nil {
		return nil, err
	}
	return a.Collections, nil
}

// Collection returns a handle to the named collection without contacting the server.
func (c *Client) Collection(name string) *Collection { return &Collection{Client: c, Name: name} }

// Create makes an empty collection. Its model comes from a model file, as "hashgrove train" writes it.
func (c *Client) Create(ctx context.Context, name string, model io.Reader) (*api.Summary, error) {
	r := c.Collection(name).request(http.MethodPut, "", nil)
	r.contentType, r.body = "application/octet-stream", model
	return ask[api.Summary](ctx, c, r)
}

// CreateLike makes an empty collection with the model of another one.
func (c *Client) CreateLike(ctx context.Context, name, like string) (*api.Summary, error) {
	return ask[api.Summary](ctx, c, c.Collection(name).request(http.MethodPut, "", api.CreateRequest{Like: like}))
}

// request is an HTTP request before it is sent.
type request struct {
	method, path string
	query        url.Values
	contentType  string // empty means no body
	accept       string // empty means JSON
	body         io.Reader
	json         any // in place of body
	fingerprint  string
}

// request starts a request under the collection's URL, with body as JSON unless that is nil; path is appended escaped.
func (c *Collection) request(method, path string, body any) request {
	return request{
		method: method, path: "/v1/collections/" + url.PathEscape(c.Name) + path, fingerprint: c.Fingerprint, json: body,
	}
}

// with sets parameters of the request; a number of 0 leaves the server its default.
func (r request) with(number string, n int, texts map[string]string) request {
	r.query = url.Values{}
	if n != 0 {
		r.query.Set(number, strconv.Itoa(n))
	}
	for name, text := range texts {
		if text != "" {
			r.query.Set(name, text)
		}
	}
	return r
}

// send sends a request and turns every status other than 2xx into an error. The caller closes the body.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	address := strings.TrimRight(c.URL, "/") + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	if r.json != nil {
		b, err := json.Marshal(r.json)
		if err != nil {
			return nil, fmt.Errorf("request body: %w", err)
		}
		r.contentType, r.body = "application/json", bytes.NewReader(b)
	}
	q, err := http.NewRequestWithContext(ctx, r.method, address, r.body)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Content-Type": r.contentType, "Accept": r.accept, "Hashgrove-Fingerprint": r.fingerprint,
	} {
		if value != "" {
			q.Header.Set(name, value)
		}
	}
	if c.Token != "" {
		q.Header.Set("Authorization", "Bearer "+c.Token)
	}
	h := c.HTTP
	if h == nil {
		h = http.DefaultClient
	}
	a, err := h.Do(q)
	if err != nil {
		return nil, err
	}
	if a.StatusCode/100 != 2 {
		defer a.Body.Close()
		return nil, refusal(a)
	}
	return a, nil
}

// refusal reads the error from a refused response.
func refusal(a *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(a.Body, 1<<20)) // a partial body is good enough
	var e struct {
		Error Error `json:"error"`
	}
	if json.Unmarshal(text, &e) != nil || e.Error.Message == "" { // not from the service itself, for instance from a proxy
		first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		e.Error = Error{Message: fmt.Sprintf("the server answered %s: %.200s", a.Status, first)}
	}
	e.Error.Status = a.StatusCode
	if e.Error.RequestID == "" {
		e.Error.RequestID = a.Header.Get("X-Request-Id")
	}
	if seconds, err := strconv.Atoi(a.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.Error.RetryAfter = time.Duration(seconds) * time.Second
	}
	return &e.Error
}

// ask sends a request and decodes the JSON response.
func ask[T any](ctx context.Context, c *Client, r request) (*T, error) {
	a, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	v := new(T)
	if err := json.NewDecoder(a.Body).Decode(v); err != nil {
		return nil, fmt.Errorf("the response to %s %s: %w", r.method, r.path, err)
	}
	_, err = io.Copy(io.Discard, a.Body) // lets the connection be reused
	return v, err
}

// Describe returns everything the server knows about the collection.
func (c *Collection) Describe(ctx context.Context) (*api.Description, error) {
	return ask[api.Description](ctx, c.Client, c.request(http.MethodGet, "", nil))
}

// Facets counts labels, tags and attribute values among the items that match a filter, and returns the top most
// frequent of each. An empty filter matches all items; a top of 0 uses the server's default.
func (c *Collection) Facets(ctx context.Context, where string, top int) (*api.Facets, error) {
	r := c.request(http.MethodGet, "/facets", nil)
	return ask[api.Facets](ctx, c.Client, r.with("top", top, map[string]string{"where": where}))
}

// Backup writes a consistent copy of the index file to w and returns its size.
func (c *Collection) Backup(ctx context.Context, w io.Writer) (int64, error) {
	a, err := c.Client.send(ctx, c.request(http.MethodGet, "/backup", nil))
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	return io.Copy(w, a.Body)
}

// Drop removes the collection and its items for good. Only those that were created over HTTP can be dropped.
func (c *Collection) Drop(ctx context.Context) (*api.Dropped, error) {
	return ask[api.Dropped](ctx, c.Client, c.request(http.MethodDelete, "", nil))
}

// Reload makes the server reopen the index file after it was migrated or replaced.
func (c *Collection) Reload(ctx context.Context) (*api.Summary, error) {
	return ask[api.Summary](ctx, c.Client, c.request(http.MethodPost, "/reload", nil))
}
