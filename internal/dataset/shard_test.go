package dataset

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hashgrove/internal/message"
	"hashgrove/internal/testkit/needs"
)

// shardData is sets of 23 rows or so in every format, in one file or in several.
func shardData(t *testing.T) map[string]Spec {
	t.Helper()
	dir := t.TempDir()
	const rows = 23
	var table, lines, labels, ids strings.Builder
	var values []float32
	var vecs, cifar, packed10, pixels, kinds bytes.Buffer
	var album []string
	table.WriteString("id,label,a,b\n")
	type item struct {
		ID     string    `parquet:"id"`
		Vector []float32 `parquet:"vector"`
	}
	var items []item
	for i := range rows {
		fmt.Fprintf(&table, "\"r\n%d\",c%d,%d,0.5\n", i, i%3, i)
		fmt.Fprintf(&lines, "{\"id\": \"r%d\", \"tags\": [\"t%d\"], \"vector\": [%d, 2, 3]}\n\n", i, i%2, i)
		fmt.Fprintf(&labels, "c%d\n", i%4)
		fmt.Fprintf(&ids, "r%d\n", i)
		values = append(values, float32(i), 1, 2)
		vecs.WriteString("\x02\x00\x00\x00" + float32s(float32(i), 3))
		cifar.WriteString(string([]byte{byte(i % 10)}) + strings.Repeat(string([]byte{byte(i + 1)}), cifarPixels))
		pixels.WriteString(string([]byte{byte(i), 1, 2, 3}))
		kinds.WriteByte(byte(i % 5))
		album = append(album, fmt.Sprintf("%c/%02d.png", 'a'+i/12, i), tone(uint8(i)))
		items = append(items, item{fmt.Sprint("r", i), []float32{float32(i), 4}})
	}
	packed10.WriteString(gzipped(cifar.String()))
	array := npyOf("<f4", false, "23, 3", float32s(values...))
	save := func(name, content string) string { return fileOf(t, dir, name, content) }
	one := func(name, content string) Spec { return Spec{Paths: []string{save(name, content)}} }
	beside := one("beside.npy", array)
	beside.LabelsFile = []string{save("labels.txt", labels.String())}
	beside.IDsFile = []string{save("ids.txt", ids.String())}
	vec := one("a.fvecs.gz", gzipped(vecs.String()))
	vec.Format = "fvecs"
	save("t-labels-idx1-ubyte", idxOf(8, kinds.String(), rows))
	album = append(album, "b/bad.png", "no picture")
	several := Spec{Paths: []string{save("1.npy", array), save("2.npy", array), save("3.npy", array)}}
	mixed := Spec{Paths: []string{save("1.csv", "a,b,c\n1,2,3\n4,x,6\n"), save("2.csv", "a,b,c\n7,8,9\n1,1,1\n5,5,5\n")}, SkipBad: true}
	pictures := one("zoo.tar", tarOf(album...))
	pictures.SkipBad, pictures.Size = true, 2
	return map[string]Spec{
		"npy": one("a.npy", array), "npy.gz": one("b.npy.gz", gzipped(array)), "beside": beside, "several": several,
		"fortran": one("f.npy", npyOf("<f4", true, "23, 3", float32s(values...))),
		"npz":     one("a.npz", npzOf(0, "x.npy", array)),
		"csv":     one("a.csv", table.String()), "csv.gz": one("a.csv.gz", gzipped(table.String())),
		"tsv":   one("a.tsv", strings.ReplaceAll(table.String(), ",", "\t")),
		"jsonl": one("a.jsonl", lines.String()),
		"fvecs": one("a.fvecs", vecs.String()), "fvecs.gz": vec,
		"cifar": one("data_batch_1.bin", cifar.String()), "cifar.gz": one("data_batch_2.bin.gz", packed10.String()),
		"idx":     one("t-images-idx3-ubyte", idxOf(8, pixels.String(), rows, 2, 2)),
		"parquet": one("a.parquet", parquetOf(items)),
		"mixed":   mixed, "tar": pictures,
	}
}

// TestShardsMakeTheWhole: the rows of all shards, with what belongs to them, are those of the set, in its order.
func TestShardsMakeTheWhole(t *testing.T) {
	type row struct {
		setRow
		place int
	}
	read := func(s *Set) (rows []row, bad []string) {
		for c, err := range s.Chunks(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.X.Rows {
				r := row{setRow{x: fmt.Sprint(c.X.Row(i))}, c.Places[i]}
				if c.Labels != nil {
					r.label = c.Labels[i]
				}
				if c.IDs != nil {
					r.id = c.IDs[i]
				}
				if c.Tags != nil {
					r.tags = strings.Join(c.Tags[i], " ")
				}
				rows = append(rows, r)
			}
		}
		_, errs := s.Bad()
		for _, err := range errs {
			bad = append(bad, err.Error())
		}
		return rows, bad
	}
	for name, spec := range shardData(t) {
		if spec.Format == "" && spec.Size > 0 {
			spec.Threads = 2
		}
		want, wantBad := read(setOpen(t, spec))
		if len(want) == 0 {
			t.Fatalf("%s: no rows", name)
		}
		for _, of := range []int{1, 2, 5, 40} {
			var got []row
			var gotBad []string
			next := 0
			for number := range of {
				s := setOpen(t, spec)
				shard, err := s.TakeShard(context.Background(), number+1, of)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if shard.First != next || !spec.SkipBad && s.Rows() != shard.Rows {
					t.Errorf("%s: %v after row %d, a set of %d rows", name, shard, next, s.Rows())
				}
				next += shard.Rows
				rows, bad := read(s)
				if again, _ := read(s); !slices.Equal(again, rows) {
					t.Errorf("%s: %v: other rows in a second pass", name, shard)
				}
				got, gotBad = append(got, rows...), append(gotBad, bad...)
			}
			if !slices.Equal(got, want) || !slices.Equal(gotBad, wantBad) {
				t.Errorf("%s in %d shards:\n%v %v\nwant\n%v %v", name, of, got, gotBad, want, wantBad)
			}
		}
	}
}

// TestShardIsAllThatIsRead: a bad row elsewhere does not matter, and a file far too large to be read is no obstacle.
func TestShardIsAllThatIsRead(t *testing.T) {
	nan := npyOf("<f4", false, "4, 1", float32s(1, 2)+"\x00\x00\xc0\x7f"+float32s(4))
	path := fileOf(t, t.TempDir(), "nan.npy", nan)
	for number, fails := range []bool{false, false, true, false} {
		s := setOpen(t, Spec{Paths: []string{path}})
		if _, err := s.TakeShard(context.Background(), number+1, 4); err != nil {
			t.Fatal(err)
		}
		rows, err := setRead(t, s)
		if (err != nil) != fails || !fails && len(rows) != 1 {
			t.Errorf("shard %d: %v, %v", number+1, rows, err)
		}
		if fails {
			setWant(t, filepath.Dir(path), err, "no-value set:Missing at:nan.npy:3:1")
		}
	}
	const size = 1 << 38 // reading 256 GB takes minutes, even of a file that has none of them on disk
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for name, head := range map[string]string{
		"large.npy":   npyOf("<f4", false, fmt.Sprintf("%d, 1024", size/4096), ""),
		"large.bvecs": "\x0c\x00\x00\x00",
	} {
		path := fileOf(t, t.TempDir(), name, head)
		if err := os.Truncate(path, size+int64(len(head))*min(1, int64(strings.Count(name, "npy")))); err != nil {
			needs.Skip(t, needs.Sparse, err)
		}
		spec := Spec{Paths: []string{path}}
		if filepath.Ext(name) == ".bvecs" && strconv.IntSize == 32 { // more rows than an int can count
			if _, err := Open(spec); !message.Is(err, "needs-64-bits") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		s := setOpen(t, spec)
		shard, err := s.TakeShard(ctx, 1<<19, 1<<19)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for c, e := range s.Chunks(ctx) {
			if rows, err = rows+c.X.Rows, e; err != nil {
				break
			}
		}
		if filepath.Ext(name) == ".bvecs" { // the lengths of its rows are zeros
			setWant(t, filepath.Dir(path), err, fmt.Sprintf("wrong-dim %s %d 0", name, shard.First+1))
		} else if err != nil || rows != shard.Rows {
			t.Errorf("%s: %d rows of %v, %v", name, rows, shard, err)
		}
	}
}

func TestShardMistakes(t *testing.T) {
	path := fileOf(t, t.TempDir(), "a.csv", "1,2\n3,4\n")
	labels := fileOf(t, t.TempDir(), "labels.txt", "a\nb\nc\n")
	for _, c := range []struct {
		spec       Spec
		number, of int
		want       string
	}{
		{Spec{Paths: []string{path}}, 0, 3, "no-such-shard 0 3 1 1048576"},
		{Spec{Paths: []string{path}}, 4, 3, "no-such-shard 4 3 1 1048576"},
		{Spec{Paths: []string{path}}, 1, 0, "no-such-shard 1 0 1 1048576"},
		{Spec{Paths: []string{path}}, 1, 1 << 21, "no-such-shard 1 2097152 1 1048576"},
		{Spec{Paths: []string{path}, LabelsFile: []string{labels}}, 1, 2, "wrong-count labels.txt 3 labels 2"},
		{Spec{Paths: []string{"-"}, Once: true, Stdin: strings.NewReader("[1]\n")}, 1, 2, "read-once"},
	} {
		_, err := setOpen(t, c.spec).TakeShard(context.Background(), c.number, c.of)
		setWant(t, filepath.Dir(labels), err, c.want)
	}
	s := setOpen(t, Spec{Paths: []string{path}})
	if _, err := s.TakeShard(context.Background(), 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("1,2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := setRead(t, s); !message.Is(err, "file-changed") {
		t.Errorf("a row has gone: %v", err)
	}
}
