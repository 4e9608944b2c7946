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
