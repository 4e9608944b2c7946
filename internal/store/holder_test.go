package store_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"hashgrove/api"
	"hashgrove/client"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/postgres"
	"hashgrove/internal/search"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/testkit/pgtest"
	"hashgrove/internal/testkit/searchtest"
	"hashgrove/server/worker"
)

// local is an index of this process, with the vectors of its items.
type local struct {
	index   indexed
	model   *model.Model
	vectors *search.Table
}

// indexed is what an index in memory and one in a file have in common.
type indexed interface {
	Add(ctx context.Context, b *index.Batch) error
	Upsert(ctx context.Context, b *index.Batch) error
	Update(ctx context.Context, b *index.Batch, replace bool) (int, error)
	Delete(ctx context.Context, ids ...index.ID) (int, error)
	DeleteWhere(ctx context.Context, f index.Filter) (int, error)
	Compact(ctx context.Context) error
	Snapshot() *index.Snapshot
}

func (x *local) Search(ctx context.Context, r *api.Request) (*api.Answer, error) {
	return (&search.Items{Snapshot: x.index.Snapshot(), Model: x.model, Vectors: x.vectors}).Search(ctx, r)
}

func (x *local) put(ctx context.Context, b *index.Batch, vectors [][]float32, add bool) error {
	done, write := x.vectors.Set(b, vectors, x.index.Snapshot), x.index.Upsert
	if add {
		write = x.index.Add
	}
	err := write(ctx, b)
	done(err == nil)
	return err
}

func (x *local) update(ctx context.Context, b *index.Batch, replace bool) (int, error) {
	return x.index.Update(ctx, b, replace)
}

func (x *local) delete(ctx context.Context, ids []index.ID) (int, error) {
	return x.index.Delete(ctx, ids...)
}

func (x *local) deleteWhere(ctx context.Context, f index.Filter) (int, error) {
	return x.index.DeleteWhere(ctx, f)
}

func (x *local) items(context.Context) (list []api.Item, err error) {
	s := x.index.Snapshot()
	hits, err := s.Matches(index.Filter{})
	for _, h := range hits {
		list = append(list, search.Item(s.Item(h), s.Bits()))
	}
	return list, err
}

// remote is a collection of a service.
type remote struct{ *client.Collection }

func (x remote) put(ctx context.Context, b *index.Batch, vectors [][]float32, add bool) error {
	list := make([]api.NewItem, len(b.IDs))
	for i := range list {
		it := search.Item(b.Item(i), b.Codes.Bits)
		list[i] = api.NewItem{ID: it.ID, Code: it.Code, Label: it.Label, Tags: it.Tags, Attributes: it.Attributes}
		if vectors[i] != nil {
			list[i].Code, list[i].Vector = "", vectors[i]
		}
	}
	write := x.PutMany
	if add {
		write = x.AddMany
	} else if len(list) > 3 { // in columns, either all with vectors or all with codes
		write = func(ctx context.Context, list []api.NewItem) (int, error) {
			var c client.Columns
			for _, it := range list {
				c.IDs, c.Labels, c.Tags = append(c.IDs, it.ID), append(c.Labels, it.Label), append(c.Tags, it.Tags)
				if c.Attributes = append(c.Attributes, it.Attributes); it.Vector == nil {
					c.Codes = append(c.Codes, it.Code)
				} else {
					c.Vectors = append(c.Vectors, it.Vector)
				}
			}
			return x.PutColumns(ctx, c)
		}
	}
	n, err := write(ctx, list)
	if err == nil && n != len(list) {
		err = fmt.Errorf("%d of %d items are written", n, len(list))
	}
	return err
}

func (x remote) update(ctx context.Context, b *index.Batch, replace bool) (int, error) {
	list := make([]api.Change, len(b.IDs))
	for i, id := range b.IDs {
		list[i] = api.Change{ID: api.ID(id.String()), Label: &b.Labels[i]}
		if b.Tags != nil && len(b.Tags[i]) > 0 {
			list[i].Tags = b.Tags[i]
		}
		if b.Attributes != nil {
			list[i].Attributes = search.Attributes(b.Attributes[i])
		}
	}
	return x.Patch(ctx, replace, list...)
}

func (x remote) delete(ctx context.Context, ids []index.ID) (int, error) {
	list := make([]api.ID, len(ids))
	for i, id := range ids {
		list[i] = api.ID(id.String())
	}
	return x.Delete(ctx, list...)
}

func (x remote) deleteWhere(ctx context.Context, f index.Filter) (int, error) {
	a, err := x.DeleteMany(ctx, api.DeleteRequest{Where: new(f.String())})
	if err != nil {
		return 0, err
	}
	return a.Deleted, nil
}

func (x remote) items(ctx context.Context) (list []api.Item, err error) {
	for it, err := range x.AllItems(ctx, "") {
		if err != nil {
			return nil, err
		}
		list = append(list, it)
	}
	return list, nil
}

// pipe is a process such as Python starts: requests of HTTP travel as frames (docs/formats.md).
type pipe struct {
	in   *io.PipeWriter
	out  *io.PipeReader
	last int
}

func startPipe(t *testing.T) *pipe {
	in, toWorker := io.Pipe()
	fromWorker, out := io.Pipe()
	go func() {
		out.CloseWithError(worker.Serve(context.Background(), in, out, 1))
	}()
	t.Cleanup(func() { toWorker.Close() })
	return &pipe{in: toWorker, out: fromWorker}
}

// ask sends a frame with bytes, and returns the answer with its own.
func (p *pipe) ask(to any, op string, params any, body []byte, shape ...int) ([]byte, error) {
	p.last++
	array := map[string]any{"type": "u1", "shape": append(shape, len(body))}
	head, err := json.Marshal(map[string]any{"id": p.last, "op": op, "params": params, "arrays": []any{array}})
	frame := binary.LittleEndian.AppendUint32([]byte("HGW1"), uint32(len(head)))
	if _, failed := p.in.Write(append(append(frame, head...), body...)); err != nil || failed != nil {
		return nil, errors.Join(err, failed)
	}
	start := make([]byte, 8)
	if _, err := io.ReadFull(p.out, start); err != nil {
		return nil, err
	}
	var a struct {
		Result json.RawMessage
		Error  *api.Error
		Arrays []struct{ Shape []int }
	}
	head = make([]byte, binary.LittleEndian.Uint32(start[4:]))
	if _, err := io.ReadFull(p.out, head); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(head, &a); err != nil || a.Error != nil {
		return nil, fmt.Errorf("%s: %w: %+v", op, err, a.Error)
	}
	if len(a.Arrays) > 0 {
		body = make([]byte, a.Arrays[0].Shape[0])
		if _, err := io.ReadFull(p.out, body); err != nil {
			return nil, err
		}
	}
	if to == nil {
		return nil, nil
	}
	return body, json.Unmarshal(a.Result, to)
}

// create makes an empty index in memory.
func (p *pipe) create(t *testing.T, name string, m *model.Model) {
	t.Helper()
	var loaded struct{ Model uint64 }
	_, err := p.ask(&loaded, "load", map[string]any{}, bytesOf(t, m))
	if err == nil {
		_, err = p.ask(nil, "index", map[string]any{"name": name, "model": loaded.Model}, nil)
	}
	if err == nil {
		_, err = p.ask(nil, "vectors", map[string]any{"name": name, "ids": []string{"nobody"}}, make([]byte, searchtest.Dimension), 1)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (p *pipe) client() *http.Client { return &http.Client{Transport: p} }

// RoundTrip implements http.RoundTripper.
func (p *pipe) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	params := map[string]any{"method": r.Method, "path": r.URL.RequestURI()}
	if kind := r.Header.Get("Content-Type"); kind != "" {
		params["headers"] = map[string]string{"Content-Type": kind}
	}
	var head struct {
		Status  int
		Headers map[string]string
	}
	text, err := p.ask(&head, "http", params, body)
	if err != nil {
		return nil, err
	}
	a := &http.Response{StatusCode: head.Status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(text)), Request: r}
	for name, value := range head.Headers {
		a.Header.Set(name, value)
	}
	return a, nil
}

func bytesOf(t *testing.T, m *model.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := model.Write(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// database is a server of PostgreSQL with a table for each check.
type database struct {
	*pgtest.Server
	connection *pgx.Conn
	name       string
	table      *postgres.Table
}

// startDatabase returns nil outside make check.
func startDatabase(t *testing.T) *database {
	if !needs.Full() || !pgtest.Available() { // where it is required, package postgres says so
		return nil
	}
	d := &database{Server: pgtest.Start(t)}
	config, err := pgx.ParseConfig(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	config.Password = pgtest.Password
	if d.connection, err = pgx.ConnectConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.connection.Close(context.Background())
		d.table.Close()
	})
	return d
}

// create opens a table that is not there.
func (d *database) create(t *testing.T, name string) {
	if d == nil {
		return
	}
	if d.table != nil {
		d.table.Close()
	}
	var err error
	d.name = name
	d.table, err = postgres.Open(t.Context(), postgres.Target{URL: d.URL, Password: pgtest.Password, Table: name})
	if err != nil {
		t.Fatal(err)
	}
}

// searcher brings the table to the state of a fixture: a push replaces items, and who wants fewer deletes rows.
func (d *database) searcher(r *rapid.T, w *searchtest.Fixture) api.Searcher {
	ctx, ids := r.Context(), make([]string, len(w.Items.IDs))
	for i, id := range w.Items.IDs {
		ids[i] = id.String()
	}
	_, err := d.table.Push(ctx, index.Source{
		Bits: w.Bits(), Fingerprint: w.Items.Fingerprint, Items: len(ids),
		Each: func(_ context.Context, take func(*index.Batch) error) error { return take(w.Items) },
	}, postgres.PushOptions{})
	if err == nil {
		_, err = d.connection.Exec(ctx, `DELETE FROM "`+d.name+`" WHERE id <> ALL ($1)`, ids)
	}
	if err != nil {
		r.Fatal(err)
	}
	s, err := postgres.NewSearcher(ctx, d.table, w.Model)
	if err != nil {
		r.Fatal(err)
	}
	return s
}
