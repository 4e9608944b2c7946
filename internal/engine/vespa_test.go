package engine_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hashgrove/internal/engine"
	"hashgrove/internal/engine/enginetest"
	"hashgrove/internal/fault"
)

// bitsOf is the length of codes of a test of the suite.
func bitsOf(t *testing.T) int {
	for _, bits := range []int{13, 200} {
		if strings.HasSuffix(t.Name(), fmt.Sprintf("/%d_bits", bits)) {
			return bits
		}
	}
	return 64
}

// TestVespaServer runs the suite against a real server, whose application has the schemas hashgrove_test_13,
// hashgrove_test_64 and hashgrove_test_200, as a dry run shows them for codes of so many bits. It removes all their
// documents.
func TestVespaServer(t *testing.T) {
	address := liveServer(t, "HASHGROVE_VESPA")
	enginetest.Run(t, func(t *testing.T) engine.Engine {
		table := fmt.Sprintf("hashgrove_test_%d", bitsOf(t))
		remove := func() {
			for _, path := range []string{
				table + "/docid?cluster=content&selection=" + url.QueryEscape("true"), "hashgrove_tables/docid/" + table,
			} {
				request, err := http.NewRequest(http.MethodDelete, address+"/document/v1/hashgrove/"+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := http.DefaultClient.Do(request)
				if err != nil || answer.StatusCode != 200 {
					t.Fatalf("%s: %v, %v", path, answer, err)
				}
			}
		}
		remove()
		t.Cleanup(remove)
		e, err := engine.Open(t.Context(), engine.Target{URL: "vespa+" + address, Table: table})
		if err != nil {
			t.Fatal(err)
		}
		return e
	})
}

// startVespa is a fake server with schemas for codes of the length of a test, and a table there.
func startVespa(t *testing.T) (*fakeVespa, engine.Engine) {
	v := newFakeVespa(t, bitsOf(t))
	return v, openTable(t, v.address("vespa"), "items")
}

func TestVespa(t *testing.T) {
	runFake(t, func(t *testing.T) engine.Engine {
		_, e := startVespa(t)
		return e
	})
	t.Run("plan", func(t *testing.T) {
		v, e := startVespa(t)
		checkRequests(t, v.fake, e)
	})
	t.Run("refused", func(t *testing.T) {
		v, e := startVespa(t)
		checkRefusedItems(t, e, func(key string) { v.refused = append(v.refused, key) })
	})
}

// TestVespaFaults: puts fail in every way, one here and one there; in the end all items are there once.
func TestVespaFaults(t *testing.T) {
	items := enginetest.Items(300, 64, 7)
	isPut := func(q asked) bool { return strings.HasPrefix(q.path, "/document/v1/hashgrove/items/docid/") }
	t.Run("passing", func(t *testing.T) {
		v, e := startVespa(t)
		var puts atomic.Int32
		faults := []trouble{busy, throttled, dropBefore, dropAfter, torn}
		v.failWith(func(q asked) trouble {
			n := puts.Add(1)
			switch {
			case !isPut(q) || n%7 > 0:
				return healthy
			case n == 140:
				return silent
			}
			return faults[int(n)/7%len(faults)]
		})
		o := engine.PushOptions{Batch: 40, Retries: 100, Wait: time.Millisecond, Timeout: 2 * time.Second}
		r, err := engine.Push(t.Context(), e, items, o)
		if err != nil || r.Written != 300 || r.Checked != 100 || r.Retries == 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		v.failWith(nil)
		checkPushed(t, e, items)
	})
	t.Run("lasting", func(t *testing.T) {
		v, e := startVespa(t)
		var puts atomic.Int32
		v.failWith(func(q asked) trouble {
			if isPut(q) && puts.Add(1) > 120 {
				return dropBefore
			}
			return healthy
		})
		o := engine.PushOptions{
			Batch: 40, Retries: 1, InFlight: 1, Wait: time.Millisecond, Journal: filepath.Join(t.TempDir(), "journal"),
		}
		_, err := engine.Push(t.Context(), e, items, o)
		if !errors.Is(err, engine.ErrTemporary) || fault.Differs(err, "gave-up", " 2 ") != "" {
			t.Fatalf("a server that is away: %v", err)
		}
		v.failWith(nil)
		r, err := engine.Push(t.Context(), e, items, o)
		if err != nil || r.Before != 120 || r.Written != 180 {
			t.Fatalf("%+v, %v", r, err)
		}
		checkPushed(t, e, items)
	})
	t.Run("secrets", func(t *testing.T) {
		v, e := startVespa(t)
		v.handle = func(q asked) (int, any) { return http.StatusUnauthorized, q.header }
		if _, err := e.Info(t.Context()); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a server that tells secrets: %v", err)
		}
	})
}

// TestVespaApplication: what is not deployed, or for other codes, is named before anything is written.
func TestVespaApplication(t *testing.T) {
	for _, bytes := range []int{0, 4} {
		v := newFakeVespa(t, 64)
		v.bytes = bytes
		_, err := openTable(t, v.address("vespa"), "items").Prepare(t.Context(), engine.Space{Bits: 64})
		if fault.Differs(err, "not-deployed", "items") != "" || v.record != nil {
			t.Errorf("a schema for %d bytes: %v", bytes, err)
		}
	}
	v, e := startVespa(t)
	if _, err := e.Prepare(t.Context(), engine.Space{Bits: 64}); err != nil {
		t.Fatal(err)
	}
	v.partly = true
	if _, err := e.Count(t.Context()); !errors.Is(err, engine.ErrTemporary) {
		t.Errorf("a search in a part of the documents: %v", err)
	}
}

// TestNames: tables whose names an engine cannot have are refused before anything is sent.
func TestNames(t *testing.T) {
	for scheme, names := range map[string][]string{
		"milvus":   {"1items", "a-b", ".items", "a.", "a.b.c", "ä", strings.Repeat("a", 300)},
		"weaviate": {"1items", "a-b", "a.b", "äpfel", strings.Repeat("a", 300)},
		"vespa":    {"1items", "a-b", "a.b", "ä", "hashgrove_tables", strings.Repeat("a", 300)},
	} {
		for _, name := range names {
			if _, err := engine.Open(t.Context(), engine.Target{URL: scheme + "+http://localhost:1", Table: name}); err == nil {
				t.Errorf("%s takes the name %.20q", scheme, name)
			}
		}
	}
}
