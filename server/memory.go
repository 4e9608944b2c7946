package server

import (
	"context"
	"io"

	"hashgrove/api"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/search"
	"hashgrove/internal/store"
	"hashgrove/internal/vectors"
)

// itemStore is what a collection needs of an index. A *store.Store is one in a file.
type itemStore interface {
	Snapshot() *index.Snapshot
	Info() store.Info
	Add(ctx context.Context, b *index.Batch) error
	Upsert(ctx context.Context, b *index.Batch) error
	Update(ctx context.Context, b *index.Batch, replace bool) (int, error)
	Delete(ctx context.Context, ids ...index.ID) (int, error)
	DeleteWhere(ctx context.Context, f index.Filter) (int, error)
	Backup(ctx context.Context, w io.Writer) error
	Close() error
}

// memory is an index in no file.
type memory struct {
	*index.Index
	model *model.Model
}

// openMemory returns an empty collection in memory, for codes of some bits if there is no model.
func openMemory(m *model.Model, bits int) *opened {
	var of hamming.Fingerprint
	if m != nil {
		bits, of = m.Encoder.Bits(), m.Fingerprint()
	}
	return &opened{store: memory{index.New(bits, of, index.Config{}), m}, model: m}
}

func (m memory) Info() store.Info {
	x := m.Snapshot()
	return store.Info{Items: x.Len(), Bits: x.Bits(), Fingerprint: x.Fingerprint(), HasModel: m.model != nil,
		Memory: x.Memory()}
}

func (m memory) Backup(context.Context, io.Writer) error {
	return api.Errorf(api.ErrUnsupported, "the collection is in no file that could be copied")
}

func (m memory) Close() error { return nil }

// Save writes the items of a collection, and its model, to a new index file.
func (s *Server) Save(ctx context.Context, name, path string) error {
	c, err := s.collection(name)
	if err != nil {
		return err
	}
	return store.Save(ctx, path, c.open().snapshot(), c.open().model)
}

// vectorsKey is the key of vectors in a context.
type vectorsKey struct{}

// WithVectors gives a request the vectors of its items or queries as they are in memory, for a program that calls the
// handler in its own process: in place of vectors_base64, or of a body of float32 values.
func WithVectors(ctx context.Context, rows [][]float32) context.Context {
	return context.WithValue(ctx, vectorsKey{}, rows)
}

// givenVectors returns the vectors of WithVectors.
func givenVectors(ctx context.Context) ([][]float32, bool) {
	rows, ok := ctx.Value(vectorsKey{}).([][]float32)
	return rows, ok
}

// SetVectors keeps the vectors of a collection's items in memory, by id, so that searches can rerank and explain.
// Vectors that the model gives another code than the item has are left out.
func (s *Server) SetVectors(ctx context.Context, name string, ids []string, rows [][]float32) error {
	c, err := s.collection(name)
	if err != nil {
		return err
	}
	now := *c.open()
	if now.model == nil {
		return search.ErrNoModel
	}
	x, err := matrixOf(rows)
	if err != nil {
		return err
	}
	src, err := now.model.Source(vectors.Table{X: x, IDs: ids}, 0)
	if err != nil {
		return err
	}
	items := now.snapshot()
	if now.vectors, err = search.ReadTable(ctx, now.model, src, items.Len(), items.Get); err != nil {
		return err
	}
	c.current.Store(&now)
	return nil
}
