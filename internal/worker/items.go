package worker

import (
	"cmp"

	"hashgrove"
	"hashgrove/api"
	"hashgrove/internal/fault"
	"hashgrove/internal/search"
)

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
	case r.DryRun && r.Where != nil:
		if _, err := search.ParseDeletion(*r.Where); err != nil {
			return nil, nil, err
		}
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
