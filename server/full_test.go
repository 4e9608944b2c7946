//go:build linux

package server_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hashgrove/internal/store"
	"hashgrove/internal/testkit/needs"
)

// TestDiskFull fills the disk on which a served index lies, which only root can do: mount a small one.
func TestDiskFull(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		needs.Skip(t, needs.Mount, "cannot mount a small file system:", err)
	}
	t.Cleanup(func() {
		var err error
		for range 600 {
			if err = syscall.Unmount(dir, 0); err == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Error(err)
	})
	path, ballast := filepath.Join(dir, "shop.hgi"), filepath.Join(dir, "ballast")
	ok(t, os.WriteFile(ballast, make([]byte, 256<<10), 0o600))
	s, err := store.Create(t.Context(), path, store.Options{Bits: 64})
	ok(t, err)
	ok(t, s.Close())
	p := run(t, path, "--log", "errors")
	put := func(id int) *reply {
		body := fmt.Sprintf(`{"code":"%016x","label":"%s"}`, id, strings.Repeat("x", 2000))
		a, err := p.call("PUT", fmt.Sprintf("%s/items/%d", shop, id), body)
		ok(t, err)
		return a
	}
	have, refused := 0, 0
	for id := 1; id < 3000 && refused < 10; id++ {
		a := put(id)
		switch a.StatusCode {
		case http.StatusOK:
			have++
		case http.StatusInsufficientStorage:
			refused++
			if !strings.Contains(string(a.body), "full") {
				t.Errorf("a full disk says %s", a.body)
			}
			p.must(t, 404, "GET", fmt.Sprintf("%s/items/%d", shop, id), "")
			p.must(t, 200, "POST", shop+"/search", `{"id":1,"k":3}`)
		default:
			t.Fatalf("a full disk: status %d: %s", a.StatusCode, a.body)
		}
	}
	if refused < 10 || have < 10 {
		t.Fatalf("%d writes, %d refused", have, refused)
	}
	if text := p.must(t, 200, "GET", shop, ""); !strings.Contains(text, fmt.Sprintf(`"items":%d,`, have)) {
		t.Errorf("want %d items: %.300s", have, text)
	}
	if a, err := p.call("POST", shop+"/delete", `{"ids":[1]}`); err != nil || a.StatusCode != 507 && a.StatusCode != 200 {
		t.Errorf("deleting on a full disk: %v, %v", a, err)
	} else if a.StatusCode == 200 {
		have--
	}
	p.must(t, 200, "GET", "/readyz", "")
	ok(t, os.Remove(ballast))
	for id := 5001; id <= 5020; id++ {
		if a := put(id); a.StatusCode != 200 {
			t.Fatalf("with room again: %d, %s", a.StatusCode, a.body)
		}
		have++
	}
	p.kill(t)
	again := run(t, path)
	if text := again.must(t, 200, "GET", shop, ""); !strings.Contains(text, fmt.Sprintf(`"items":%d,`, have)) {
		t.Errorf("after a restart, want %d items: %.300s", have, text)
	}
	again.stop(t)
	t.Logf("%d writes before the disk was full, %d refused with 507", have, refused)
}
