package engine_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"hashgrove/internal/engine"
	"hashgrove/internal/engine/enginetest"
	"hashgrove/internal/testkit/needs"
	"hashgrove/internal/testkit/searchtest"
)

// liveServer returns the address of a real server in an environment variable, as http://host:port; without it the test is
// skipped.
func liveServer(t *testing.T, variable string) string {
	address := os.Getenv(variable)
	if address == "" {
		needs.Skip(t, needs.Live, "set", variable, "to the address of a server, such as http://127.0.0.1:8080, to run the "+
			"suite against it; it makes and removes tables of its own")
	}
	return strings.TrimSuffix(address, "/")
}

// runLive runs the suite against a real server; remove deletes a table there.
func runLive(t *testing.T, scheme, address string, remove func(table string) (*http.Request, error)) {
	made := 0
	enginetest.Run(t, func(t *testing.T) engine.Engine {
		made++
		table := fmt.Sprintf("hashgrove_test_%d_%d", time.Now().UnixNano(), made)
		e, err := engine.Open(t.Context(), engine.Target{URL: scheme + "+" + address, Table: table})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			e.Close()
			request, err := remove(table)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			answer, err := http.DefaultClient.Do(request)
			if err != nil || answer.StatusCode/100 != 2 {
				t.Errorf("the table %s could not be removed: %v, %v", table, answer, err)
			}
		})
		return e
	}, searchtest.Abilities{})
}

// TestWeaviateServer runs the suite against a real server.
func TestWeaviateServer(t *testing.T) {
	address := liveServer(t, "HASHGROVE_WEAVIATE")
	runLive(t, "weaviate", address, func(table string) (*http.Request, error) {
		return http.NewRequest(http.MethodDelete, address+"/v1/schema/"+strings.ToUpper(table[:1])+table[1:], nil)
	})
}

// startWeaviate starts a fake server and opens a table there.
func startWeaviate(t *testing.T) (*fakeWeaviate, engine.Engine) {
	w := newFakeWeaviate(t)
	return w, openTable(t, w.address("weaviate"), "items")
}

func TestWeaviate(t *testing.T) {
	runFake(t, nil, func(t *testing.T) engine.Engine {
		_, e := startWeaviate(t)
		return e
	})
	t.Run("plan", func(t *testing.T) {
		w, e := startWeaviate(t)
		checkRequests(t, w.fake, e, nil)
	})
	t.Run("refused", func(t *testing.T) {
		w, e := startWeaviate(t)
		checkRefusedItems(t, e, func(key string) { w.refused = append(w.refused, key) })
	})
	t.Run("faults", func(t *testing.T) {
		checkFaults(t, func(t *testing.T) (*fake, engine.Engine) {
			w, e := startWeaviate(t)
			return w.fake, e
		}, func(q asked) bool { return q.path == "/v1/batch/objects" })
	})
}
