package worker

import (
	"cmp"
	"encoding/json"

	"hashgrove"
	"hashgrove/api"
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

var _ json.Unmarshaler = (*api.ID)(nil) // ids arrive as numbers or texts
