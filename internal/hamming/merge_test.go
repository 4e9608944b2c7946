package hamming

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hashgrove/internal/message"
)

// saveShards writes codes as shards and returns the files.
func saveShards(t *testing.T, h Header, c Codes, ids []string, of int) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for number := range of {
		h.Shard = NewShard(number+1, of, c.Len())
		lo, hi := h.Shard.First, h.Shard.First+h.Shard.Rows
		var some []string
		if ids != nil {
			some = ids[lo:hi]
		}
		path := filepath.Join(dir, h.Shard.Name()+".hgc")
		part := Codes{c.Bits, c.Words, c.Data[lo*c.Words : hi*c.Words]}
		if err := os.WriteFile(path, write(t, HGC, h, part, some, 1000), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// TestMergeGivesTheWholeFile checks it byte for byte, for any number and order of shards.
func TestMergeGivesTheWholeFile(t *testing.T) {
	for _, n := range []int{0, 1, 5, 700, codesPerSection(4096) + 300} {
		c := random(n, 4096, 3)
		for _, ids := range [][]string{nil, someIDs(n)} {
			h := Header{Bits: 4096, Fingerprint: [32]byte{4}}
			want := write(t, HGC, h, c, ids, 100)
			for _, of := range []int{1, 2, 7} {
				paths := saveShards(t, h, c, ids, of)
				rand.New(rand.NewPCG(1, uint64(of))).Shuffle(of, func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
				out := filepath.Join(t.TempDir(), "all.hgc")
				m, err := Merge(context.Background(), paths, out, nil)
				if err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(out)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d codes in %d shards, ids %v: another file, %v", n, of, ids != nil, err)
				}
				if m != (Merged{n, 4096, h.Fingerprint, ids != nil && n > 0, of}) {
					t.Errorf("%+v", m)
				}
			}
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	c, ids := random(20, 16, 1), someIDs(20)
	h := Header{Bits: 16, Fingerprint: [32]byte{1}}
	four, five := saveShards(t, h, c, ids, 4), saveShards(t, h, c, ids, 5)
	other := saveShards(t, Header{Bits: 16, Fingerprint: [32]byte{2}}, c, ids, 4)
	longer := saveShards(t, Header{Bits: 24, Fingerprint: [32]byte{1}}, random(20, 24, 1), ids, 4)
	grown := saveShards(t, h, random(21, 16, 1), someIDs(21), 4)
	unnamed := saveShards(t, h, c, nil, 4)
	same := slices.Clone(ids)
	same[17] = same[3]
	twice := saveShards(t, h, c, same, 4)
	save := func(h Header, rows int) string {
		path := filepath.Join(t.TempDir(), "shard.hgc")
		if err := os.WriteFile(path, write(t, HGC, h, random(rows, 16, 1), someIDs(rows), 9), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	early, short, whole := h, h, h
	early.Shard, short.Shard = Shard{2, 4, 4, 5, 20, 0}, Shard{4, 4, 15, 4, 20, 0}
	damaged, _ := os.ReadFile(four[1])
	damaged[len(damaged)-60] ^= 1
	broken := filepath.Join(t.TempDir(), "broken.hgc")
	if err := os.WriteFile(broken, damaged, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		paths []string
		code  message.Code // "" where it wraps an error that is there for all
		facts []string
	}{
		{"nothing", nil, "no-files", nil},
		{"gap", []string{four[0], four[1], four[3]}, "shards-missing", []string{"3", "4"}},
		{"overlap", append(slices.Clone(four), five[1]), "other-division", []string{five[1], "5", four[0], "4"}},
		{"twice", append(slices.Clone(four), four[2]), "shard-twice", []string{four[2], four[2], "3", "4"}},
		{"model", []string{four[0], other[1], four[2], four[3]}, "other-model", []string{other[1], "0200000000000000", four[0], "0100000000000000"}},
		{"bits", []string{four[0], longer[1], four[2], four[3]}, "bits-mismatch", []string{longer[1], "24", four[0], "16"}},
		{"data", []string{four[0], grown[1], four[2], four[3]}, "other-data", []string{grown[1], "21", four[0], "20"}},
		{"some ids", []string{four[0], unnamed[1], four[2], four[3]}, "ids-missing", []string{unnamed[1], "5"}},
		{"same id", twice, "duplicate-id", []string{`"item,3\n\"é\""`, "4", twice[0], "3", twice[3]}},
		{"no shard", []string{four[0], save(whole, 5), four[2], four[3]}, "no-shard", []string{"shard.hgc"}},
		{"early", []string{four[0], save(early, 5), four[2], four[3]}, "rows-twice", []string{four[0], "shard.hgc", "4"}},
		{"end", []string{four[0], four[1], four[2], save(short, 4)}, "rows-missing", []string{"shard.hgc", "19", "20"}},
		{"damaged", []string{four[0], broken, four[2], four[3]}, "", []string{broken}},
		{"missing", []string{four[0], four[1], four[2], "none.hgc"}, "", []string{"none.hgc"}},
	} {
		dir := t.TempDir()
		_, err := Merge(context.Background(), c.paths, filepath.Join(dir, "all.hgc"), nil)
		if d := message.Differs(err, c.code, c.facts...); c.code != "" && d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		if errors.Is(err, ErrDamaged) != (c.name == "damaged") || errors.Is(err, fs.ErrNotExist) != (c.name == "missing") {
			t.Errorf("%s: %v", c.name, err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: %v is left", c.name, left)
		}
	}
	stopped, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := Merge(stopped, four, filepath.Join(t.TempDir(), "all.hgc"), nil); err != enough {
		t.Errorf("stopped: %v", err)
	}
}

// TestMergeLeavesOutBadRows: a shard may have fewer codes than rows.
func TestMergeLeavesOutBadRows(t *testing.T) {
	var paths []string
	for number := range 2 {
		path := filepath.Join(t.TempDir(), "part.hgc")
		b := write(t, HGC, Header{Bits: 8, Shard: NewShard(number+1, 2, 10)}, random(3+number, 8, 1), nil, 5)
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	if m, err := Merge(context.Background(), paths, filepath.Join(t.TempDir(), "all.hgc"), nil); err != nil || m.Codes != 7 {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestRepeatsEqualAMap finds repeated ids and compares with a map.
func TestRepeatsEqualAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for trial := range 9 {
		r := repeats{seed: maphash.MakeSeed()}
		places, want := map[string][]int{}, map[int]bool{}
		for i := range 60 {
			id := fmt.Sprint(rng.IntN(40 + 400*(trial%3)))
			places[id] = append(places[id], i)
			r.add(id)
		}
		for _, p := range places {
			for _, at := range p {
				if len(p) > 1 {
					want[at] = true
				}
			}
		}
		if got := r.doubtful(); !maps.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}
