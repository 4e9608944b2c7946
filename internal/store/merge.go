package store

import (
	"container/heap"
	"context"
	"errors"
	"iter"
	"os"
	"time"

	"hashgrove/internal/fault"
	"hashgrove/internal/index"
)

// Merge makes a new index from the items of others, atomically and in bounded memory: it reads them side by side in
// order of ids. They must have codes of one model and no id in common. The new index keeps the model if one of them has
// it, and the note if all have the same. progress, which may be nil, gets the number of items written so far. An
// existing file is left alone. Only those who can read all the others can read the new index.
func Merge(ctx context.Context, paths []string, to string, progress func(done, total int)) (Report, error) {
	if err := checkVacant(to); err != nil {
		return Report{}, err
	}
	return merge(ctx, paths, to, moveInto, progress)
}

// MergeOver is Merge for a file that may exist: the new index replaces it in one step and takes over its permissions,
// once nobody else uses it.
func MergeOver(ctx context.Context, paths []string, to string, progress func(done, total int)) (Report, error) {
	place := func(tmp, path string) error { return Replace(ctx, tmp, path) }
	if real, err := realPath(to); err == nil {
		to = real // the file, not a link to it
	}
	return merge(ctx, paths, to, place, progress)
}

// merge makes a new index and calls place to give it its name.
func merge(
	ctx context.Context, paths []string, to string, place func(tmp, path string) error, progress func(done, total int),
) (_ Report, err error) {
	if len(paths) == 0 {
		return Report{}, fault.New("no-files", "no indexes: name their files")
	}
	m := &merger{progress: progress}
	defer m.close()
	for _, path := range paths {
		if err := m.open(ctx, path); err != nil {
			return Report{}, err
		}
	}
	d := draft{path: to, head: m.sources[0].head, state: state{writes: 1}}
	d.head.created = time.Now().UTC().Truncate(time.Second)
	for _, s := range m.sources {
		info, err := s.file.f.Stat()
		if err != nil {
			return Report{}, withPath(s.path, err)
		}
		d.of = append(d.of, info)
		if d.modelFile == nil {
			d.modelFile = s.modelFile
		}
		if s.note != d.head.note {
			d.head.note = ""
		}
	}
	tmp, err := d.build(func(put putItem) error { return m.run(ctx, put) })
	if err != nil {
		return Report{}, err
	}
	defer os.Remove(tmp)
	r, err := checkFile(ctx, tmp)
	if err == nil && r.Items != m.total {
		err = damaged("%d of %d items were written", r.Items, m.total)
	}
	if err == nil {
		err = place(tmp, to)
	}
	return r, withPath(to, err)
}

// mostMerged is index.MaxItems, except in tests.
var mostMerged = index.MaxItems

// merger reads several indexes side by side. It is a heap of those with items left, least id first.
type merger struct {
	sources  []*source
	left     []*source
	total    int
	progress func(done, total int)
}

// source is an index being read in order of ids.
type source struct {
	path string
	file *file
	*contents
	next func() (*block, error, bool)
	stop func()
	b    *block
	at   int // the item in it
}

func (s *source) id() index.ID { return s.b.ids[s.at] }

// open opens the next index and compares it with the first.
func (m *merger) open(ctx context.Context, path string) error {
	f, c, err := inspect(ctx, path, deadline(0), func(c *contents) error {
		if err := c.readModel(); err != nil {
			return err
		}
		_, err := c.decodeModel()
		return err
	})
	if err != nil {
		return withPath(path, err)
	}
	s := &source{path: path, file: f, contents: c}
	m.sources = append(m.sources, s)
	first := m.sources[0]
	switch {
	case s.bits != first.bits:
		return fault.New("bits-mismatch", "%s: codes of %d bits, but those of %s have %d",
			path, s.bits, first.path, first.bits)
	case s.fingerprint != first.fingerprint:
		return fault.New("model-mismatch", "%s: codes of model %v, but those of %s are of model %v: "+
			"migrate one of them first", path, s.fingerprint, first.path, first.fingerprint)
	case s.items > uint64(mostMerged-m.total):
		return fault.New("too-many-items", "%s: together more than %d items, which is more than an index can hold",
			path, mostMerged)
	}
	m.total += int(s.items)
	s.next, s.stop = iter.Pull2(s.blocks(ctx))
	return nil
}

var errStopped = errors.New("enough blocks")

// blocks yields the blocks of an index, and checks at the end that they are complete.
func (s *source) blocks(ctx context.Context) iter.Seq2[*block, error] {
	return func(yield func(*block, error) bool) {
		err := s.readItems(ctx, func(b *block) error {
			if !yield(b, nil) {
				return errStopped
			}
			return nil
		}, nil)
		if err == nil {
			err = s.pages.finish()
		}
		if err != nil && err != errStopped {
			yield(nil, withPath(s.path, err))
		}
	}
}

// advance moves to the next item. It returns false if there is none.
func (s *source) advance() (bool, error) {
	if s.b != nil && s.at+1 < len(s.b.ids) {
		s.at++
		return true, nil
	}
	b, err, more := s.next()
	if err != nil || !more {
		return false, err
	}
	s.b, s.at = b, 0
	return true, nil
}

// run puts all items in order of ids.
func (m *merger) run(ctx context.Context, put putItem) error {
	for _, s := range m.sources {
		if more, err := s.advance(); err != nil {
			return err
		} else if more {
			m.left = append(m.left, s)
		}
	}
	heap.Init(m)
	for done := 1; len(m.left) > 0; done++ {
		s := m.left[0]
		id := s.id()
		if err := put(id, s.b.code(s.at), s.b.record(s.at)); err != nil {
			return err
		}
		more, err := s.advance()
		if err != nil {
			return err
		}
		if more {
			heap.Fix(m, 0)
		} else {
			heap.Pop(m)
		}
		if len(m.left) > 0 && m.left[0].id() == id {
			return fault.New("duplicate-id", "%s and %s: both have the id %q: delete it from one of them",
				s.path, m.left[0].path, shortened(id))
		}
		if done%8192 == 0 && m.progress != nil {
			m.progress(done, m.total)
		}
		if done%8192 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// close closes the indexes that were opened.
func (m *merger) close() {
	for _, s := range m.sources {
		if s.stop != nil {
			s.stop()
		}
		_ = s.file.Close() // it was only read
	}
}

func (m *merger) Len() int           { return len(m.left) }
func (m *merger) Less(i, j int) bool { return m.left[i].id().Compare(m.left[j].id()) < 0 }
func (m *merger) Swap(i, j int)      { m.left[i], m.left[j] = m.left[j], m.left[i] }

// Push is required by heap.Interface but never used.
func (m *merger) Push(any) { panic("store: an index came back") }

// Pop removes the last index.
func (m *merger) Pop() any {
	last := m.left[len(m.left)-1]
	m.left = m.left[:len(m.left)-1]
	return last
}
