package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"hashgrove/internal/hamming"
	"hashgrove/internal/store"
	"hashgrove/internal/testkit/needs"
)

// output is what a command prints, while it prints it.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// served is a service that runs.
type served struct {
	url      string
	out, err *output
	stop     func() int // returns the exit status
}

// servingLine has the address of the service and a command to try.
var servingLine = regexp.MustCompile(`(?m)^.*?(https?://\S+) .*(curl .*)$`)

// startServe runs serve on a free port until the test ends. It returns nil when the command ends at once.
func startServe(t *testing.T, args ...string) (*served, int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &served{out: &output{}, err: &output{}}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, strings.NewReader(""), s.out, s.err, append(args, "--listen", "127.0.0.1:0"))
	}()
	s.stop = sync.OnceValue(func() int {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { s.stop() })
	for range 1200 {
		if found := servingLine.FindStringSubmatch(s.out.String()); found != nil {
			s.url = found[1]
			return s, 0
		}
		select {
		case code := <-ended:
			ended <- code
			return nil, code
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatalf("the service did not start: %s%s", s.out, s.err)
	return nil, 0
}

// serveOnce starts a service as an example of the help says, asks it, and stops it.
func serveOnce(t *testing.T, args []string) {
	t.Helper()
	s, code := startServe(t, args...)
	if s == nil {
		t.Fatalf("hashgrove %s: exit %d", strings.Join(args, " "), code)
	}
	r, err := http.Get(s.url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Errorf("hashgrove %s: not ready: %d", strings.Join(args, " "), r.StatusCode)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("hashgrove %s: exit %d after it was stopped: %s", strings.Join(args, " "), code, s.err)
	}
}

// TestServeSession starts the service as docs/serve.md does, and sends the requests that stand there.
func TestServeSession(t *testing.T) {
	needs.Check(t, "learns the demo's data")
	sessions := blocks(t, "../../docs/serve.md", "sh")
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	shop := "kind,width,height\n"
	for i := range 90 {
		shop += fmt.Sprintf("kind %d,%d,%d\n", i%3, i%3*20+i%7, i%5-i%3*9)
	}
	write(t, "shop.csv", shop)
	var s *served
	asked := 0
	for _, session := range sessions {
		for line := range strings.Lines(session) {
			words := shellWords(strings.TrimSpace(line))
			switch {
			case len(words) > 1 && words[0] == "hashgrove":
				if s, _ = startServe(t, words[1:]...); s == nil {
					t.Fatalf("%s ended", line)
				}
				words = shellWords(servingLine.FindStringSubmatch(s.out.String())[2])
				fallthrough
			case words[0] == "curl":
				if status, b := curl(t, s.url, words[1:]); status/100 != 2 {
					t.Errorf("%s: status %d: %s", line, status, b)
				}
				asked++
			default:
				t.Errorf("%q is no command", line)
			}
		}
	}
	if asked < 8 {
		t.Errorf("%d requests", asked)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("exit %d: %s", code, s.err)
	}
	learned := func() fs.FileInfo {
		info, err := os.Stat(cacheFolder("serve", "clothes-look.hgm"))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	first := learned()
	serveOnce(t, []string{"serve"})
	if second := learned(); !os.SameFile(first, second) || !second.ModTime().Equal(first.ModTime()) {
		t.Error("the second start has learned again")
	}
}

// curl sends the request that a command line of curl says, to a service at another address.
func curl(t *testing.T, base string, words []string) (int, []byte) {
	t.Helper()
	method, header, address, file := "GET", http.Header{}, "", ""
	var body io.Reader
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "-X":
			i++
			method = words[i]
		case "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			header.Set(name, value)
		case "-d":
			i++
			body = strings.NewReader(words[i])
			if method == "GET" {
				method = "POST"
			}
		case "-T":
			i++
			b, err := os.ReadFile(words[i])
			if err != nil {
				t.Fatal(err)
			}
			body = bytes.NewReader(b)
		case "-o":
			i++
			file = words[i]
		default:
			address = words[i]
		}
	}
	address = strings.Replace(address, "http://127.0.0.1:8080", base, 1)
	r, err := http.NewRequest(method, address, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err == nil && file != "" {
		err = os.WriteFile(file, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, b
}

// serveShop makes an index to serve.
func serveShop(t *testing.T) {
	t.Helper()
	shop(t)
	succeed(t, "train", "items.csv", "--label", "category", "--id-column", "sku", "--effort", "paper", "--rounds", "5", "--bits", "8", "-o", "items.hgm")
	succeed(t, "index", "build", "items.csv", "--label", "category", "--id-column", "sku", "-m", "items.hgm", "-o", "items.hgi")
}

func TestServeMistakes(t *testing.T) {
	serveShop(t)
	write(t, "short.txt", "short\n")
	write(t, "token.txt", "a-token-of-many-characters\n")
	for _, c := range []struct {
		args, want string // see unlike
		is         error
	}{
		{"serve nowhere.hgi", "1 - nowhere.hgi", fs.ErrNotExist},
		{"serve items.csv", "1 - items.csv", hamming.ErrKind},
		{"serve items.hgi --log loud", "2 bad-flag-value --log loud all changes errors off", nil},
		{"serve items.hgi --tls-cert a.pem", "2 missing-flag --tls-cert --tls-key", nil},
		{"serve items.hgi --token-file short.txt", "2 bad-token --token-file short.txt 16", nil},
		{"serve items.hgi --token-file nowhere.txt", "1 - --token-file nowhere.txt", fs.ErrNotExist},
		{"serve items.hgi --token-file token.txt --read-token-file token.txt",
			"2 same-token --token-file --read-token-file", nil},
		{"serve items.hgi --cors shop", "2 bad-flag-value --cors shop https://", nil},
		{"serve items.hgi --pictures items.csv", "1 - items.csv pictures", nil},
		{"serve items.hgi --vectors nowhere.csv", "1 - nowhere.csv", nil},
		{"serve items.hgi --vectors items.csv", "1 - items.csv ids", nil},
		{"serve a=items.hgi b=items.hgi --vectors items.csv", "2 which-collection --vectors items.csv NAME=DATA", nil},
		{"serve a=items.hgi a=items.hgi", "1 -", nil},
		{"serve a=items.hgi b=items.hgi", "1 - items.hgi", store.ErrLocked},
		{"serve ../x=items.hgi", `1 - "../x" 64`, nil},
		{"serve --vectors items.csv", "2 no-index", nil},
		{"serve items.hgi --report nowhere.html", "1 - nowhere.html", fs.ErrNotExist},
	} {
		if d := try(t, append(strings.Fields(c.args), "--listen", "127.0.0.1:0")...).unlike(c.want, c.is); d != "" {
			t.Errorf("%s: %s", c.args, d)
		}
	}
	if d := try(t, "serve", "items.hgi", "--listen", "8080").unlike("2 bad-flag-value --listen 8080"); d != "" {
		t.Errorf("a port alone: %s", d)
	}
}

func TestServeTokens(t *testing.T) {
	serveShop(t)
	write(t, "token.txt", "a-token-of-many-characters\n")
	s, _ := startServe(t, "serve", "items.hgi", "--read-token-file", "token.txt", "--vectors", "items.csv", "--id-column", "sku", "--log", "all")
	if s == nil {
		t.Fatal("it ended")
	}
	shown := regexp.MustCompile(`(?m)^[^/]* ([A-Za-z0-9_-]{16,})$`).FindStringSubmatch(s.out.String())
	if shown == nil {
		t.Fatalf("no token was made: %s", s.out)
	}
	ask := func(method, path, token string) int {
		words := []string{"-X", method, s.url + path}
		if token != "" {
			words = append([]string{"-H", "Authorization: Bearer " + token}, words...)
		}
		status, _ := curl(t, s.url, words)
		return status
	}
	const item = "/v1/collections/items/items/items-7"
	for _, c := range []struct {
		method, token string
		status        int
	}{
		{"GET", "", 401}, {"GET", "a-token-of-many-characters", 200}, {"DELETE", "a-token-of-many-characters", 403},
		{"DELETE", shown[1], 200}, {"GET", shown[1], 404},
	} {
		if got := ask(c.method, item, c.token); got != c.status {
			t.Errorf("%s with %q: status %d, want %d", c.method, c.token, got, c.status)
		}
	}
	if log := s.err.String(); strings.Contains(log, shown[1]) || strings.Contains(log, "a-token-of") || !strings.Contains(log, "status=403") {
		t.Errorf("the log: %s", log)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("exit %d: %s", code, s.err)
	}
	succeed(t, "verify", "items.hgi")
}

// TestServedFileIsLocked: other programs do not write to the file of a running service.
func TestServedFileIsLocked(t *testing.T) {
	serveShop(t)
	if s, _ := startServe(t, "serve", "shop=items.hgi"); s == nil {
		t.Fatal("it ended")
	}
	o := try(t, "index", "delete", "items.hgi", "--id", "items-7")
	if d := o.unlike("1 - items.hgi --wait --server backup", store.ErrLocked); d != "" {
		t.Errorf("changing the file of a running service: %s", d)
	}
}

// TestDeployedUnitNamesRealFlags checks the command line of the systemd unit.
func TestDeployedUnitNamesRealFlags(t *testing.T) {
	for _, name := range []string{"hashgrove.service", "Containerfile"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		flags := (&app{}).serve().Flags()
		for _, flag := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(string(text), -1) {
			if flags.Lookup(flag[1]) == nil {
				t.Errorf("%s names --%s, which serve does not have", name, flag[1])
			}
		}
	}
}

// TestDeployedUnitIsTight: systemd rates how much of the machine the service could reach, from 0 to 10.
func TestDeployedUnitIsTight(t *testing.T) {
	needs.Check(t, "calls systemd-analyze")
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		needs.Skip(t, needs.Systemd, err)
	}
	unit, err := filepath.Abs(filepath.Join("..", "..", "deploy", "hashgrove.service"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=29", unit).CombinedOutput()
	if err != nil {
		t.Errorf("more than 2.9: %v\n%s", err, out)
	}
}

// TestServeCollections starts with an empty folder instead of an index; collections created in it are there again later.
func TestServeCollections(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "made")
	shop(t)
	succeed(t, "train", "items.csv", "--label", "category", "--id-column", "sku", "--effort", "paper", "--rounds", "5", "--bits", "8", "-o", "items.hgm")
	file, err := os.ReadFile("items.hgm")
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{http.MethodPut, http.MethodGet, http.MethodDelete} {
		s, code := startServe(t, "serve", "--collections", folder, "--no-train")
		if s == nil {
			t.Fatalf("exit status %d", code)
		}
		r, err := http.NewRequest(method, s.url+"/v1/collections/shop", nil)
		if err != nil {
			t.Fatal(err)
		}
		if method == http.MethodPut {
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(file)), int64(len(file))
			r.Header.Set("Content-Type", "application/octet-stream")
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(a.Body)
		_ = a.Body.Close()
		if a.StatusCode != http.StatusOK {
			t.Errorf("%s: %s, %s", method, a.Status, text)
		}
		if code := s.stop(); code != 0 {
			t.Errorf("%s: exit status %d, %s", method, code, s.err)
		}
	}
}

// TestCollectionArgument: what stands before an equals sign is a name, unless all of it is a file. The letter of a drive
// makes no difference.
func TestCollectionArgument(t *testing.T) {
	t.Chdir(t.TempDir())
	there := filepath.Join("run=3", "flowers.hgi")
	if err := os.Mkdir("run=3", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(there, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	whole, err := filepath.Abs(there)
	if err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string][2]string{
		"shop=x.hgi":         {"shop", "x.hgi"},
		"x.hgi":              {"x", "x.hgi"},
		`shop=C:\data\x.hgi`: {"shop", `C:\data\x.hgi`},
		"shop=C:/a=b/x.hgi":  {"shop", "C:/a=b/x.hgi"},
		"../shop=x.hgi":      {"../shop", "x.hgi"}, // which is no name, and refused later
		"./" + there:         {"flowers", "./" + there},
		whole:                {"flowers", whole},
	} {
		if name, path := collectionArgument(arg); name != want[0] || path != want[1] {
			t.Errorf("%s: %q at %q", arg, name, path)
		}
	}
}
