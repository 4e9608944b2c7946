package engine

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Qdrant 1.16 or later. A table is a collection whose vectors have +1 for a set bit and -1 for a clear one: their dot
// product is bits - 2 distance, an integer that a float32 represents exactly. For codes with detail, queries have +8
// and -8 for bits of the class, so that the product tells the weighted distance. Searches are exact, without the
// graph and the quantized vectors; both are there for searches of your own. Binary quantization keeps one bit per
// number in memory, which is the code itself, and the numbers stay on disk.
//
//	point id            the id if it is a non-negative integer, else a UUID made from its text
//	id, id_number       in the payload: the id, and its value if it is an integer
//	label, tags         keywords
//	attributes          an object of numbers and texts
//	metadata            of the collection: bits, fingerprint and a random identity
//
// Hits of equal score come in no order, so a search asks for more until the last tie is complete, and sorts by id.

// qdrant is the engine for Qdrant.
type qdrant struct {
	*rest
	table    string
	identity string // of a collection that we create
	shape
}

var qdrantDialect = dialect{
	name: "Qdrant", variables: []string{"QDRANT_API_KEY"},
	authorize: func(h http.Header, _, secret string) { h.Set("Api-Key", secret) },
}

func openQdrant(t Target) (Engine, error) {
	if strings.ContainsAny(t.Table, "<>:\"/\\|?*\x00\x1f") || len(t.Table) > 255 || strings.Trim(t.Table, ".") == "" {
		return nil, fmt.Errorf("%q is not a valid collection name: at most 255 bytes, without < > : \" / \\ | ? *", t.Table)
	}
	client, err := openRest(t, qdrantDialect)
	if err != nil {
		return nil, err
	}
	q := &qdrant{rest: client, table: t.Table}
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	q.identity = hex.EncodeToString(random)
	return q, nil
}

// path returns a path below the collection.
func (q *qdrant) path(of string) string { return "/collections/" + url.PathEscape(q.table) + of }

// creation is the request that creates the collection.
func (q *qdrant) creation(s Space) request {
	r := newRequest("PUT", q.path(""), dsl{
		"vectors":             dsl{"size": s.Bits, "distance": "Dot", "on_disk": true},
		"quantization_config": dsl{"binary": dsl{"always_ram": true}},
		"metadata": dsl{"hashgrove": dsl{
			"bits": s.Bits, "fingerprint": s.Fingerprint.Full(), "identity": q.identity,
		}},
	})
	var indented bytes.Buffer
	if json.Indent(&indented, r.body, "", "  ") == nil {
		r.body = indented.Bytes()
	}
	return r
}

// qdrantFields are the indexed fields of the payload.
var qdrantFields = []struct{ name, schema string }{
	{"id_number", "integer"}, {"label", "keyword"}, {"tags", "keyword"},
}

// indexing is the request that creates an index on a field.
func (q *qdrant) indexing(name, schema string) request {
	return newRequest("PUT", q.path("/index?wait=true"), dsl{"field_name": name, "field_schema": schema})
}

// Plan implements Engine.
func (q *qdrant) Plan(s Space) []Statement {
	example := index.NewBatch(s.Bits)
	example.Append(index.Item{
		ID: index.Int(17), Code: make([]uint64, (s.Bits+63)/64), Label: "boots", Tags: []string{"sale"},
		Attributes: map[string]index.Value{"price": index.Number(30)},
	})
	of := s.shape()
	points, _ := q.points(of, example)
	filter, _ := qdrantFilter{}.condition(index.And(index.Label("boots"), index.Tag("sale")))
	search := q.search(of, -1, filter, of.weightedSigns(example.Codes, 0), 10)
	how := "distance = (bits - score) / 2"
	if of.detail > 0 {
		how = fmt.Sprintf("the first %d numbers are +%d or -%d, the others +1 or -1; distance = (%d - score) / %d bits",
			of.class(), repeats, repeats, of.wide(), 2*repeats)
	}
	quick := dsl{"query": of.weightedSigns(example.Codes, 0), "limit": 10, "with_payload": true}
	list := []Statement{
		{"look at the server", newRequest("GET", "/", nil).String(), true},
		{"look at the collection", newRequest("GET", q.path(""), nil).String(), true},
		{"make the collection, where there is none; its identity is random", q.creation(s).String(), true},
	}
	for _, f := range qdrantFields {
		list = append(list, Statement{"make an index for filters", q.indexing(f.name, f.schema).String(), true})
	}
	return append(list,
		Statement{"write a batch; this one has one item", q.upsert(points).String(), true},
		Statement{"search exactly, with the code of your query; " + how,
			newRequest("POST", q.path("/points/query"), search).String(), false},
		Statement{"search with the graph, nearly exactly",
			newRequest("POST", q.path("/points/query"), quick).String(), false},
	)
}

// qdrantCollection is the service's description of a collection.
type qdrantCollection struct {
	Result struct {
		Config struct {
			Params struct {
				Vectors struct {
					Size     int    `json:"size"`
					Distance string `json:"distance"`
				} `json:"vectors"`
			} `json:"params"`
			Metadata struct {
				Hashgrove *struct {
					Bits        int    `json:"bits"`
					Fingerprint string `json:"fingerprint"`
					Identity    string `json:"identity"`
				} `json:"hashgrove"`
			} `json:"metadata"`
		} `json:"config"`
		Schema map[string]struct {
			Type string `json:"data_type"`
		} `json:"payload_schema"`
	} `json:"result"`
}

// Info implements Engine.
func (q *qdrant) Info(ctx context.Context) (Info, error) {
	info, _, err := q.info(ctx)
	return info, err
}

// info is Info, plus the collection.
func (q *qdrant) info(ctx context.Context) (info Info, c qdrantCollection, err error) {
	info = Info{Table: q.table, Exact: true}
	var root struct {
		Version string `json:"version"`
	}
	if err := q.call(ctx, newRequest("GET", "/", nil), &root); err != nil {
		return info, c, err
	}
	info.Engine = "Qdrant " + q.clean(root.Version)
	var major, minor int
	if n, _ := fmt.Sscanf(root.Version, "%d.%d", &major, &minor); n != 2 || major < 1 || major == 1 && minor < 16 {
		return info, c, fmt.Errorf("%s is too old, or not Qdrant: version 1.16 or later is needed", info.Engine)
	}
	err = q.call(ctx, newRequest("GET", q.path(""), nil), &c)
	if hasStatus(err, http.StatusNotFound) {
		return info, c, fmt.Errorf("%w: %s", ErrNoTable, q.table)
	}
	if err != nil {
		return info, c, err
	}
	meta, vectors := c.Result.Config.Metadata.Hashgrove, c.Result.Config.Params.Vectors
	if meta == nil || meta.Bits <= 0 {
		return info, c, fault.New("foreign-table", "the collection %s exists, but was not made by Hashgrove: "+
			"name another table", q.table)
	}
	if vectors.Size != meta.Bits || vectors.Distance != "Dot" {
		return info, c, fmt.Errorf("the vectors of %s have %d numbers and the distance %s instead of %d and Dot",
			q.table, vectors.Size, q.clean(vectors.Distance), meta.Bits)
	}
	info.Bits, info.Identity = meta.Bits, meta.Identity
	if info.Fingerprint, err = hamming.ParseFingerprint(meta.Fingerprint); err != nil {
		return info, c, err
	}
	q.shape = info.shape()
	return info, c, nil
}

// Prepare implements Engine.
func (q *qdrant) Prepare(ctx context.Context, s Space) (Info, error) {
	info, c, err := q.info(ctx)
	if errors.Is(err, ErrNoTable) {
		err = q.call(ctx, q.creation(s), nil)
		if err == nil || hasStatus(err, http.StatusConflict) { // another push was faster
			info, c, err = q.info(ctx)
		}
	}
	if err != nil {
		return Info{}, err
	}
	if err := info.Accept(s); err != nil {
		return Info{}, err
	}
	for _, f := range qdrantFields {
		if c.Result.Schema[f.name].Type == f.schema {
			continue
		}
		if err := q.call(ctx, q.indexing(f.name, f.schema), nil); err != nil {
			return Info{}, err
		}
	}
	return info, nil
}

// qdrantSpace is the namespace of the UUIDs made from ids.
var qdrantSpace = [16]byte{
	0x2f, 0x0c, 0x6a, 0x3b, 0x5d, 0x1e, 0x5c, 0x52, 0x9e, 0x0b, 0x7a, 0x44, 0x86, 0x1d, 0x93, 0x70,
}

// pointID returns the id of a point: non-negative integers stay, others become a name-based UUID (version 5, RFC
// 9562).
func pointID(id index.ID) any {
	if n, ok := id.Integer(); ok && n >= 0 {
		return n
	}
	h := sha1.New()
	h.Write(qdrantSpace[:])
	h.Write([]byte(id.String()))
	u := h.Sum(nil)[:16]
	u[6], u[8] = u[6]&0x0f|0x50, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
