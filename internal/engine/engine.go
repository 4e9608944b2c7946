// Package engine keeps codes where people already keep their data: it writes items into a database, searches them
// there, reads them back, and reports where the answers differ from those of an exact index.
//
// An Engine is one table of such a database. Push writes items in batches that may be repeated, so an interrupted push
// continues without writing twice (push.go, journal.go). Check compares an engine with an index (check.go). Every
// engine is one file, or a few with its name in front, and passes the suite in enginetest.
package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Errors of engines, for errors.Is.
var (
	ErrTemporary = errors.New("the engine cannot be reached or is busy") // trying again may help
	ErrRefused   = errors.New("the engine refuses an item")              // and would refuse it again
	ErrFilter    = errors.New("the engine does not support this filter")
	ErrNoTable   = errors.New("there is no such table of codes") // in the engine
)

// Space is what all codes of a table have in common.
type Space struct {
	Bits        int
	Fingerprint hamming.Fingerprint // of the model; zeros when it is not known
}

// Accept refuses codes that do not belong beside those of the space.
func (s Space) Accept(codes Space) error {
	if s.Bits != codes.Bits {
		return fmt.Errorf("codes of %d bits for a table of codes of %d: push them into another table",
			codes.Bits, s.Bits)
	}
	if err := s.Fingerprint.Accept(codes.Fingerprint); err != nil {
		return fmt.Errorf("codes of model %v do not belong in the table of model %v: "+
			"encode with that model, or push them into another table", codes.Fingerprint, s.Fingerprint)
	}
	return nil
}

// Info is what an engine holds.
type Info struct {
	Space
	Engine   string // with its version
	Table    string
	Identity string // differs when a table was removed and made anew
	Exact    bool   // searches find the nearest items, and not nearly all of them
}

// Statement is something that is sent to an engine, with what it is for.
type Statement struct {
	Purpose string `json:"purpose"`
	Text    string `json:"text"`
	Sent    bool   `json:"sent"` // by a push; the others are for the user
}

// Query asks for the items nearest to each of some codes.
type Query struct {
	Codes  hamming.Codes
	K      int // hits of a code; 0 means all, within the radius
	Radius int // greatest distance in bits; below 0 means any
	Filter index.Filter
}

// check refuses a query that a table of codes of so many bits cannot answer.
func (q *Query) check(bits int) error {
	switch {
	case q.Codes.Bits != bits:
		return fmt.Errorf("a query of %d bits for a table of codes of %d", q.Codes.Bits, bits)
	case q.K < 0 || q.K == 0 && q.Radius < 0:
		return errors.New("a search needs a number of hits, or a radius")
	}
	return nil
}

// Engine is a table of items in a database. Its methods may be called concurrently, but Prepare or Info comes first.
type Engine interface {
	// Plan tells what Prepare and Write would send for codes of a space, word for word, and how to search. It needs no
	// connection.
	Plan(s Space) []Statement

	// Info tells what the table holds, or ErrNoTable.
	Info(ctx context.Context) (Info, error)

	// Prepare makes the table where there is none, and otherwise checks that codes of the space belong in it.
	Prepare(ctx context.Context, s Space) (Info, error)

	// Write adds items, replacing those whose ids are there, and once however often it is called. Where the engine has
	// transactions it writes all or none of them; elsewhere some may be there after an error, until it is called again.
	Write(ctx context.Context, b *index.Batch) error

	// Search returns hits by distance, then by id, for every code of the query.
	Search(ctx context.Context, q Query) ([][]index.Hit, error)

	// Read hands over the items that match a filter in the order of their ids, some at a time.
	Read(ctx context.Context, f index.Filter, take func(*index.Batch) error) error

	// Count is the number of items.
	Count(ctx context.Context) (int, error)

	Close() error
}

// Target names a table in an engine.
type Target struct {
	URL      string // its scheme chooses the engine, such as postgres, redis, sqlite or opensearch. It holds no password
	Password string // or key; "" leaves it to what the engine's own programs use, such as PGPASSWORD and REDISCLI_AUTH
	Table    string // PostgreSQL: also schema.table; "" means items
	InFlight int    // connections at most; 0 means 2
	Vector   bool   // PostgreSQL: use the extension pgvector, whose index is approximate
}

// DefaultTable is the name of the table where no other is given.
const DefaultTable = "items"

// Open makes an engine of a target. It may wait with the connection until that is needed.
func Open(ctx context.Context, t Target) (Engine, error) {
	if t.Table == "" {
		t.Table = DefaultTable
	}
	if t.InFlight == 0 {
		t.InFlight = DefaultInFlight
	}
	scheme, _, found := strings.Cut(t.URL, "://")
	if !found {
		return nil, errors.New("an engine is named by a URL, such as postgres://user@host/database")
	}
	if err := checkSecrets(t.URL); err != nil {
		return nil, err
	}
	if t.Vector && !strings.HasPrefix(scheme, "postgres") {
		return nil, errors.New("pgvector is an extension of PostgreSQL: leave it out for other engines")
	}
	switch scheme {
	case "postgres", "postgresql":
		return openPostgres(ctx, t)
	case "redis", "rediss", "redis+unix":
		return openRedis(t)
	case "sqlite":
		return openSQLite(t)
	}
	if open := restSchemes[strings.TrimSuffix(strings.TrimSuffix(scheme, "+http"), "+https")]; open != nil {
		return open(t)
	}
	return nil, fmt.Errorf("%q is no engine: there is %s", scheme,
		strings.Join(append([]string{"postgres", "redis", "sqlite"}, slices.Sorted(maps.Keys(restSchemes))...), ", "))
}

// Untried names the engine of a URL that nobody has run against the real server yet, only against a stand-in that
// follows its documentation; "" means that somebody has.
func Untried(url string) string {
	scheme, _, _ := strings.Cut(url, ":")
	name, _, _ := strings.Cut(scheme, "+")
	return map[string]string{
		"opensearch": "OpenSearch", "elasticsearch": "Elasticsearch", "qdrant": "Qdrant", "milvus": "Milvus",
	}[name]
}

// checkSecrets refuses a URL with a password, which others could read in lists of processes and in logs. No error here
// repeats the URL.
func checkSecrets(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("the URL of the engine cannot be read: write special characters as %XX")
	}
	_, secret := u.User.Password()
	for name := range u.Query() {
		secret = secret || slices.Contains([]string{"password", "sslpassword", "passwd", "token"}, strings.ToLower(name))
	}
	if secret {
		return errors.New("the URL of the engine holds a password, which others can see: " +
			"leave it out and give it in the environment or in a file")
	}
	return nil
}
