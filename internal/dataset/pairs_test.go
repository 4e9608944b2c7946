package dataset

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"

	"hashgrove/internal/supervision"
)

// setWant checks an error: want is what refused takes.
func setWant(t *testing.T, dir string, err error, want string) {
	t.Helper()
	if d := refused(dir, err, want); d != "" {
		t.Error(d)
	}
}

func TestReadPairs(t *testing.T) {
	dir := t.TempDir()
	want := []supervision.Pair{{A: 0, B: 1, Y: 1}, {A: 0, B: 2, Y: -1}, {A: 1, B: 2, Y: 0}}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte("0,1,similar\n2,0,dissimilar\n1,2,unknown\n"))
	_ = z.Close()
	ids := []string{"x", "a,b", `say "hi"`}
	for _, c := range []struct {
		name, content string
		ids           []string
	}{
		{"words", "0,1,similar\n2,0,dissimilar\n1,2,unknown\n", nil},
		{"letters and repetitions", "1,0,S\n0,2,d\n\n2,1,U\r\n0,1,sim\n2,2,s", nil},
		{"numbers", "0,1,+1\n0,2,-1\n2,1,0\n1,0,1", nil},
		{"floats", "0 , 1 , 1.0\n0,2,-1.0\n2,1,0.0", nil},
		{"header", "a,b,y\n0,1,1\n0,2,-1\n2,1,0\n", nil},
		{"mark", "\ufeffa,b,y\n0,1,1\n0,2,-1\n2,1,0\n", nil},
		{"tabs", "left\tright\ty\n0\t1\t1\n0\t2\t-1\n2\t1\t0\n", nil},
		{"gzip", zipped.String(), nil},
		{"ids", `x,"a,b",1` + "\n" + `"say ""hi""" ,x,d` + "\n" + `"a,b", "say ""hi""",u`, ids},
		{"ids with header", "first,second,verdict\n" + `x,"a,b",1` + "\n" + `"say ""hi""",x,d` + "\n" + `"a,b","say ""hi""",u`, ids},
		{"numbers as ids", "30,20,1\n30,10,d\n20,10,u", []string{"30", "20", "10"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &supervision.Data{IDs: c.ids, Rows: 3}
			err := ReadPairs(fileOf(t, dir, "pairs", c.content), d)
			if err != nil || !slices.Equal(d.Pairs, want) {
				t.Errorf("%v %v, want %v", d.Pairs, err, want)
			}
		})
	}
}

func TestReadPairsBetween(t *testing.T) {
	path := fileOf(t, t.TempDir(), "pairs.csv", "query,item,y\n1,x,s\n0,y,d\n0,x,s\n")
	got, err := ReadPairsBetween(path, &supervision.Data{Rows: 2}, &supervision.Data{Rows: 2, IDs: []string{"x", "y"}})
	want := []supervision.Pair{{A: 0, B: 0, Y: 1}, {A: 0, B: 1, Y: -1}, {A: 1, B: 0, Y: 1}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
	// A query and an item of the same number are two rows.
	path = fileOf(t, t.TempDir(), "pairs.csv", "0,0,d\n0,1,s\n1,0,d\n")
	if got, err = ReadPairsBetween(path, &supervision.Data{Rows: 2}, &supervision.Data{Rows: 2}); err != nil || len(got) != 3 {
		t.Errorf("%v %v", got, err)
	}
}

func TestBadPairs(t *testing.T) {
	dir := t.TempDir()
	ids := []string{"x", "y"}
	for _, c := range []struct {
		content string
		ids     []string
		want    string
	}{
		{"0,1,s\n1,0,d\n", nil, "contradiction p: 2 dissimilar 1 similar"},
		{"0,1,s\n\n0,1,s\n0,1,u\n", nil, "contradiction p: 4 unknown 3 similar"},
		{"0,1,s\n0,3,s\n", nil, "no-such-row p: 2 3 0 2"},
		{"0,1,s\n-1,1,s\n", nil, "no-such-row p: 2 -1 0 2"},
		{"0,99999999999999999999,s\n", nil, "no-such-row p: 1 99999999999999999999 0 2"},
		{"0,1,s\nx,1,s\n", nil, `not-a-row-number p: "x" 2`},
		{"a,b,y\na,b,y\n", nil, `unknown-verdict p: "y" 2 similar dissimilar unknown 1 -1 0`},
		{"0,1,alike\n", nil, `unknown-verdict p: "alike" 1 similar dissimilar unknown 1 -1 0`},
		{"0,1,\n", nil, `unknown-verdict p: "" 1 similar dissimilar unknown 1 -1 0`},
		{"0,1\n", nil, "wrong-count p: 1 2 3"},
		{"0,1,s,2\n", nil, "wrong-count p: 1 4 3"},
		{"0\t1\ts\n0,1,s\n", nil, "wrong-count p: 2 1 3"},
		{"1,1,d\n", nil, "dissimilar-to-itself p: 1 1 dissimilar"},
		{"x,y,s\nx,z,s\n", ids, `no-such-id p: "z" 2`},
		{"x,\"y,s\n", ids, "open-quote p: 1"},
		{"x,\"y\"z,s\n", ids, `no-such-id p: "yz" 1`},
	} {
		err := ReadPairs(fileOf(t, dir, "p", c.content), &supervision.Data{IDs: c.ids, Rows: 3})
		setWant(t, dir, err, c.want)
	}
}

func FuzzPairs(f *testing.F) {
	for _, seed := range []string{
		"0,1,similar\n2,0,-1\n", "a,b,y\n\"0\",\"1\",s\n", "0\t1\t0\n", "\"\"\"\",1,s", "\ufeff1,2,u\r\n", "\x1f\x8b\x08",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte, byID bool) {
		var ids []string
		if byID {
			ids = []string{"0", "a,b", `"`}
		}
		path := fileOf(t, dir, "pairs", string(content))
		d := &supervision.Data{IDs: ids, Rows: 3}
		err := ReadPairs(path, d)
		pairs := d.Pairs
		for i, p := range pairs {
			if err != nil || p.A < 0 || p.A >= p.B || p.B > 2 || p.Y < -1 || p.Y > 1 {
				t.Errorf("pair %+v, error %v", p, err)
			}
			if i > 0 && (p.A < pairs[i-1].A || p.A == pairs[i-1].A && p.B <= pairs[i-1].B) {
				t.Errorf("%+v after %+v", p, pairs[i-1])
			}
		}
		if _, err := ReadPairsBetween(path, &supervision.Data{Rows: 3, IDs: ids}, &supervision.Data{Rows: 5}); err != nil && !strings.HasPrefix(err.Error(), path) {
			t.Errorf("an error that does not name the file: %v", err)
		}
	})
}
