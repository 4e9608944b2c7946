package worker

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/testkit/budgettest"
	"hashgrove/internal/vectors"
)

// peer is a program that uses a worker.
type peer struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *io.PipeReader
	done chan error
	last uint64
}

func start(t *testing.T) *peer {
	in, toWorker := io.Pipe()
	fromWorker, out := io.Pipe()
	p := &peer{t: t, in: toWorker, out: fromWorker, done: make(chan error, 1)}
	go func() {
		p.done <- Serve(context.Background(), in, out, 1)
		out.Close()
	}()
	t.Cleanup(func() { p.in.Close() })
	return p
}

// send sends a request and returns its number.
func (p *peer) send(op string, params any, arrays ...Array) uint64 {
	p.t.Helper()
	p.last++
	text, err := json.Marshal(params)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := writeFrame(p.in, request{ID: p.last, Op: op, Params: text, Arrays: arrays}, arrays); err != nil {
		p.t.Fatal(err)
	}
	return p.last
}

// reply is an answer that crossed the pipe.
type reply struct {
	ID       uint64          `json:"id"`
	Progress json.RawMessage `json:"progress"`
	Result   json.RawMessage `json:"result"`
	Error    *failure        `json:"error"`
	arrays   []Array
}

func (p *peer) next() (r reply) {
	p.t.Helper()
	head, arrays, err := readFrame(p.out, 1<<30)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := json.Unmarshal(head, &r); err != nil {
		p.t.Fatal(err)
	}
	r.arrays = arrays
	return r
}

// ask sends a request and waits for its answer, past all progress.
func (p *peer) ask(to any, op string, params any, arrays ...Array) reply {
	p.t.Helper()
	id := p.send(op, params, arrays...)
	for {
		r := p.next()
		if r.ID != id {
			p.t.Fatalf("an answer to %d instead of %d", r.ID, id)
		}
		if r.Progress != nil {
			continue
		}
		if r.Error == nil && to != nil {
			if err := json.Unmarshal(r.Result, to); err != nil {
				p.t.Fatalf("%s: %v", r.Result, err)
			}
		}
		return r
	}
}

// must is ask for what has to work.
func (p *peer) must(to any, op string, params any, arrays ...Array) []Array {
	p.t.Helper()
	r := p.ask(to, op, params, arrays...)
	if r.Error != nil {
		p.t.Fatalf("%s: %+v", op, r.Error)
	}
	return r.arrays
}

func floatArray(x vectors.Matrix) Array { return arrayOf(x.Data, x.Rows, x.Cols) }

func clouds(n int) (x vectors.Matrix, labels []string) {
	rng := rand.New(rand.NewPCG(1, 2))
	x = vectors.Matrix{Rows: n, Cols: 4}
	for i := range n {
		for j := range x.Cols {
			x.Data = append(x.Data, float32(rng.NormFloat64())/2+float32((i%3)*(j%2)*2))
		}
		labels = append(labels, []string{"boots", "sandals", "hats"}[i%3])
	}
	return x, labels
}

func listOf(x vectors.Matrix) (rows [][]float32) {
	for i := range x.Rows {
		rows = append(rows, x.Row(i))
	}
	return rows
}

var quick = hashgrove.Options{Bits: 16, Trees: hashgrove.TreeOptions{Rounds: 3}, FastHash: hashgrove.FastHashOptions{LinearColumns: "off"}}

// TestSameBytes: what the worker makes is what the library makes, byte for byte.
func TestSameBytes(t *testing.T) {
	ctx, p := context.Background(), start(t)
	x, labels := clouds(300)
	own, err := hashgrove.Train(ctx, hashgrove.Rows(listOf(x), labels), quick)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := model.Write(&want, inside.Model(own)); err != nil {
		t.Fatal(err)
	}
	var made struct {
		About  aboutModel     `json:"about"`
		Report map[string]any `json:"report"`
	}
	params := map[string]any{"options": quick, "classes": labels}
	a := p.must(&made, "train", params, floatArray(x))
	if !bytes.Equal(a[0].data, want.Bytes()) || made.About.Fingerprint != own.Fingerprint() {
		t.Fatal("another model than the library's")
	}
	var loaded aboutModel
	p.must(&loaded, "load", nil, arrayOf(want.Bytes()))
	codes, err := own.EncodeAll(ctx, listOf(x))
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range []uint64{made.About.Model, loaded.Model} {
		a = p.must(nil, "encode", map[string]any{"model": number}, floatArray(x))
		for i, code := range codes {
			if !bytes.Equal(a[0].data[2*i:2*i+2], code) {
				t.Fatalf("row %d has another code", i)
			}
		}
	}
	margins, err := inside.Model(own).Margins(ctx, x, 1)
	if err != nil {
		t.Fatal(err)
	}
	if a = p.must(nil, "encode", map[string]any{"model": loaded.Model, "margins": true}, floatArray(x)); !slices.Equal(valuesOf[float32](&a[0]), margins.Data) {
		t.Error("other margins")
	}
	p.must(nil, "hello", nil)
	if r := p.ask(nil, "encode", map[string]any{"model": 99}, floatArray(x)); r.Error == nil || r.Error.Code != "not_found" {
		t.Errorf("a model that is not there: %+v", r.Error)
	}
}

// TestIndexOfWorker: vectors that come as an array are those of the items, and what is in a file is saved to another. The
// state machine of package store writes to an index of the worker and searches it.
func TestIndexOfWorker(t *testing.T) {
	p := start(t)
	x, labels := clouds(90)
	own, err := hashgrove.Train(t.Context(), hashgrove.Rows(listOf(x), labels), quick)
	if err != nil {
		t.Fatal(err)
	}
	bytesOf, _ := file(own.Model)
	var m aboutModel
	p.must(&m, "load", nil, bytesOf)
	name, ids := "shop", make([]int, x.Rows)
	for i := range ids {
		ids[i] = i
	}
	ask := func(to any, method, path string, body any, vectors ...Array) {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		params := map[string]any{"method": method, "path": "/v1/collections/" + name + path,
			"headers": map[string]string{"Content-Type": "application/json"}}
		var head struct{ Status int }
		a := p.must(&head, "http", params, append([]Array{arrayOf(text)}, vectors...)...)
		if err := json.Unmarshal(a[0].data, to); err != nil || head.Status != 200 {
			t.Fatalf("%s %s: %+v, %v, %s", method, path, head, err, a[0].data)
		}
	}
	p.must(nil, "index", map[string]any{"name": name, "model": m.Model, "path": filepath.Join(t.TempDir(), "shop.hgi")})
	ask(new(any), "POST", "/items", map[string]any{"ids": ids, "labels": labels, "mode": "add"}, floatArray(x))
	p.must(nil, "vectors", map[string]any{"name": name, "ids": ids}, floatArray(x))
	copied := filepath.Join(t.TempDir(), "copy.hgi")
	for _, name = range []string{"shop", "copy"} {
		if name == "copy" {
			p.must(nil, "save", map[string]any{"name": "shop", "path": copied})
			p.must(nil, "index", map[string]any{"name": name, "path": copied})
		}
		var got api.Answer
		ask(&got, "POST", "/search", &api.Request{Query: api.Query{ID: "3"}, Options: api.Options{K: new(90)}})
		if r := got.Results[0]; len(r.Hits) != 90 || r.Hits[0].Distance != 0 || r.Label != labels[3] {
			t.Errorf("%s: %+v", name, got.Results)
		}
	}
}

// TestClaimedArrays: a head may claim what it likes, and memory is taken for what arrives.
func TestClaimedArrays(t *testing.T) {
	for _, kind := range []Type{Float32, Uint8, Int32, Int64} {
		head := fmt.Sprintf(`{"arrays":[{"type":%q,"shape":[%d]}]}`, kind, int64(1)<<36)
		frame := append(binary.LittleEndian.AppendUint32([]byte(magic), uint32(len(head))), head...)
		budgettest.Within(t, 64*budgettest.MiB, func() {
			if _, _, err := readFrame(bytes.NewReader(append(frame, 1, 2, 3)), maxFrame); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: %v", kind, err)
			}
		})
	}
	x := floatArray(vectors.Matrix{Rows: 3, Cols: atOnce / 4, Data: make([]float32, 3*atOnce/4)})
	for i := range valuesOf[float32](&x) {
		valuesOf[float32](&x)[i] = float32(i)
	}
	var b bytes.Buffer
	if err := writeFrame(&b, map[string]any{"arrays": []Array{x}}, []Array{x}); err != nil {
		t.Fatal(err)
	}
	if _, a, err := readFrame(&b, maxFrame); err != nil || !slices.Equal(a[0].data, x.data) {
		t.Errorf("a large array changes on its way: %v", err)
	}
}

// TestRefusals: an error has a code and a sentence, and the worker goes on.
func TestRefusals(t *testing.T) {
	p := start(t)
	x, labels := clouds(60)
	bad := vectors.Matrix{Rows: x.Rows, Cols: x.Cols, Data: slices.Clone(x.Data)}
	bad.Data[4*7+2] = float32(math.NaN())
	for _, c := range []struct {
		op     string
		params any
		arrays []Array
		code   string
		fact   string
	}{
		{"dance", nil, nil, "unsupported", "dance"},
		{"train", map[string]any{"options": map[string]any{"roundz": 3}}, nil, "invalid", "roundz"},
		{"train", map[string]any{"options": map[string]any{"loss": "none"}, "classes": labels}, []Array{floatArray(x)}, "", "none"},
		{"train", map[string]any{"classes": labels}, []Array{floatArray(bad)}, "not-finite", "row 7"},
		{"train", map[string]any{"classes": labels[1:]}, []Array{floatArray(x)}, "", "59 labels"},
		{"train", map[string]any{"tags": [][]string{{"a"}}}, []Array{floatArray(x)}, "", "1 sets of tags"},
		{"train", map[string]any{"classes": append([]string{" "}, labels[1:]...)}, []Array{floatArray(x)}, "invalid", "row 0"},
		{"train", map[string]any{"classes": labels}, nil, "bad-frame", "vectors"},
		{"train", map[string]any{"options": quick}, []Array{floatArray(x)}, "", ""},
		{"load", nil, []Array{arrayOf([]byte("nonsense"))}, "", ""},
		{"index", map[string]any{"name": "x", "path": filepath.Join(t.TempDir(), "none.hgi")}, nil, "", "none.hgi"},
	} {
		r := p.ask(nil, c.op, c.params, c.arrays...)
		if r.Error == nil || c.code != "" && string(r.Error.Code) != c.code || !strings.Contains(r.Error.Message, c.fact) {
			t.Errorf("%s %v: %+v", c.op, c.params, r.Error)
		}
	}
	p.must(nil, "hello", nil)
}

// TestCancel: a request can be ended, and so can the worker in the middle of one.
func TestCancel(t *testing.T) {
	p := start(t)
	x, labels := clouds(1000)
	params := map[string]any{"options": hashgrove.Options{Bits: 1024, Effort: "quick"}, "classes": labels}
	id := p.send("train", params, floatArray(x))
	if r := p.next(); r.ID != id || r.Progress == nil {
		t.Fatalf("%+v", r)
	}
	p.send("cancel", map[string]any{"request": id})
	for {
		r := p.next()
		if r.Progress != nil {
			continue
		}
		if r.Error == nil || r.Error.Code != "canceled" {
			t.Fatalf("%+v", r.Error)
		}
		break
	}
	p.send("train", params, floatArray(x))
	p.next()
	p.in.Close()
	go io.Copy(io.Discard, p.out)
	if err := <-p.done; err != nil {
		t.Fatal(err)
	}
}

// FuzzFrame: whatever arrives is a frame or an error, in memory that follows from what arrived.
func FuzzFrame(f *testing.F) {
	var b bytes.Buffer
	head := request{ID: 1, Op: "encode", Arrays: []Array{arrayOf([]byte{1, 2, 3}, 1, 3), arrayOf([]int64{5})}}
	if err := writeFrame(&b, head, head.Arrays); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("HGW1\x02\x00\x00\x00{}"))
	f.Add([]byte(`HGW1` + "\x2c\x00\x00\x00" + `{"arrays":[{"type":"f4","shape":[99999,9]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, arrays, err := readFrame(bytes.NewReader(b), 1<<16)
		for i := range arrays {
			if _, err := arrays[i].matrix(); err == nil && len(arrays[i].Shape) != 2 {
				t.Error("a matrix without two dimensions")
			}
		}
		if err == nil && len(b) < 8 {
			t.Error("a frame of fewer than eight bytes")
		}
		if errors.Is(err, io.EOF) && len(b) > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("an early end is no end: %v", err)
		}
	})
}
