package engine

import (
	"context"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"

	"hashgrove/internal/index"
)

// Source provides items to push, from memory or read a part at a time.
type Source struct {
	Space
	Items  int  // number of items; negative means unknown until all are read
	Unique bool // ids are known to be unique, so duplicates need not be detected

	// Each passes on all items, in the same order on every call. The receiver owns each part.
	Each func(ctx context.Context, take func(*index.Batch) error) error
}

// FromBatch provides items in memory, ordered by id.
func FromBatch(b *index.Batch) (Source, error) {
	if err := b.Check(b.Codes.Bits); err != nil {
		return Source{}, err
	}
	rows, err := b.Order(false)
	if err != nil {
		return Source{}, err
	}
	const some = 1024
	each := func(ctx context.Context, take func(*index.Batch) error) error {
		for part := range slices.Chunk(rows, some) {
			items := index.NewBatch(b.Codes.Bits)
			for _, r := range part {
				items.Append(b.Item(r))
			}
			if err := take(items); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	return Source{Space: Space{b.Codes.Bits, b.Fingerprint}, Items: len(rows), Unique: true, Each: each}, nil
}

// identities detects duplicate ids. It keeps a hash of every id, but nothing for ids that count up, as row numbers
// do. Among n ids, two collide by chance once in 2^65/n^2 pushes; the hash has a random seed, so nobody can provoke
// it, and repeating the push helps.
type identities struct {
	seed        maphash.Seed
	seen        map[uint64]struct{}
	first, next int64 // ids first to next-1 came in sequence
}

// add adds an id and reports whether it is new.
func (s *identities) add(id index.ID) bool {
	if s.seen == nil {
		s.seed, s.seen = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	n, integer := id.Integer()
	if integer && n >= s.first && n < s.next {
		return false
	}
	if begins := s.first == s.next; integer && n < math.MaxInt64 && len(s.seen) == 0 && (begins || n == s.next) {
		if begins {
			s.first = n
		}
		s.next = n + 1
		return true
	}
	key := maphash.String(s.seed, id.String())
	if _, there := s.seen[key]; there {
		return false
	}
	s.seen[key] = struct{}{}
	return true
}

// sample holds a uniform sample of the items, the same in every push.
type sample struct {
	rng   *rand.Rand
	n     int // items so far
	items []index.Item
}

// sampleSize is the number of items read back.
const sampleSize = 100

func newSample() *sample { return &sample{rng: rand.New(rand.NewPCG(1, 2))} }

// add considers an item, which it does not keep.
func (s *sample) add(it index.Item) {
	s.n++
	place := len(s.items)
	if place == sampleSize {
		if place = s.rng.IntN(s.n); place >= sampleSize {
			return
		}
	}
	it.Code, it.Tags = slices.Clone(it.Code), slices.Clone(it.Tags)
	if place == len(s.items) {
		s.items = append(s.items, it)
		return
	}
	s.items[place] = it
}

// shortened returns an id as quoted in messages.
func shortened(id index.ID) string {
	if text := id.String(); len(text) > 60 {
		return text[:60] + "..."
	}
	return id.String()
}
