package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"strings"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/client"
	"hashgrove/internal/cli"
)

// target is what is searched: an index file, or a collection of a service.
type target struct {
	api.Searcher
	has   func(id api.ID) error // whether the item exists
	model *hashgrove.Model      // makes vectors of rows; nil leaves that to the service
	named bool                  // the codes are those of a known model
	bits  int                   // of the codes; 0 if unknown
	end   func()
}

// eachBatch passes on the queries in batches of at least atLeast rows, or as they arrive if it is 0.
func (c *searchCommand) eachBatch(ctx context.Context, t *target, atLeast int, take func(*api.Request) error) error {
	var list []api.Query
	for _, text := range c.ids {
		some, err := idQueries(t.has, text)
		if err != nil {
			return fmt.Errorf("%s: %w", c.path, err)
		}
		list = append(list, some...)
	}
	for _, text := range c.codes {
		list = append(list, api.Query{Name: text, Code: text})
	}
	if list != nil {
		return take(&api.Request{Queries: list})
	}
	show, end := c.steps()
	defer end()
	for r, err := range c.queries.Requests(ctx, hashgrove.QueryOptions{
		Model: t.model, Bits: t.bits, Rows: c.rows, AtLeast: atLeast, Threads: c.threads, Progress: show,
	}) {
		if err == nil {
			if !t.named {
				r.Fingerprint = ""
			}
			err = take(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// idQueries returns queries by id. A text with commas is one id if an item has it, else a list of ids.
func idQueries(has func(id api.ID) error, text string) (list []api.Query, err error) {
	err = has(api.ID(text))
	ids, notList := csv.NewReader(strings.NewReader(text)).Read()
	switch {
	case err == nil:
		return []api.Query{{ID: api.ID(text)}}, nil
	case !errors.Is(err, api.ErrNotFound) || notList != nil || len(ids) < 2:
		return nil, err
	}
	for _, id := range ids {
		some, err := idQueries(has, id)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	return list, nil
}

// openFile opens the index, whose items stay on disk unless queries arrive one by one.
func (c *searchCommand) openFile(ctx context.Context) (*target, error) {
	o := toRead
	o.OnDisk = !c.isLive()
	ix, end, err := c.openIndex(ctx, c.path, o)
	if err != nil {
		return nil, err
	}
	t := &target{Searcher: ix, model: ix.Model(), bits: ix.Info().Bits, end: end}
	if o := c.options(); o.CheckBits(t.bits) != nil {
		end()
		return nil, flagError(o.CheckBits(t.bits))
	}
	t.named = strings.Trim(ix.Info().Fingerprint, "0") != ""
	t.has = func(id api.ID) error {
		_, err := ix.Get(id)
		return err
	}
	if len(c.rerank) == 0 {
		return t, nil
	}
	d := c.data
	d.Labels, d.IDs, d.Label, d.Tags = nil, nil, "", ""
	items, err := d.rows(c.rerank)
	if err == nil {
		err = ix.ReadVectors(items)
	}
	if err != nil {
		end()
		return nil, err
	}
	return t, nil
}

// openService sets up the collection of a service; the token comes from --token-file or the environment.
func (c *searchCommand) openService() (*target, error) {
	token := os.Getenv("HASHGROVE_TOKEN")
	if c.tokenFile != "" {
		var err error
		if token, err = readSecret(c.tokenFile); err != nil {
			return nil, err
		}
	}
	s := (&client.Client{URL: c.server, Token: token}).Collection(c.path)
	has := func(id api.ID) error {
		_, err := s.Item(context.Background(), id)
		return err
	}
	return &target{Searcher: s, has: has, named: true, end: func() {}}, nil
}

// readSecret reads a password or a token, the only word of a small file.
func readSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(b))
	if secret == "" || len(secret) > 1<<12 || strings.ContainsAny(secret, "\r\n") {
		return "", cli.Errorf("bad-password-file", "%s: a file with a password or a token has it on its only line", path)
	}
	return secret, nil
}
