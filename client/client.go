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

// Client is a server and the right to use it. It is safe for concurrent use.
type Client struct {
	URL   string       // such as http://127.0.0.1:8080
	Token string       // empty where the server needs none
	HTTP  *http.Client // nil means http.DefaultClient
}

// Collection is a collection of the server.
type Collection struct {
	Client *Client
	Name   string

	// Fingerprint of the model that the codes must be of; the server refuses requests when it has another. Empty means
	// any.
	Fingerprint string
}

// Error is a request that the server refused. It is also the error of package api that its code names:
//
//	if errors.Is(err, api.ErrNotFound) { ... }
type Error struct {
	Status     int           `json:"status"`         // of HTTP
	Code       string        `json:"code,omitempty"` // of package api, where it has one
	Message    string        `json:"message"`
	RequestID  string        `json:"request_id"` // names the request in the server's logs
	RetryAfter time.Duration `json:"-"`          // how long to wait before the next try, when the server said so
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s (status %d, request %s)", e.Message, e.Status, e.RequestID)
}

// Unwrap returns the error of package api; nil where there is none.
func (e *Error) Unwrap() error {
	if e.Code == "" {
		return nil
	}
	return &api.Error{Code: e.Code, Message: e.Message}
}

// Server is what the server is, and what requests with this token may do.
type Server struct {
	Version     string   `json:"version"`
	ReadOnly    bool     `json:"read_only"`
	Access      string   `json:"access"` // read or write
	TokenNeeded bool     `json:"token_needed"`
	Try         bool     `json:"try"` // own data can be uploaded and learned from
	Limits      Limits   `json:"limits"`
	Collections []string `json:"collections"`
}

// Limits is what requests may ask for.
type Limits struct {
	K             int   `json:"k"`
	Batch         int   `json:"batch"`
	Hits          int   `json:"hits"` // of all queries of a request
	BodyBytes     int64 `json:"body_bytes"`
	FilterBytes   int   `json:"filter_bytes"`
	FilterDepth   int   `json:"filter_depth"`
	PicturePixels int   `json:"picture_pixels"`
	Page          int   `json:"page"`
	TryBytes      int64 `json:"try_bytes"`
}

// Server asks what the server is.
func (c *Client) Server(ctx context.Context) (*Server, error) {
	return ask[Server](ctx, c, request{method: http.MethodGet, path: "/v1/server"})
}

// Collections lists the collections by name.
func (c *Client) Collections(ctx context.Context) ([]Summary, error) {
	a, err := ask[struct {
		Collections []Summary `json:"collections"`
	}](ctx, c, request{method: http.MethodGet, path: "/v1/collections"})
	if err != nil {
		return nil, err
	}
	return a.Collections, nil
}

// Collection is the collection of a name; nothing is asked yet.
func (c *Client) Collection(name string) *Collection { return &Collection{Client: c, Name: name} }

// request is one request before it is sent.
type request struct {
	method, path string
	query        url.Values
	contentType  string // of body; empty means none
	accept       string // empty means JSON
	body         io.Reader
	fingerprint  string
}

// request begins a request about the collection; path follows its address and is escaped.
func (c *Collection) request(method, path string) request {
	return request{
		method: method, path: "/v1/collections/" + url.PathEscape(c.Name) + path, fingerprint: c.Fingerprint,
	}
}

// withJSON is the request with a value as its body.
func (r request) withJSON(v any) (request, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return r, fmt.Errorf("the body of the request: %w", err)
	}
	r.contentType, r.body = "application/json", bytes.NewReader(b)
	return r, nil
}

// send sends a request. The answer is a good one, and its body must be closed.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	address := strings.TrimRight(c.URL, "/") + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
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

// refusal is the error that an answer tells of.
func refusal(a *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(a.Body, 1<<20)) // as far as it came
	var e struct {
		Error Error `json:"error"`
	}
	if json.Unmarshal(text, &e) != nil || e.Error.Message == "" { // from a proxy, or before the server could think
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

// ask sends a request and reads an answer of JSON.
func ask[T any](ctx context.Context, c *Client, r request) (*T, error) {
	a, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	v := new(T)
	if err := json.NewDecoder(a.Body).Decode(v); err != nil {
		return nil, fmt.Errorf("the answer to %s %s: %w", r.method, r.path, err)
	}
	_, err = io.Copy(io.Discard, a.Body) // so that the connection is used again
	return v, err
}

// askWith sends a value as JSON and reads an answer of JSON.
func askWith[T any](ctx context.Context, c *Client, r request, v any) (*T, error) {
	r, err := r.withJSON(v)
	if err != nil {
		return nil, err
	}
	return ask[T](ctx, c, r)
}
