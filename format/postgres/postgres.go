// Package postgres lets a program keep codes in tables of PostgreSQL. It is imported for that effect alone:
//
//	import _ "hashgrove/format/postgres"
package postgres

import (
	"context"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/postgres"
)

func init() {
	inside.OpenTable = func(ctx context.Context, o any) (any, error) {
		t, err := postgres.Open(ctx, o.(hashgrove.TableOptions))
		return table{t}, err
	}
}

// table is a table as package hashgrove wants it.
type table struct{ *postgres.Table }

func (t table) Info(ctx context.Context) (hashgrove.TableInfo, error) {
	i, err := t.Table.Info(ctx)
	return hashgrove.TableInfo{Server: i.Server, Table: i.Table, Exact: i.Exact}, err
}

func (t table) Plan(s index.Source) []hashgrove.Statement { return t.Table.Plan(source(s).Space) }

func (t table) Push(ctx context.Context, s index.Source, o hashgrove.PushOptions) (hashgrove.Pushed, error) {
	r, err := t.Table.Push(ctx, source(s), o)
	p := hashgrove.Pushed{Server: r.Info.Server, Items: r.Items, Written: r.Written, Retries: r.Retries}
	for _, refused := range r.Refused {
		p.Refused = append(p.Refused, hashgrove.Refusal{ID: api.ID(refused.ID.String()), Reason: refused.Reason})
	}
	return p, err
}

func (t table) Verify(ctx context.Context, s index.Source) (hashgrove.Verification, error) {
	return t.Table.Verify(ctx, source(s))
}

func (t table) Read(ctx context.Context, f index.Filter, progress func(done, total int)) (*index.Batch, error) {
	info, err := t.Table.Info(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.CheckNames(ctx, f); err != nil {
		return nil, err
	}
	n, err := t.Count(ctx)
	if err != nil {
		return nil, err
	}
	all := index.NewBatch(info.Bits)
	all.Fingerprint = info.Fingerprint
	return all, t.Table.Read(ctx, f, func(b *index.Batch) error {
		for i := range b.IDs {
			all.Append(b.Item(i))
		}
		progress(len(all.IDs), n)
		return nil
	})
}

func (t table) Searcher(ctx context.Context, m *model.Model) (api.Searcher, error) {
	return postgres.NewSearcher(ctx, t.Table, m)
}

// source translates for package postgres.
func source(s index.Source) postgres.Source {
	return postgres.Source{
		Space: postgres.Space{Bits: s.Bits, Fingerprint: s.Fingerprint}, Items: s.Items, Unique: s.Unique, Each: s.Each,
	}
}
