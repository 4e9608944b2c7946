package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"hashgrove/internal/cli"
	"hashgrove/internal/dataset"
	"hashgrove/internal/hamming"
	"hashgrove/internal/message"
	"hashgrove/internal/postgres"
	"hashgrove/internal/store"
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
	f.StringVar(&e.table, "table", postgres.DefaultTable, "`NAME` of the table with the codes, or schema.name")
	f.StringVar(&e.passwordFile, "password-file", "", "`FILE` with the password; by default from the environment")
	f.BoolVar(&e.vector, "pgvector", false, "search with a pgvector index, which is faster "+
		"but misses some items")
	cli.Group(f, "Database")
}

// open opens the table, which connects on first use.
func (e *databaseFlags) open(ctx context.Context, connections int) (*postgres.Table, error) {
	if e.url == "" {
		return nil, cli.Usage("missing-flag",
			"missing --engine, the URL of a database such as postgres://user@host/database")
	}
	t := postgres.Target{URL: e.url, Table: e.table, InFlight: connections, Vector: e.vector}
	if e.passwordFile != "" {
		password, err := readSecret(e.passwordFile)
		if err != nil {
			return nil, err
		}
		t.Password = password
	}
	opened, err := postgres.Open(ctx, t)
	if err != nil {
		return nil, cli.Usagef("--engine: %w", err)
	}
	return opened, nil
}

// readSecret reads a password or a token, the only word of a small file.
func readSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(b))
	if secret == "" || len(secret) > 1<<12 || strings.ContainsAny(secret, "\r\n") {
		return "", message.New("bad-password-file", "%s: a file with a password or a token has it on its only line", path)
	}
	return secret, nil
}

// openIfIndex opens a file as an index for one pass over its items, or returns nil if it is not an index.
func (a *app) openIfIndex(ctx context.Context, paths []string) (*store.Store, error) {
	if len(paths) != 1 || dataset.IsStream(paths[0]) {
		return nil, nil
	}
	if info, err := os.Stat(paths[0]); err != nil || info.IsDir() {
		return nil, nil // a pattern, or a folder of pictures
	}
	s, err := a.openIndex(ctx, paths[0], store.OpenOptions{ReadOnly: true, OnDisk: true})
	if errors.Is(err, hamming.ErrKind) {
		return nil, nil
	}
	return s, err
}
