package server_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hashgrove"
	"hashgrove/internal/index"
	"hashgrove/internal/model"
	"hashgrove/internal/model/inside"
	"hashgrove/internal/store"
	"hashgrove/server"
)

// The services of these tests have two collections: shop holds vectors of four numbers with 64-bit codes, labels, tags and
// attributes; photos holds pictures.

const shopItems = 300

// learned are the models of shop and photos, learned once.
var learned = sync.OnceValues(func() (map[string]*model.Model, error) {
	x, labels := shopRows()
	options := hashgrove.Options{Bits: 64, Trees: hashgrove.TreeOptions{Rounds: 3}, FastHash: hashgrove.FastHashOptions{LinearColumns: "off"}}
	shop, err := hashgrove.Train(context.Background(), hashgrove.Rows(x, labels), options)
	if err != nil {
		return nil, err
	}
	pictures, kinds := photoPictures()
	options.Bits = 16
	photos, err := hashgrove.Train(context.Background(), hashgrove.Images(pictures, kinds), options)
	if err != nil {
		return nil, err
	}
	return map[string]*model.Model{"shop": inside.Model(shop), "photos": inside.Model(photos)}, nil
})

// shopRows returns vectors around three points.
func shopRows() (x [][]float32, labels []string) {
	rng := rand.New(rand.NewPCG(4, 4))
	for i := range shopItems {
		row := make([]float32, 4)
		for j := range row {
			row[j] = float32(rng.NormFloat64())/2 + float32((i%3)*(j%2)*2)
		}
		x, labels = append(x, row), append(labels, []string{"boots", "sandals", "hats"}[i%3])
	}
	return x, labels
}

// photoPictures returns pictures in which either the left or the upper half is bright.
func photoPictures() (pictures []image.Image, labels []string) {
	for i := range 40 {
		p := image.NewGray(image.Rect(0, 0, 8, 8))
		for y := range 8 {
			for x := range 8 {
				if i%2 == 0 && x < 4 || i%2 == 1 && y < 4 {
					p.SetGray(x, y, color.Gray{uint8(200 + i)})
				} else {
					p.SetGray(x, y, color.Gray{uint8((x*7 + y*13 + i*29) % 60)})
				}
			}
		}
		pictures, labels = append(pictures, p), append(labels, []string{"left", "upper"}[i%2])
	}
	return pictures, labels
}

func pngBytes(p image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// shopBatch returns the items of shop, with ids from 1 on.
func shopBatch(t testing.TB, m *model.Model) *index.Batch {
	t.Helper()
	b := index.NewBatch(m.Encoder.Bits())
	b.Fingerprint = m.Fingerprint()
	x, labels := shopRows()
	for i, row := range x {
		code, err := m.EncodeRow(row)
		ok(t, err)
		b.Append(index.Item{
			ID: index.Int(int64(i + 1)), Code: code, Label: labels[i], Tags: []string{"tag " + fmt.Sprint(i%5)},
			Attributes: map[string]index.Value{
				"price": index.Number(float64(i % 60)), "maker": index.String([]string{"Grove", "Oak & Co"}[i%2]),
				"since": index.String(fmt.Sprintf("2024-%02d-01", 1+i%12)), "used": index.String(fmt.Sprint(i%4 == 0)),
			},
		})
	}
	b.Append(index.Item{ID: index.Text("shoe/7"), Code: b.Codes.Row(0), Label: "boots"})
	return b
}

// files are what the services read.
type files struct{ shop, vectors, photos, pictures, report string }

// picture returns the id of the item with that picture.
func (f files) picture(name string) string { return f.pictures + "/" + name }

// makeFiles writes them into a folder.
func makeFiles(t testing.TB, dir string) files {
	t.Helper()
	models, err := learned()
	ok(t, err)
	f := files{
		filepath.Join(dir, "shop.hgi"), filepath.Join(dir, "shop.csv"), filepath.Join(dir, "photos.hgi"),
		filepath.Join(dir, "photos.tar"), filepath.Join(dir, "report.html"),
	}
	writeIndex(t, f.shop, models["shop"], shopBatch(t, models["shop"]))
	x, _ := shopRows()
	table := "id,a,b,c,d\n"
	for i, row := range x {
		table += fmt.Sprintf("%d,%v,%v,%v,%v\n", i+1, row[0], row[1], row[2], row[3])
	}
	ok(t, os.WriteFile(f.vectors, []byte(table), 0o600))

	b := index.NewBatch(16)
	b.Fingerprint = models["photos"].Fingerprint()
	pictures, labels := photoPictures()
	var archive bytes.Buffer
	members := tar.NewWriter(&archive)
	for i, p := range pictures {
		code, err := models["photos"].EncodeImage(p)
		ok(t, err)
		name := fmt.Sprintf("%s/p%02d.png", labels[i], i)
		b.Append(index.Item{ID: index.Text(f.picture(name)), Code: code, Label: labels[i]})
		file := pngBytes(p)
		ok(t, members.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(file))}))
		_, err = members.Write(file)
		ok(t, err)
	}
	ok(t, members.Close())
	ok(t, os.WriteFile(f.pictures, archive.Bytes(), 0o600))
	writeIndex(t, f.photos, models["photos"], b)
	ok(t, os.WriteFile(f.report, []byte("<!doctype html><title>Report</title>"), 0o600))
	return f
}

func writeIndex(t testing.TB, path string, m *model.Model, b *index.Batch) {
	t.Helper()
	s, err := store.Create(context.Background(), path, store.Options{Model: m})
	ok(t, err)
	ok(t, s.Add(context.Background(), b))
	ok(t, s.Close())
}

// patience is how long a test waits for anything. It is only there so that a test which waits in vain says what for: on
// a busy machine everything may take a hundred times as long as on an idle one.
const patience = 2 * time.Minute

// until waits for a condition.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("%v have passed without %s", patience, what)
		}
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// service is a service on a real socket of this machine.
type service struct {
	*server.Server
	address string // host and port
	url     string
	client  *http.Client
	log     *logText
	files   files
}

// serve starts a service of shop and photos; change may change its options. It ends with the test.
func serve(t testing.TB, change func(o *server.Options)) *service {
	t.Helper()
	return serveTLS(t, change, nil)
}

func serveTLS(t testing.TB, change func(o *server.Options), config *tls.Config) *service {
	t.Helper()
	s := &service{log: new(logText), files: makeFiles(t, t.TempDir())}
	o := server.Options{
		Collections: []server.CollectionOptions{
			{Name: "shop", Path: s.files.shop, Vectors: s.files.vectors, Report: s.files.report},
			{Name: "photos", Path: s.files.photos, Pictures: s.files.pictures},
		},
		Folder: filepath.Join(t.TempDir(), "made"), Hosts: server.Loopback(), Log: slog.New(slog.NewTextHandler(s.log, nil)), LogAll: true,
	}
	if change != nil {
		change(&o)
	}
	var err error
	s.Server, err = server.New(context.Background(), o)
	ok(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	s.address = l.Addr().String()
	s.url = "http://" + s.address
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100}
	if config != nil {
		s.url = "https://" + s.address
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // signed by itself
		transport.ForceAttemptHTTP2 = true
	}
	s.client = &http.Client{Transport: transport, Timeout: patience}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l, config) }()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		err := <-ended
		if err := errors.Join(err, s.Close()); err != nil {
			t.Errorf("the service ended with %v", err)
		}
	})
	return s
}

// closed reports whether the service takes no more connections.
func (s *service) closed() bool {
	c, err := net.DialTimeout("tcp", s.address, patience)
	if err == nil {
		_ = c.Close()
	}
	return err != nil
}

// reply is an answer whose body was read.
type reply struct {
	*http.Response
	body []byte
}

// call sends a request; header has names and values in turn.
func (s *service) call(method, path, body string, header ...string) (*reply, error) {
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	a, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	return &reply{a, b}, err
}

// must sends a request that is answered with a status, and returns the body.
func (s *service) must(t testing.TB, status int, method, path, body string, header ...string) string {
	t.Helper()
	a, err := s.call(method, path, body, header...)
	ok(t, err)
	if a.StatusCode != status {
		t.Fatalf("%s %s %.200s: status %d, want %d: %.400s", method, path, body, a.StatusCode, status, a.body)
	}
	return string(a.body)
}

// logText collects lines of a log.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

const shop, photos = "/v1/collections/shop", "/v1/collections/photos"

// packFloats packs numbers.
func packFloats(x ...float32) string {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return string(b)
}

// npy returns a NumPy array of float32.
func npy(shape string, x ...float32) string {
	header := "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }"
	header += strings.Repeat(" ", 128-10-len(header)-1) + "\n"
	return "\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(header)))) + header + packFloats(x...)
}

func first[A, B any](a []A, _ B) A { return a[0] }
