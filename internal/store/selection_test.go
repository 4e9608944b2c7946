package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// TestReadOnlyOnDisk: an index whose items stay on disk refuses writes, has no snapshot, and is of no use once closed.
func TestReadOnlyOnDisk(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(7, 7)), 70}
	s, path := create(t, Options{Model: projection(3, 70, 1)})
	ok(t, s.Close())
	s = open(t, path, OpenOptions{ReadOnly: true, OnDisk: true})
	if err := s.Add(ctx, m.batch(1)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("writing to what was opened to be read: %v", err)
	}
	ok(t, s.Close())
	if _, err := s.Select(ctx, index.Filter{}, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("reading a closed index: %v", err)
	}
	if _, _, err := s.Get(ctx, index.Int(1)); !errors.Is(err, ErrClosed) {
		t.Errorf("reading a closed index: %v", err)
	}
}

// TestMissingItemIsCertain: an id that a damaged page hides is an error, not missing.
func TestMissingItemIsCertain(t *testing.T) {
	s, path := create(t, Options{Bits: 64})
	b := index.NewBatch(64)
	for i := range 20_000 {
		b.Append(index.Item{ID: index.Int(int64(i)), Code: []uint64{uint64(i)}})
	}
	ok(t, s.Add(ctx, b))
	ok(t, s.Close())
	file, err := os.ReadFile(path)
	ok(t, err)
	hidden := 0
	for page := 2; page < len(file)/pageSize; page++ {
		b := file[page*pageSize:]
		if kindOf(b) != branchPage || countOf(b) < 3 {
			continue
		}
		e := pageHeader + 2*pageElement
		key := e + int(binary.LittleEndian.Uint32(b[e:]))
		b[key+1] ^= 0x40 // far away, so that the ids below are looked for elsewhere
		hidden++
	}
	ok(t, os.WriteFile(path, file, 0o600))
	s = open(t, path, OpenOptions{ReadOnly: true, OnDisk: true})
	failed := 0
	for i := range 200 {
		it, there, err := s.Get(ctx, index.Int(int64(100*i)))
		if err == nil && (!there || it.Code[0] != uint64(100*i)) {
			t.Fatalf("id %d is not there", 100*i)
		}
		if err != nil && !errors.Is(err, hamming.ErrDamaged) {
			t.Fatal(err)
		}
		if err != nil {
			failed++
		}
	}
	if hidden == 0 || failed == 0 {
		t.Errorf("%d pages were changed, %d of 200 ids failed", hidden, failed)
	}
}

// TestUnfinishedWriteIsTold: opening reports it, however little it reads.
func TestUnfinishedWriteIsTold(t *testing.T) {
	s, path := create(t, Options{Bits: 64})
	ok(t, s.Upsert(ctx, maker{rand.New(rand.NewPCG(5, 5)), 64}.batch(50)))
	want := s.Info().Items
	ok(t, s.Close())
	b, err := os.ReadFile(path)
	ok(t, err)
	m, err := readMeta(bytes.NewReader(b), int64(len(b)))
	ok(t, err)
	b[int(m.txid%2)*pageSize+pageHeader+20]++ // the latest header
	ok(t, os.WriteFile(path, b, 0o600))
	s = open(t, path, OpenOptions{ReadOnly: true, OnDisk: true})
	if i := s.Info(); !i.Recovered || i.Items != want { // closing made both headers lead to the same items
		t.Errorf("%+v", i)
	}
}
