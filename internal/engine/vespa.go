package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"hashgrove/internal/fault"
	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Vespa 8.293 or later, over document/v1 and search. A code is a tensor<int8>(x[n]) whose bytes hold 8 bits each, the
// first the highest, under the distance-metric hamming. nearestNeighbor with approximate:false reads every code, so a
// search is exact.
//
//	items              key (the id), code, label, tags, attributes (as JSON), terms (for our filters, as hashes)
//	hashgrove_tables   which model made the codes of each table
//
// Schemas belong to an application package, which its owner deploys; a plan shows the files. A document has our id, so
// a put replaces it and may be sent again. There are no transactions: when a batch fails some documents may be there.

// vespa is the engine for Vespa.
type vespa struct {
	*rest
	table    string
	identity string // of a table that is made
	workers  int    // puts of a batch at the same time
	bits     int    // of the table, once that is known
}

const (
	vespaSpace  = "hashgrove"        // the namespace of all documents
	vespaTables = "hashgrove_tables" // the document type of the records
	vespaMost   = 10000              // maxHits of the query profile
	vespaID     = 4096               // bytes of an id, which is part of a URL
)

var vespaSkill = skill{most: vespaMost}

func openVespa(t Target) (Engine, error) {
	if !simpleName.MatchString(t.Table) || len(t.Table) > 100 || t.Table == vespaTables {
		return nil, fmt.Errorf("%q is no name of a document type of Vespa: use letters, digits and _, with a letter first",
			t.Table)
	}
	const workers = 8
	t.InFlight *= workers // a document is small
	r, err := openRest(t, dialect{name: "Vespa", variables: []string{"VESPA_TOKEN"}, authorize: bearer})
	if err != nil {
		return nil, err
	}
	return &vespa{rest: r, table: t.Table, identity: rand.Text(), workers: workers}, nil
}

// schema is the schema of the table.
func (v *vespa) schema(s Space) string {
	bytes := (s.Bits + 7) / 8
	text := func(name, kind string) string {
		return fmt.Sprintf(`    field %s type %s {
      indexing: summary | attribute
      attribute: fast-search
      match: cased
      rank: filter
      dictionary {
        hash
        cased
      }
    }
`, name, kind)
	}
	return fmt.Sprintf(`schema %s {
  document %s {
%s%s%s%s    field attributes type string {
      indexing: summary
    }
    field code type tensor<int8>(x[%d]) {
      indexing: summary | attribute
      attribute {
        distance-metric: hamming
      }
    }
  }
  rank-profile hamming {
    inputs {
      query(q) tensor<int8>(x[%d])
    }
    first-phase {
      expression: closeness(field, code)
    }
    match-features: distance(field, code)
  }
}`, v.table, v.table, text("key", "string"), text("label", "string"), text("tags", "array<string>"),
		text("terms", "array<string>"), bytes, bytes)
}

// tablesSchema is the schema of the records.
const tablesSchema = `schema hashgrove_tables {
  document hashgrove_tables {
    field bits type int {
      indexing: summary | attribute
    }
    field fingerprint type string {
      indexing: summary | attribute
    }
    field identity type string {
      indexing: summary | attribute
    }
  }
}`

// services are the parts of services.xml that are needed.
func (v *vespa) services() string {
	return fmt.Sprintf(`<container id="default" version="1.0">
  <search/>
  <document-api/>
</container>
<content id="content" version="1.0">
  <min-redundancy>1</min-redundancy>
  <documents>
    <document type="%s" mode="index"/>
    <document type="hashgrove_tables" mode="index"/>
  </documents>
</content>`, v.table)
}

// queryProfile lets a search give more hits.
var queryProfile = fmt.Sprintf(`<query-profile id="default">
  <field name="maxHits">%d</field>
</query-profile>`, vespaMost)

// document is the path of a document.
func vespaDocument(kind, id string) string {
	return "/document/v1/" + vespaSpace + "/" + kind + "/docid/" + url.PathEscape(id)
}

// vespaCode is a code: hex digits where it is sent, and a list of signed bytes in answers.
type vespaCode []byte

// MarshalJSON writes hex digits.
func (c vespaCode) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"values":"%X"}`, []byte(c)), nil
}

// UnmarshalJSON reads a tensor in one of the forms that answers may have.
func (c *vespaCode) UnmarshalJSON(text []byte) error {
	var tensor struct{ Values json.RawMessage }
	if len(text) > 0 && text[0] == '{' {
		if err := json.Unmarshal(text, &tensor); err != nil {
			return err
		}
		text = tensor.Values
	}
	var digits string
	if len(text) > 0 && text[0] == '"' {
		if err := json.Unmarshal(text, &digits); err != nil {
			return err
		}
		var err error
		*c, err = hex.DecodeString(digits)
		return err
	}
	var cells []float64
	if err := json.Unmarshal(text, &cells); err != nil {
		return err
	}
	*c = make(vespaCode, len(cells))
	for i, x := range cells {
		(*c)[i] = byte(int8(x))
	}
	return nil
}

// vespaFields are those of an item.
type vespaFields struct {
	Key        string    `json:"key"`
	Code       vespaCode `json:"code"`
	Label      string    `json:"label,omitempty"`
	Tags       []string  `json:"tags,omitempty"`
	Attributes string    `json:"attributes,omitempty"`
	Terms      []string  `json:"terms,omitempty"`
}

// vespaTerm is a term as the table has it: a hash, so that no rule of how texts match can touch it.
func vespaTerm(term string) string {
	sum := sha256.Sum256([]byte(term))
	return hex.EncodeToString(sum[:16])
}

// idTerm is the term of the item with an id.
func idTerm(id string) string { return vespaTerm("id " + id) }

// put is the request that writes an item. Its body is a line of a feed, too.
func (v *vespa) put(b *index.Batch, row int) (request, error) {
	f, err := v.fields(b, row)
	if err != nil {
		return request{}, err
	}
	return newRequest(http.MethodPost, vespaDocument(v.table, f.Key), struct {
		Put    string      `json:"put"`
		Fields vespaFields `json:"fields"`
	}{vespaName(v.table, f.Key), f}), nil
}

// vespaName is the name of a document of a type.
func vespaName(kind, id string) string { return fmt.Sprintf("id:%s:%s::%s", vespaSpace, kind, id) }

// fields are the fields of an item.
func (v *vespa) fields(b *index.Batch, row int) (vespaFields, error) {
	it := b.Item(row)
	if err := checkTexts(v.name, it, index.MaxText, vespaID); err != nil {
		return vespaFields{}, err
	}
	f := vespaFields{Key: it.ID.String(), Code: b.Codes.AppendBytes(nil, row), Label: it.Label, Tags: it.Tags}
	f.Terms = []string{idTerm(f.Key)}
	for _, term := range terms(it) {
		f.Terms = append(f.Terms, vespaTerm(term))
	}
	if len(it.Attributes) > 0 {
		f.Attributes = string(marshal(it.Attributes))
	}
	return f, nil
}

// vespaRecord is the record of a table.
type vespaRecord struct {
	Bits        int    `json:"bits"`
	Fingerprint string `json:"fingerprint"`
	Identity    string `json:"identity"`
}

// record is the request that notes which model made the codes.
func (v *vespa) record(s Space) request {
	return newRequest(http.MethodPost, vespaDocument(vespaTables, v.table), map[string]vespaRecord{
		"fields": {s.Bits, s.Fingerprint.Full(), v.identity},
	})
}

// Plan implements Engine.
func (v *vespa) Plan(s Space) []Statement {
	sample := sampleItem(s)
	write, err := v.put(sample, 0)
	if err != nil {
		panic(err)
	}
	return []Statement{
		{"the file schemas/" + v.table + ".sd of your application package, which is yours to deploy", v.schema(s), false},
		{"the file schemas/hashgrove_tables.sd of your application package", tablesSchema, false},
		{"parts of services.xml of your application package", v.services(), false},
		{"the file search/query-profiles/default.xml of your application package", queryProfile, false},
		{"check that the application is deployed", v.probe(s).String(), true},
		{"record the model, where there is no record", v.record(s).String(), true},
		{"write an item; the items of a batch are sent one by one, several at a time", write.String(), true},
		{"search with the bytes of the code of your query as signed numbers",
			v.near(sample.Codes, 0, 10, `label contains "boots"`).String(), false},
	}
}

// probe is a search that finds out whether the schema is deployed for codes of so many bits.
func (v *vespa) probe(s Space) request { return v.near(hamming.NewCodes(1, s.Bits), 0, 1, "") }

// Info implements Engine.
func (v *vespa) Info(ctx context.Context) (Info, error) {
	var answer struct{ Fields vespaRecord }
	err := v.call(ctx, newRequest(http.MethodGet, vespaDocument(vespaTables, v.table), nil), &answer)
	switch {
	case hasStatus(err, http.StatusNotFound):
		return Info{}, fmt.Errorf("%w: %s", ErrNoTable, v.table)
	case hasStatus(err, http.StatusBadRequest):
		return Info{}, v.undeployed(err)
	case err != nil:
		return Info{}, err
	}
	r := answer.Fields
	info := Info{Engine: "Vespa", Table: v.table, Identity: r.Identity, Exact: true, Space: Space{Bits: r.Bits}}
	if info.Fingerprint, err = hamming.ParseFingerprint(r.Fingerprint); err != nil || r.Bits < 1 {
		return Info{}, fmt.Errorf("the record of the table %s cannot be read: %w", v.table,
			cmp.Or(err, errors.New("it has no bits")))
	}
	v.bits = info.Bits
	return info, nil
}

// undeployed is the error of an application that lacks our schemas.
func (v *vespa) undeployed(err error) error {
	return fault.New("not-deployed", "the application in Vespa has no schema %s for these codes: "+
		"deploy the files that a dry run shows: %w", v.table, err)
}

// Prepare implements Engine. Schemas are deployed by the application's owner; it checks that they are.
func (v *vespa) Prepare(ctx context.Context, s Space) (Info, error) {
	info, err := v.Info(ctx)
	if err != nil && !errors.Is(err, ErrNoTable) {
		return Info{}, err
	}
	made := err == nil
	if made {
		if err := info.Accept(s); err != nil {
			return Info{}, err
		}
	}
	if _, err := v.find(ctx, v.probe(s)); err != nil {
		if hasStatus(err, http.StatusBadRequest, http.StatusNotFound) {
			err = v.undeployed(err)
		}
		return Info{}, err
	}
	if made {
		return info, nil
	}
	if err := v.call(ctx, v.record(s), nil); err != nil {
		return Info{}, err
	}
	if info, err = v.Info(ctx); err != nil { // someone else may have been faster
		return Info{}, err
	}
	return info, info.Accept(s)
}

// Write implements Engine, but for all or none: when it fails, some items may be there. They are replaced by id, so
// calling it again is harmless.
func (v *vespa) Write(ctx context.Context, b *index.Batch) error {
	order, err := orderOf(b, v.bits)
	if err != nil {
		return err
	}
	puts := make([]request, len(order))
	for i, r := range order {
		if puts[i], err = v.put(b, r); err != nil {
			return err
		}
	}
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan request)
	var workers sync.WaitGroup
	for range v.workers {
		workers.Go(func() {
			for q := range next {
				if err := v.send(inner, q); err != nil {
					stop(refusedItems(err)) // the first counts: those after it are cancellations
				}
			}
		})
	}
	for _, q := range puts {
		if inner.Err() != nil {
			break
		}
		next <- q
	}
	close(next)
	workers.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return context.Cause(inner)
}

// send sends a put, and some times more where Vespa is busy: it refuses puts one by one when it gets too many.
func (v *vespa) send(ctx context.Context, q request) error {
	for try, wait := 1, 20*time.Millisecond; ; try, wait = try+1, 2*wait {
		err := v.call(ctx, q, nil)
		if try == 5 || !errors.Is(err, ErrTemporary) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// Count implements Engine.
func (v *vespa) Count(ctx context.Context) (int, error) {
	answer, err := v.find(ctx, v.query("key", "true", 0, nil))
	return answer.Fields.TotalCount, err
}

// Search implements Engine.
func (v *vespa) Search(ctx context.Context, q Query) ([][]index.Hit, error) {
	return vespaSkill.search(ctx, v, v.bits, q)
}

// Read implements Engine. It holds all matching items in memory.
func (v *vespa) Read(ctx context.Context, f index.Filter, take func(*index.Batch) error) error {
	return readOrdered(ctx, v, v.bits, f, take)
}
