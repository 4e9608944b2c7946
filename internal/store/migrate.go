package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/message"
	"hashgrove/internal/model"
	"hashgrove/internal/vectors"
)

// Migrate encodes all items again with another model. vectors must contain every id of the index (or row number, if it
// has no ids); other rows are ignored. Labels, tags and attributes stay. The new file replaces the old one in one step;
// after an error the old one is unchanged. No one else may have the index open. progress, which may be nil, gets the
// number of items encoded so far. The report describes the new file.
func Migrate(
	ctx context.Context, path string, m *model.Model, x vectors.Source, progress func(done, total int),
) (_ Report, err error) {
	defer func() { err = withPath(path, err) }()
	var modelFile bytes.Buffer
	if err := model.Write(&modelFile, m); err != nil {
		return Report{}, err
	}
	s, err := Open(ctx, path, OpenOptions{OnDisk: true})
	if err != nil {
		return Report{}, err
	}
	defer s.Close()
	codes, err := s.encode(ctx, m, x, progress)
	if err != nil {
		return Report{}, err
	}
	old, err := s.contents()
	if err != nil {
		return Report{}, err
	}
	d := draft{path: s.real, head: old.head, state: old.state, modelFile: modelFile.Bytes()}
	d.head.bits, d.head.fingerprint = m.Encoder.Bits(), m.Fingerprint()
	d.state.writes++
	var packed []byte
	tmp, f, err := d.rewrite(ctx, old, func(i int, _ []byte) []byte {
		packed = codes.AppendBytes(packed[:0], i)
		return packed
	})
	if err != nil {
		return Report{}, err
	}
	defer os.Remove(tmp)
	r := f.read.report()
	f, err = s.swap(ctx, f, tmp)
	if f != nil {
		err = errors.Join(err, f.Close())
	}
	return r, err
}

// encode returns the codes of the items' vectors, in order of their ids.
func (s *Store) encode(
	ctx context.Context, m *model.Model, x vectors.Source, progress func(done, total int),
) (hamming.Codes, error) {
	old, err := s.contents()
	if err != nil {
		return hamming.Codes{}, err
	}
	ids := make([]index.ID, 0, old.items)
	err = old.readItems(ctx, func(b *block) error {
		ids = append(ids, b.ids...)
		return nil
	})
	if err != nil {
		return hamming.Codes{}, err
	}
	codes := hamming.NewCodes(len(ids), m.Encoder.Bits())
	done, seen := 0, make([]bool, len(ids))
	source, err := m.Source(x, 0)
	if err != nil {
		return codes, err
	}
	err = m.EncodeSource(ctx, source, 0, func(first int, made hamming.Codes, chunk vectors.Chunk) error {
		for r := range made.Len() {
			id := index.Int(int64(first + r))
			if chunk.IDs != nil {
				var err error
				if id, err = index.ParseID(chunk.IDs[r]); err != nil {
					return fmt.Errorf("vector %d: %w", first+r, err)
				}
			}
			at, ok := slices.BinarySearchFunc(ids, id, index.ID.Compare)
			if !ok {
				continue
			}
			if seen[at] {
				return message.New("duplicate-id", "vector %d: the id %q appears twice: keep one of them", first+r, id.Short())
			}
			seen[at] = true
			done++
			copy(codes.Row(at), made.Row(r))
		}
		if progress != nil {
			progress(done, len(ids))
		}
		return nil
	})
	if err != nil {
		return codes, err
	}
	if at := slices.Index(seen, false); at >= 0 {
		return codes, message.New("missing-vectors", "%d of %d items have no vector, for instance id %q: "+
			"give the vectors of all items", len(ids)-done, len(ids), ids[at].Short())
	}
	return codes, nil
}
