package hamming

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"strconv"

	"hashgrove/internal/message"
)

// Merged describes the output of Merge.
type Merged struct {
	Codes       int
	Bits        int
	Fingerprint Fingerprint
	IDs         bool
	Shards      int
}

// Merge combines all shards of a data set into one code file, atomically. In memory it holds 16 bytes for each id. The
// result is byte for byte the file that encoding the data at once would give. Shards may come in any order. It is an
// error if a shard is missing or repeated, comes from other data or another model, or if an id occurs twice; the error
// names the files. progress, which may be nil, is called with the number of codes so far and in all.
func Merge(ctx context.Context, paths []string, output string, progress func(done, total int)) (Merged, error) {
	parts, err := arrange(paths)
	if err != nil {
		return Merged{}, err
	}
	first := parts[0]
	m := &merger{parts: parts, progress: progress, ids: repeats{seed: maphash.MakeSeed()}}
	m.out, err = Create(output, HGC, Header{Bits: first.Bits, Fingerprint: first.Fingerprint})
	if err != nil {
		return Merged{}, err
	}
	for i := range parts {
		if err == nil {
			err = m.add(ctx, i)
		}
	}
	if err == nil {
		err = m.checkIDs(ctx)
	}
	if err != nil {
		m.out.Abort()
		return Merged{}, err
	}
	made := Merged{m.out.rows, first.Bits, first.Fingerprint, m.out.ids, len(parts)}
	return made, m.out.Close()
}

// part is a file that holds a shard.
type part struct {
	path string
	Reader
	codes int // set once it was read
}

// arrange reads the heads of the files, sorts the shards, and checks that they are complete.
func arrange(paths []string) ([]*part, error) {
	var parts []*part
	for _, path := range paths {
		r, f, err := openReader(path)
		if err != nil {
			return nil, err
		}
		_ = f.Close() // only its head was read
		if r.Shard.IsWhole() {
			return nil, message.New("no-shard", "%s: is not a shard: it does not say which rows of which data it holds", path)
		}
		p := &part{path: path, Reader: *r}
		p.next = nil
		if len(parts) > 0 {
			if err := p.checkLike(parts[0]); err != nil {
				return nil, err
			}
		}
		parts = append(parts, p)
	}
	if len(parts) == 0 {
		return nil, message.New("no-files", "no shards: name their files")
	}
	slices.SortStableFunc(parts, func(a, b *part) int { return cmp.Compare(a.Shard.Number, b.Shard.Number) })
	return parts, checkComplete(parts)
}

// checkLike returns an error if the shards come from different models or data.
func (p *part) checkLike(q *part) error {
	a, b := q.Shard, p.Shard
	switch {
	case p.Bits != q.Bits:
		return message.New("bits-mismatch", "%s: codes of %d bits, but those of %s have %d", p.path, p.Bits, q.path, q.Bits)
	case p.Fingerprint != q.Fingerprint:
		return message.New("other-model", "%s: codes of model %v, but those of %s are of model %v: encode all shards with "+
			"one model", p.path, p.Fingerprint, q.path, q.Fingerprint)
	case a.Of != b.Of:
		return message.New("other-division", "%s: is one of %d shards, but %s is one of %d: merge shards of one division",
			p.path, b.Of, q.path, a.Of)
	case a.Total != b.Total:
		return message.New("other-data", "%s: is a shard of %d rows, but %s is one of %d: did the data change in between?",
			p.path, b.Total, q.path, a.Total)
	case a.Data != b.Data && a.Data != 0 && b.Data != 0:
		return message.New("other-data", "%s: is a shard of other data than %s: the files had as many rows, but other "+
			"contents; encode both from the same files", p.path, q.path)
	}
	return nil
}

// checkComplete returns an error for gaps and overlaps.
func checkComplete(parts []*part) error {
	of, next := parts[0].Shard.Of, 1
	var missing []string
	for i, p := range parts {
		if i > 0 && p.Shard.Number == parts[i-1].Shard.Number {
			return message.New("shard-twice", "%s and %s: are both shard %d of %d: name one of them", parts[i-1].path, p.path,
				p.Shard.Number, of)
		}
		for ; next < p.Shard.Number; next++ {
			missing = append(missing, strconv.Itoa(next))
		}
		next++
	}
	for ; next <= of; next++ {
		missing = append(missing, strconv.Itoa(next))
	}
	if len(missing) == 1 {
		return message.New("shards-missing", "shard %s of %d is missing: encode it first", missing[0], of)
	}
	if len(missing) > 1 {
		return message.New("shards-missing", "shards %s of %d are missing: encode them first", message.Runs(missing), of)
	}
	row := 0
	for i, p := range parts {
		s := p.Shard
		if s.First > row {
			return message.New("rows-missing", "%s: begins with row %d, so that rows from %d on are in no shard", p.path,
				s.First, row)
		}
		if s.First < row {
			return message.New("rows-twice", "%s and %s: both have row %d", parts[i-1].path, p.path, s.First)
		}
		row += s.Rows
	}
	if last := parts[of-1]; row != last.Shard.Total {
		return message.New("rows-missing", "%s: the last shard ends at row %d of %d", last.path, row, last.Shard.Total)
	}
	return nil
}

// openReader opens a code file, which the caller must close.
func openReader(path string) (*Reader, *os.File, error) {
	f, err := message.Open(path)
	if err != nil {
		return nil, nil, err
	}
	r, err := newCodeFileReader(f)
	if err != nil {
		_ = f.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, f, nil
}

// merger copies shards into one file.
type merger struct {
	parts    []*part
	out      *Writer
	ids      repeats
	progress func(done, total int)
}

// add appends the codes of a shard.
func (m *merger) add(ctx context.Context, i int) error {
	p := m.parts[i]
	return p.each(ctx, func(c Codes, ids []string) error {
		if err := m.out.Write(c, ids); err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
		p.codes += c.Len()
		for _, id := range ids {
			m.ids.add(id)
		}
		if m.progress != nil {
			m.progress(m.out.rows, p.Shard.Total)
		}
		return nil
	})
}

// each reads the codes of a shard and checks that it is still the file whose head was read before.
func (p *part) each(ctx context.Context, take func(c Codes, ids []string) error) error {
	r, f, err := openReader(p.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if r.Shard != p.Shard || r.Bits != p.Bits || r.Fingerprint != p.Fingerprint {
		return fmt.Errorf("%s: the file was replaced while it was being read", p.path)
	}
	for {
		c, ids, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := take(c, ids); err != nil {
			return err
		}
	}
}

// checkIDs returns an error if an id occurs twice.
func (m *merger) checkIDs(ctx context.Context) error {
	doubtful := m.ids.doubtful()
	if len(doubtful) == 0 {
		return nil
	}
	type place struct {
		path string
		row  int
	}
	seen := map[string]place{}
	row := 0 // in the merged file
	for _, p := range m.parts {
		at := 0 // in the shard
		err := p.each(ctx, func(_ Codes, ids []string) error {
			for _, id := range ids {
				if doubtful[row] {
					if was, twice := seen[id]; twice {
						return message.New("duplicate-id", "the id %q appears twice: code %d of %s and code %d of %s",
							id, was.row+1, was.path, at+1, p.path)
					}
					seen[id] = place{p.path, at}
				}
				row, at = row+1, at+1
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// repeats finds ids that occur twice by their hashes, whose seed is random: nobody can choose many different ids with
// equal hashes.
type repeats struct {
	seed maphash.Seed
	ids  []hashed
}

// hashed is the hash of an id and its place.
type hashed struct {
	hash  uint64
	place int
}

func (r *repeats) add(id string) {
	r.ids = append(r.ids, hashed{maphash.String(r.seed, id), len(r.ids)})
}

// maxDoubtful bounds the places to compare: the first few settle the answer.
const maxDoubtful = 1 << 10

// doubtful returns places that may share an id, the first of them.
func (r *repeats) doubtful() map[int]bool {
	slices.SortFunc(r.ids, func(a, b hashed) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.place, b.place))
	})
	found := map[int]bool{}
	for i := 1; i < len(r.ids) && len(found) < maxDoubtful; i++ {
		if a, b := r.ids[i-1], r.ids[i]; a.hash == b.hash {
			found[a.place], found[b.place] = true, true
		}
	}
	return found
}
