// Package engine stores codes in the databases people already use: it writes items, searches them there, reads them
// back, and reports where the answers differ from those of an exact index.
//
// An Engine is one table of such a database. Push writes items in batches, which replace by id, so an interrupted push
// is simply run again (push.go). Check compares an engine with an index (check.go).
package engine

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Errors for errors.Is.
var (
	ErrTemporary = errors.New("the engine cannot be reached or is busy") // trying again may help
	ErrRefused   = errors.New("the engine refuses an item")              // and would refuse it again
	ErrFilter    = errors.New("the engine does not support this filter")
	ErrNoTable   = errors.New("there is no such table of codes") // in the engine
)

// Space describes what all codes of a table have in common.
type Space struct {
	Bits        int
	Fingerprint hamming.Fingerprint // of the model; zero if unknown
}

// Accept rejects codes that do not belong in the same table.
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

// Info describes the contents of a table.
type Info struct {
	Space
	Engine   string // with its version
	Table    string
	Identity string // changes if a table is dropped and recreated
	Exact    bool   // searches are exact, not approximate
}

// Statement is something sent to an engine, and its purpose.
type Statement struct {
	Purpose string `json:"purpose"`
	Text    string `json:"text"`
	Sent    bool   `json:"sent"` // by a push; the others are for the user
}

// Query asks for the items nearest to each of some codes.
type Query struct {
	Codes  hamming.Codes
	K      int // hits per code; 0 means all within the radius
	Radius int // largest distance in bits; negative means any
	Filter index.Filter
}

// check rejects a query that a table of codes of the given length cannot answer.
func (q *Query) check(bits int) error {
	switch {
	case q.Codes.Bits != bits:
		return fmt.Errorf("a query of %d bits for a table of codes of %d", q.Codes.Bits, bits)
	case q.K < 0 || q.K == 0 && q.Radius < 0:
		return errors.New("a search needs a number of hits, or a radius")
	}
	return nil
}

// Engine is a table of items in a database. Its methods may be called concurrently, but only after Prepare or Info.
type Engine interface {
	// Plan returns what Prepare and Write would send for codes of a space, verbatim, and how to search. It needs no
	// connection.
	Plan(s Space) []Statement

	// Info describes the table, or returns ErrNoTable.
	Info(ctx context.Context) (Info, error)

	// Prepare creates the table, or checks that codes of the space belong in the existing one.
	Prepare(ctx context.Context, s Space) (Info, error)

	// Write adds items, replacing those with the same ids; repeating a call changes nothing. With transactions it
	// writes all items or none; otherwise some may have been written after an error, until it is called again.
	Write(ctx context.Context, b *index.Batch) error

	// Search returns hits for every code of the query, by distance, then by id.
	Search(ctx context.Context, q Query) ([][]index.Hit, error)

	// Read passes on the items that match a filter, ordered by id, some at a time.
	Read(ctx context.Context, f index.Filter, take func(*index.Batch) error) error

	// Count returns the number of items.
	Count(ctx context.Context) (int, error)

	Close() error
}

// Target names a table in an engine.
type Target struct {
	URL      string // postgres://user@host/database. It holds no password
	Password string // "" uses PGPASSWORD and ~/.pgpass
	Table    string // or, in PostgreSQL, schema.table; "" means items
	InFlight int    // maximum number of connections; 0 means 2
	Vector   bool   // PostgreSQL: use the extension pgvector, whose index is approximate
}

// DefaultTable is the default name of the table.
const DefaultTable = "items"

// Open returns an engine for a target. It may connect later, on first use.
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
	if scheme != "postgres" && scheme != "postgresql" {
		return nil, fmt.Errorf("unknown engine %q: available is postgres", scheme)
	}
	return openPostgres(ctx, t)
}

// checkSecrets rejects a URL with a password, which others could read in process lists and logs. No error here
// repeats the URL.
func checkSecrets(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("the URL of the engine cannot be parsed: write special characters as %XX")
	}
	_, secret := u.User.Password()
	for name := range u.Query() {
		secret = secret || slices.Contains([]string{"password", "sslpassword", "passwd", "token"}, strings.ToLower(name))
	}
	if secret {
		return errors.New("the URL of the engine contains a password, which others can see: " +
			"leave it out and give it in the environment or in a file")
	}
	return nil
}
