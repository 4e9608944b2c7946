package main

import (
	"context"
	"os"

	"github.com/spf13/pflag"

	"hashgrove"
	"hashgrove/internal/cli"
)

// databaseFlags name a table in a database.
type databaseFlags struct {
	url, table, passwordFile string
	vector                   bool
}

// databaseHelp is shared by the help of all verbs about databases.
const databaseHelp = `--engine is the URL of PostgreSQL 14 or later: postgres://user@host:port/database, or
postgres://user@/database?host=/folder for a Unix socket. The URL must not contain the password, which is read from
--password-file, from the environment (PGPASSWORD) or from ~/.pgpass, and is never printed.`

func (e *databaseFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&e.url, "engine", "", "`URL` of the database, such as postgres://user@host/database")
	f.StringVar(&e.table, "table", hashgrove.DefaultTable, "`NAME` of the table with the codes, or schema.name")
	f.StringVar(&e.passwordFile, "password-file", "", "`FILE` with the password; by default from the environment")
	f.BoolVar(&e.vector, "pgvector", false, "search with a pgvector index, which is faster "+
		"but misses some items")
	cli.Group(f, "Database")
}

// open opens the table, which connects on first use.
func (e *databaseFlags) open(ctx context.Context, connections int) (*hashgrove.Table, error) {
	if e.url == "" {
		return nil, cli.Usage("missing-flag",
			"missing --engine, the URL of a database such as postgres://user@host/database")
	}
	o := hashgrove.TableOptions{URL: e.url, Table: e.table, Connections: connections, Vector: e.vector}
	if e.passwordFile != "" {
		var err error
		if o.Password, err = readSecret(e.passwordFile); err != nil {
			return nil, err
		}
	}
	opened, err := hashgrove.OpenTable(ctx, o)
	if err != nil {
		return nil, cli.Usagef("--engine: %w", err)
	}
	return opened, nil
}

// openIfIndex opens a file as an index for one pass over its items; the index is nil if it is something else.
func (a *app) openIfIndex(ctx context.Context, paths []string) (ix *hashgrove.Index, end func(), err error) {
	end = func() {}
	if len(paths) != 1 {
		return nil, end, nil
	}
	if info, err := os.Stat(paths[0]); err != nil || !info.Mode().IsRegular() {
		return nil, end, nil // a pattern, a folder of pictures, or a pipe
	}
	ix, close, err := a.openIndex(ctx, paths[0], toRead)
	if hashgrove.HasCode(err, "not-an-index") {
		return nil, end, nil
	}
	if err != nil {
		return nil, end, err
	}
	return ix, close, nil
}
