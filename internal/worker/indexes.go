package worker

import (
	"cmp"
	"encoding/json"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/fault"
)

// aboutIndex describes an index that the worker holds.
type aboutIndex struct {
	Index       uint64 `json:"index"` // its number
	Items       int    `json:"items"`
	Bits        int    `json:"bits,omitempty"`
	DetailBits  int    `json:"detail_bits,omitempty"`
	Dim         int    `json:"dim,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Rank        string `json:"rank,omitempty"`
}

// about describes an index. One without a model says only how many items it has.
func about(n uint64, ix *hashgrove.Index) aboutIndex {
	a := aboutIndex{Index: n, Items: ix.Len()}
	if m := ix.Model(); m != nil {
		x := m.Expert()
		a.Bits, a.DetailBits, a.Dim, a.Fingerprint, a.Rank = m.Bits(), x.DetailBits(), x.Dim(), m.Fingerprint(), x.Rank()
	}
	return a
}

// createIndex makes an empty index, in memory or, with a path, in a new file.
func (c *call) createIndex() (any, []Array, error) {
	var p struct {
		Model uint64 `json:"model"`
		Path  string `json:"path,omitempty"`
	}
	if err := c.read(&p); err != nil {
		return nil, nil, err
	}
	m, err := thing[*hashgrove.Model](c.server, p.Model)
	if err != nil {
		return nil, nil, err
	}
	var ix *hashgrove.Index
	if p.Path == "" {
		ix, err = hashgrove.NewIndex(c.ctx, m, nil)
	} else {
		ix, err = hashgrove.CreateIndex(c.ctx, p.Path, m, nil)
	}
	if err != nil {
		return nil, nil, err
	}
	return about(c.keep(ix), ix), nil, nil
}

// openIndex opens an index in a file and returns it with the bytes of its model, if it has one.
func (c *call) openIndex() (any, []Array, error) {
	var p struct {
		Path string `json:"path"`
	}
	if err := c.read(&p); err != nil {
		return nil, nil, err
	}
	ix, err := hashgrove.OpenIndex(c.ctx, p.Path)
	if err != nil {
		return nil, nil, err
	}
	var arrays []Array
	if m := ix.Model(); m != nil {
		b, err := file(m)
		if err != nil {
			return nil, nil, cmp.Or(err, ix.Close())
		}
		arrays = []Array{b}
	}
	return about(c.keep(ix), ix), arrays, nil
}

// onIndex reads the parameters of a call and returns the index that they name.
func (c *call) onIndex(number *uint64, params any) (*hashgrove.Index, error) {
	if err := c.read(params); err != nil {
		return nil, err
	}
	return thing[*hashgrove.Index](c.server, *number)
}

// saveIndex writes an index to a new file.
func (c *call) saveIndex() (any, []Array, error) {
	var p struct {
		Index uint64 `json:"index"`
		Path  string `json:"path"`
	}
	ix, err := c.onIndex(&p.Index, &p)
	if err != nil {
		return nil, nil, err
	}
	return about(p.Index, ix), nil, ix.Save(c.ctx, p.Path)
}

// closeIndex closes an index.
func (c *call) closeIndex() (any, []Array, error) {
	var p struct {
		Index uint64 `json:"index"`
	}
	ix, err := c.onIndex(&p.Index, &p)
	if err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	delete(c.things, p.Index)
	c.mu.Unlock()
	return aboutIndex{Index: p.Index}, nil, ix.Close()
}

// indexInfo describes an index.
func (c *call) indexInfo() (any, []Array, error) {
	var p struct {
		Index uint64 `json:"index"`
	}
	ix, err := c.onIndex(&p.Index, &p)
	if err != nil {
		return nil, nil, err
	}
	return about(p.Index, ix), nil, nil
}

// put writes items: their vectors, or their codes, are the array.
func (c *call) put() (any, []Array, error) {
	var p struct {
		Index      uint64           `json:"index"`
		IDs        []api.ID         `json:"ids"`
		Codes      bool             `json:"codes,omitempty"` // the array has codes
		Labels     []string         `json:"labels,omitempty"`
		Tags       [][]string       `json:"tags,omitempty"`
		Attributes []map[string]any `json:"attributes,omitempty"`
		Mode       string           `json:"mode,omitempty"` // upsert or add
	}
	ix, err := c.onIndex(&p.Index, &p)
	if err != nil {
		return nil, nil, err
	}
	x, err := c.array(0, "vectors or codes of the items")
	if err != nil {
		return nil, nil, err
	}
	d, err := x.items(p.Codes)
	if err != nil {
		return nil, nil, err
	}
	d = d.WithIDs(texts(p.IDs))
	if p.Labels != nil {
		d = d.WithLabels(p.Labels)
	}
	if p.Tags != nil {
		d = d.WithTags(p.Tags)
	}
	if p.Attributes != nil {
		d = d.WithAttributes(p.Attributes)
	}
	write := ix.Upsert
	switch p.Mode {
	case "", "upsert":
	case "add":
		write = ix.Add
	default:
		return nil, nil, api.Errorf(api.ErrInvalid, "mode = %.40q: choose upsert or add", p.Mode)
	}
	if err := write(c.ctx, d); err != nil {
		return nil, nil, err
	}
	return map[string]int{"written": len(p.IDs), "items": ix.Len()}, nil, nil
}

// setVectors keeps the vectors of items, which are the array, so that searches can rerank and explain.
func (c *call) setVectors() (any, []Array, error) {
	var p struct {
		Index uint64   `json:"index"`
		IDs   []api.ID `json:"ids"`
	}
	ix, err := c.onIndex(&p.Index, &p)
	if err != nil {
		return nil, nil, err
	}
	x, err := c.array(0, "vectors of the items")
	if err != nil {
		return nil, nil, err
	}
	d, err := x.items(false)
	if err != nil {
		return nil, nil, err
	}
	return about(p.Index, ix), nil, ix.SetVectors(c.ctx, d.WithIDs(texts(p.IDs)))
}

// texts returns ids as texts.
func texts(ids []api.ID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = string(id)
	}
	return list
}

// items returns the rows of an array as items of an index.
func (a *Array) items(codes bool) (*hashgrove.Data, error) {
	if !codes {
		x, err := a.matrix()
		list := make([][]float32, x.Rows)
		for i := range list {
			list[i] = x.Row(i)
		}
		return hashgrove.Vectors(list), err
	}
	list, err := a.codes()
	return hashgrove.Codes(list), err
}

// codes returns the rows of an array as codes.
func (a *Array) codes() ([]hashgrove.Code, error) {
	if len(a.Shape) != 2 || a.Type != Uint8 {
		return nil, fault.New("bad-frame", "codes are an array of two dimensions of the type u1")
	}
	list := make([]hashgrove.Code, a.Shape[0])
	for i := range list {
		list[i] = a.bytes[i*a.Shape[1] : (i+1)*a.Shape[1] : (i+1)*a.Shape[1]]
	}
	return list, nil
}

// search searches for vectors or codes, which are the array, or for the queries of the request. The arrays of the
// answer are the numbers of hits (i4), then of all hits one after the other: distances (i4), distances of detail and
// weighted distances where codes have them (i4), and ids (i8) where all are integers. Last comes the answer as JSON
// (u1), unless no fields are wanted.
func (c *call) search() (any, []Array, error) {
	var p struct {
		Index   uint64      `json:"index"`
		Codes   bool        `json:"codes,omitempty"` // the array has codes
		Request api.Request `json:"request"`
	}
	ix, err := c.onIndex(&p.Index, &p)
	if err != nil {
		return nil, nil, err
	}
	if len(c.arrays) > 0 {
		if p.Request.Queries, err = c.arrays[0].queries(p.Codes); err != nil {
			return nil, nil, err
		}
	}
	a, err := ix.Search(c.ctx, &p.Request)
	if err != nil {
		return nil, nil, err
	}
	result, arrays := foundArrays(a)
	if p.Request.Fields == nil || len(p.Request.Fields) > 0 || p.Request.Explain {
		b, err := a.AppendJSON(nil)
		if err != nil {
			return nil, nil, err
		}
		result["answer"], arrays = true, append(arrays, byteArray(b))
	}
	return result, arrays, nil
}

// queries returns the rows of an array as queries.
func (a *Array) queries(codes bool) ([]api.Query, error) {
	if codes {
		rows, err := a.codes()
		list := make([]api.Query, len(rows))
		for i := range list {
			list[i].PackedCode = rows[i]
		}
		return list, err
	}
	x, err := a.matrix()
	list := make([]api.Query, x.Rows)
	for i := range list {
		list[i].Vector = x.Row(i)
	}
	return list, err
}

// foundArrays returns the hits of an answer as arrays, and which of them there are.
func foundArrays(a *api.Answer) (map[string]any, []Array) {
	n := 0
	for i := range a.Results {
		n += len(a.Results[i].Hits)
	}
	counts := make([]int32, len(a.Results))
	distance, detail, weighted := make([]int32, 0, n), make([]int32, 0, n), make([]int32, 0, n)
	whole, ids := make([]int64, 0, n), make([]api.ID, 0, n)
	for i := range a.Results {
		counts[i] = int32(len(a.Results[i].Hits))
		for j := range a.Results[i].Hits {
			h := &a.Results[i].Hits[j]
			distance, ids = append(distance, int32(h.Distance)), append(ids, h.ID)
			if h.DetailDistance != nil {
				detail = append(detail, int32(*h.DetailDistance))
			}
			if h.MarginDistance != nil {
				weighted = append(weighted, int32(*h.MarginDistance))
			}
			if id, ok := h.ID.Integer(); ok {
				whole = append(whole, id)
			}
		}
	}
	result := map[string]any{
		"rank": a.Rank, "fingerprint": a.Fingerprint, "items": a.Items, "bits": a.Bits,
		"seconds": a.Seconds, "doubts": a.Doubts,
		"detail": len(detail) == n && n > 0, "weighted": len(weighted) == n && n > 0, "whole": len(whole) == n,
	}
	arrays := []Array{int32Array(counts), int32Array(distance)}
	if result["detail"] == true {
		arrays = append(arrays, int32Array(detail))
	}
	if result["weighted"] == true {
		arrays = append(arrays, int32Array(weighted))
	}
	if len(whole) == n {
		arrays = append(arrays, Array{Type: Int64, Shape: []int{n}, int64s: whole})
	} else {
		result["ids"] = ids
	}
	return result, arrays
}

func int32Array(list []int32) Array { return Array{Type: Int32, Shape: []int{len(list)}, int32s: list} }

// explain says why an item is near a query. A vector to search for is the array.
func (c *call) explain() (any, []Array, error) {
	var p struct {
		Index   uint64             `json:"index"`
		Request api.ExplainRequest `json:"request"`
	}
	ix, err := c.onIndex(&p.Index, &p)
	if err != nil {
		return nil, nil, err
	}
	if len(c.arrays) > 0 {
		x, err := c.vectors(0)
		if err != nil {
			return nil, nil, err
		}
		p.Request.Query.Vector = x.Data
	}
	why, err := ix.Explain(c.ctx, p.Request.Query, p.Request.ID)
	return why, nil, err
}

// item returns an item by its id.
func (c *call) item() (any, []Array, error) {
	var p struct {
		Index uint64 `json:"index"`
		ID    api.ID `json:"id"`
	}
	ix, err := c.onIndex(&p.Index, &p)
	if err != nil {
		return nil, nil, err
	}
	it, err := ix.Get(p.ID)
	return it, nil, err
}

// items returns a page of the items that match a filter, in the order of ids.
func (c *call) items() (any, []Array, error) {
	var p struct {
		Index uint64  `json:"index"`
		Where string  `json:"where,omitempty"`
		After *api.ID `json:"after,omitempty"`
		Limit int     `json:"limit,omitempty"`
	}
	ix, err := c.onIndex(&p.Index, &p)
	if err != nil {
		return nil, nil, err
	}
	page := api.ItemsPage{Items: []api.Item{}}
	passed := p.After == nil
	limit := cmp.Or(p.Limit, 1000)
	for it, err := range ix.List(c.ctx, p.Where) {
		if err != nil {
			return nil, nil, err
		}
		page.Total++
		if passed && len(page.Items) < limit {
			page.Items = append(page.Items, it)
		} else if passed && page.Next == "" {
			page.Next = page.Items[limit-1].ID
		}
		passed = passed || it.ID == *p.After
	}
	return page, nil, nil
}

// patch changes labels, tags and attributes of items.
func (c *call) patch() (any, []Array, error) {
	var p struct {
		Index   uint64       `json:"index"`
		Items   []api.Change `json:"items"`
		Replace bool         `json:"replace,omitempty"`
	}
	ix, err := c.onIndex(&p.Index, &p)
	if err != nil {
		return nil, nil, err
	}
	change := ix.Update
	if p.Replace {
		change = ix.Replace
	}
	n, err := change(c.ctx, p.Items...)
	return map[string]int{"updated": n}, nil, err
}

// delete deletes items by id or by filter, or counts them.
func (c *call) delete() (any, []Array, error) {
	var p struct {
		Index   uint64            `json:"index"`
		Request api.DeleteRequest `json:"request"`
	}
	ix, err := c.onIndex(&p.Index, &p)
	if err != nil {
		return nil, nil, err
	}
	r, n := p.Request, 0
	switch {
	case (r.Where == nil) == (r.IDs == nil):
		err = api.Errorf(api.ErrInvalid, "give either ids or where")
	case r.Where != nil && *r.Where == "":
		err = api.Errorf(api.ErrInvalid, "an empty filter would delete everything: to do so, use the filter \"has id\"")
	case r.DryRun && r.Where != nil:
		for _, err = range ix.List(c.ctx, *r.Where) {
			if err != nil {
				return nil, nil, err
			}
			n++
		}
	case r.DryRun:
		for _, id := range r.IDs {
			if _, missing := ix.Get(id); missing == nil {
				n++
			}
		}
	case r.Where != nil:
		n, err = ix.DeleteWhere(c.ctx, *r.Where)
	default:
		n, err = ix.Delete(c.ctx, r.IDs...)
	}
	return map[string]int{"deleted": n}, nil, err
}

var _ json.Unmarshaler = (*api.ID)(nil) // ids arrive as numbers or texts
