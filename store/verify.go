package store

import (
	"context"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"hashgrove/hamming"
	"hashgrove/index"
)

// Report is what checking a file has found.
type Report struct {
	Items       int                 `json:"items"`
	Bits        int                 `json:"bits"`
	Fingerprint hamming.Fingerprint `json:"-"`
	HasModel    bool                `json:"has_model"`
	Writes      uint64              `json:"writes"`
	Blocks      int                 `json:"blocks"`
	Pages       int                 `json:"pages"`
	FileBytes   int64               `json:"file_bytes"`
	FreeBytes   int64               `json:"free_bytes"`
	Recovered   bool                `json:"recovered,omitempty"` // the latest write was not finished, and is left out
	Problems    []string            `json:"problems,omitempty"`  // the first few
}

// maxProblems is how many problems a report names.
const maxProblems = 20

// Verify checks all of an index or a backup: pages, checksums, ids, labels, counts, model, and what bbolt checks
// itself. What it finds is in the report; the first problem is also the error. Progress, which may be nil, gets the
// items checked so far.
func Verify(ctx context.Context, path string, progress func(done, total int)) (Report, error) {
	var r Report
	var first error
	problem := func(err error) error {
		if first == nil {
			first = err
		}
		if len(r.Problems) < maxProblems {
			r.Problems = append(r.Problems, err.Error())
		}
		return nil
	}
	var texts records
	f, c, err := inspect(ctx, path, deadline(0), func(c *contents) error {
		r.Bits, r.Fingerprint = c.bits, c.fingerprint
		batch := index.NewBatch(c.bits) // of one block
		return c.check(ctx, func(b *block) error {
			r.Items += len(b.ids)
			r.Blocks++
			if progress != nil {
				progress(r.Items, int(c.items))
			}
			batch.IDs, batch.Codes.Data = batch.IDs[:0], batch.Codes.Data[:0]
			batch.Labels, batch.Tags, batch.Attributes = nil, nil, nil
			if err := b.appendTo(batch, &texts); err != nil {
				return err
			}
			return asDamage(batch.Check(c.bits))
		}, problem)
	})
	if err != nil {
		if !errors.Is(err, hamming.ErrDamaged) && !errors.Is(err, hamming.ErrKind) {
			return r, withPath(path, err)
		}
		_ = problem(err)
		return r, withPath(path, first)
	}
	defer f.Close()
	met := r
	r = c.report()
	r.Items, r.Blocks, r.Problems = met.Items, met.Blocks, met.Problems // as many as are sound

	if first == nil { // bbolt may look at all pages only when they are sound
		err = guard(func() error {
			return f.View(func(tx *bolt.Tx) error {
				for err := range tx.Check() {
					_ = problem(fmt.Errorf("%w: %w", hamming.ErrDamaged, err))
				}
				return nil
			})
		})
		if err != nil {
			return r, withPath(path, err)
		}
	}
	return r, withPath(path, first)
}
