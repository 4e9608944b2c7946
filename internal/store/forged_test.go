package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
	"hashgrove/internal/testkit/budgettest"
)

// forged returns an index of a few pages that claims 2^31 - 1 items and their pages, in a sparse file of that length.
func forged(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "forged.hgi")
	ok(t, os.WriteFile(path, sample(t), 0o600))
	db, err := bolt.Open(path, 0o600, nil)
	ok(t, err)
	ok(t, db.Update(func(tx *bolt.Tx) error {
		claim := state{items: index.MaxItems, blocks: 1, sum: 1, writes: 1}
		return tx.Bucket(infoBucket).Put(stateKey, claim.value())
	}))
	ok(t, db.Close())
	b, err := os.ReadFile(path)
	ok(t, err)
	const high = 16 << 30 / pageSize
	for at := pageHeader; at < 2*pageSize; at += pageSize {
		binary.LittleEndian.PutUint64(b[at+40:], high)
	}
	reseal(b)
	ok(t, os.WriteFile(path, b, 0o600))
	ok(t, os.Truncate(path, high*pageSize))
	return path
}

// TestForgedClaims: memory for the claimed items and pages was once 48 GB for 36 kB on disk.
func TestForgedClaims(t *testing.T) {
	path := forged(t)
	for name, open := range map[string]func() error{
		"open": func() error {
			_, err := Open(ctx, path, OpenOptions{})
			return err
		},
		"select": func() error {
			s, err := Open(ctx, path, OpenOptions{ReadOnly: true, OnDisk: true})
			if err != nil {
				return err
			}
			defer s.Close()
			_, err = s.Select(ctx, index.Filter{}, nil)
			return err
		},
		"verify": func() error {
			_, err := Verify(ctx, path, nil)
			return err
		},
	} {
		budgettest.Within(t, 64*budgettest.MiB, func() {
			if err := open(); !errors.Is(err, hamming.ErrDamaged) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestIDsOfABlockAscend: a second item with the id of the one before it, or with a smaller one, is damage.
func TestIDsOfABlockAscend(t *testing.T) {
	for second, sound := range map[string]bool{"\x01\x01c": true, "\x02\x00": false, "\x01\x01a": false} { // ac, ab, aa
		b := block{size: 1}
		err := b.parse([]byte{textKey, 'a', 'b'}, []byte("\x02"+second+"12"))
		if sound && err != nil || !sound && !errors.Is(err, hamming.ErrDamaged) {
			t.Errorf("%q: %v", second, err)
		}
	}
}

// TestNumbersOfABlock: numbers have their shortest form, and no id passes the greatest integer.
func TestNumbersOfABlock(t *testing.T) {
	for payload, wrong := range map[string]int64{ // the first id from which on it is wrong
		"\x02\x0012": math.MaxInt64, "\x02\x0212": math.MaxInt64 - 2, "\x02\x80\x0012": 0, "\x82\x00\x0012": 0,
	} {
		for _, first := range []int64{0, math.MaxInt64 - 3, math.MaxInt64 - 2, math.MaxInt64 - 1, math.MaxInt64} {
			b := block{size: 1}
			err := b.parse(appendKey(nil, index.Int(first)), []byte(payload))
			if first < wrong && err != nil || first >= wrong && !errors.Is(err, hamming.ErrDamaged) {
				t.Errorf("%q from id %d on: %v", payload, first, err)
			}
		}
	}
}

// TestBlocksAscend: no block begins with the last id of the one before it, or earlier.
func TestBlocksAscend(t *testing.T) {
	for second, sound := range map[string]bool{"ad": true, "ac": false, "abc": false} {
		s, path := create(t, Options{Bits: 8})
		ok(t, s.Close())
		db, err := bolt.Open(path, 0o600, nil)
		ok(t, err)
		ok(t, db.Update(func(tx *bolt.Tx) error {
			have := state{writes: 1}
			for _, ids := range [][]string{{"ab", "ac"}, {second, "b"}} {
				p := packer{limit: blockLimit, put: func(key, value []byte, sum uint32) error {
					have.blocks, have.sum = have.blocks+1, have.sum+uint64(sum)
					return tx.Bucket(itemBucket).Put(bytes.Clone(key), value)
				}}
				for _, id := range ids {
					have.items++
					ok(t, p.add(index.Text(id), []byte{1}, nil))
				}
				ok(t, p.flush())
			}
			return tx.Bucket(infoBucket).Put(stateKey, have.value())
		}))
		ok(t, db.Close())
		if _, err := Verify(ctx, path, nil); sound && err != nil || !sound && !errors.Is(err, hamming.ErrDamaged) {
			t.Errorf("%q: %v", second, err)
		}
	}
}

// TestRecordsOfItems: a record says everything once, and nothing that is empty.
func TestRecordsOfItems(t *testing.T) {
	for record, sound := range map[string]bool{
		"\x01\x01a": true, "\x01\x00": false, "\x02\x01\x01a": true, "\x02\x00": false, "\x00": false,
		"\x04\x02\x01a\x01\x01v\x01b\x01\x01v": true, "\x04\x02\x01a\x01\x01v\x01a\x01\x01v": false, "\x04\x00": false,
	} {
		var texts records
		if err := texts.parse([]byte(record), new(index.Item)); sound && err != nil || !sound && !errors.Is(err, hamming.ErrDamaged) {
			t.Errorf("%q: %v", record, err)
		}
	}
}
