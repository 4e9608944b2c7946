package engine_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"hashgrove/internal/engine"
	"hashgrove/internal/testkit/searchtest"
)

// TestMilvusServer runs the suite against a real server.
func TestMilvusServer(t *testing.T) {
	address := liveServer(t, "HASHGROVE_MILVUS")
	runLive(t, "milvus", address, func(table string) (*http.Request, error) {
		return http.NewRequest(http.MethodPost, address+"/v2/vectordb/collections/drop",
			strings.NewReader(fmt.Sprintf(`{"collectionName": %q}`, table)))
	})
}

// startMilvus starts a fake server and opens a table there.
func startMilvus(t *testing.T) (*fakeMilvus, engine.Engine) {
	m := newFakeMilvus(t)
	return m, openTable(t, m.address("milvus"), "default.items")
}

func TestMilvus(t *testing.T) {
	runFake(t, nil, func(t *testing.T) engine.Engine {
		_, e := startMilvus(t)
		return e
	})
	t.Run("plan", func(t *testing.T) {
		m, e := startMilvus(t)
		checkRequests(t, m.fake, e, nil)
	})
	t.Run("refused", func(t *testing.T) {
		m, e := startMilvus(t)
		checkRefusedItems(t, e, func(key string) { m.refused = append(m.refused, key) })
	})
	t.Run("faults", func(t *testing.T) {
		checkFaults(t, func(t *testing.T) (*fake, engine.Engine) {
			m, e := startMilvus(t)
			return m.fake, e
		}, func(q asked) bool { return q.path == "/v2/vectordb/entities/upsert" })
	})
}

// TestMilvusReadsAll: a query with a limit may answer with any entities, and in either form.
func TestMilvusReadsAll(t *testing.T) {
	items := searchtest.Items(3500, 64, 9)
	for _, random := range []bool{false, true} {
		m, e := startMilvus(t)
		m.random, m.native = random, random
		if _, err := engine.Push(t.Context(), e, items, engine.PushOptions{}); err != nil {
			t.Fatal(err)
		}
		checkPushed(t, e, items)
	}
}

// TestMilvusCodes: an answer with status 200 may be an error.
func TestMilvusCodes(t *testing.T) {
	m, e := startMilvus(t)
	if _, err := e.Prepare(t.Context(), engine.Space{Bits: 64}); err != nil {
		t.Fatal(err)
	}
	for code, temporary := range map[int]bool{8: true, 1807: true, 65535: false, 1800: false} {
		m.handle = func(asked) (int, any) { return m.says(code, "something happened") }
		err := e.Write(t.Context(), searchtest.Items(3, 64, 1))
		if err == nil || !strings.Contains(err.Error(), "something happened") || !strings.Contains(err.Error(), fmt.Sprint(code)) ||
			errors.Is(err, engine.ErrRefused) || temporary != errors.Is(err, engine.ErrTemporary) {
			t.Errorf("%d: %v", code, err)
		}
	}
}
