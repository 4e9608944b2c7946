package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"hashgrove/api"
)

// Columns holds items column by column. Labels, Tags and Attributes are nil or as long as IDs.
type Columns struct {
	IDs        []api.ID
	Vectors    [][]float32 // or
	Codes      []string    // hexadecimal digits
	Labels     []string
	Tags       [][]string
	Attributes []map[string]any
}

// putManyRequest is the body of a request that writes many items.
type putManyRequest struct {
	Items         []api.NewItem    `json:"items,omitempty"`
	IDs           []api.ID         `json:"ids,omitempty"`
	Vectors       [][]float32      `json:"vectors,omitempty"`
	PackedVectors []byte           `json:"vectors_base64,omitempty"`
	Codes         []string         `json:"codes,omitempty"`
	Labels        []string         `json:"labels,omitempty"`
	Tags          [][]string       `json:"tags,omitempty"`
	Attributes    []map[string]any `json:"attributes,omitempty"`
	Mode          string           `json:"mode,omitempty"`
}

// patchManyRequest is the body of a request that updates many items.
type patchManyRequest struct {
	Items   []api.Change `json:"items"`
	Replace bool         `json:"replace,omitempty"`
}

// changes combines the responses to all kinds of writes; each fills in some of the fields.
type changes struct {
	Written int `json:"written"`
	Updated int `json:"updated"`
	Missing int `json:"missing"`
	Deleted int `json:"deleted"`
}

func itemPath(id api.ID) string { return "/items/" + url.PathEscape(string(id)) }

// Item returns one item.
func (c *Collection) Item(ctx context.Context, id api.ID) (*api.Item, error) {
	a, err := ask[struct {
		Item api.Item `json:"item"`
	}](ctx, c.Client, c.request(http.MethodGet, itemPath(id), nil))
	if err != nil {
		return nil, err
	}
	return &a.Item, nil
}

// Items returns one page of the items that match a filter: at most limit items, starting after the given id. An
// empty filter matches all items, a limit of 0 uses the server's default, and an empty id starts at the first page.
func (c *Collection) Items(ctx context.Context, where string, limit int, after api.ID) (*api.ItemsPage, error) {
	r := c.request(http.MethodGet, "/items", nil)
	r = r.with("limit", limit, map[string]string{"where": where, "after": string(after)})
	return ask[api.ItemsPage](ctx, c.Client, r)
}

// AllItems iterates over all items that match a filter, page by page.
func (c *Collection) AllItems(ctx context.Context, where string) iter.Seq2[api.Item, error] {
	return func(yield func(api.Item, error) bool) {
		for after, first := api.ID(""), true; first || after != ""; first = false {
			page, err := c.Items(ctx, where, 0, after)
			if err != nil {
				yield(api.Item{}, err)
				return
			}
			for _, it := range page.Items {
				if !yield(it, nil) {
					return
				}
			}
			after = page.Next
		}
	}
}

// Put writes one item. Label, tags and attributes that are not given keep their values. Put returns once the item is
// on disk.
func (c *Collection) Put(ctx context.Context, it api.NewItem) error {
	_, err := ask[changes](ctx, c.Client, c.request(http.MethodPut, itemPath(it.ID), it))
	return err
}

// PutMany writes all items or none, replacing existing ones. It returns the number written once they are on disk.
func (c *Collection) PutMany(ctx context.Context, items []api.NewItem) (int, error) {
	return c.putMany(ctx, putManyRequest{Items: items})
}

// AddMany writes all items or none. It fails with status 409 if any of the ids exists.
func (c *Collection) AddMany(ctx context.Context, items []api.NewItem) (int, error) {
	return c.putMany(ctx, putManyRequest{Items: items, Mode: "add"})
}

// PutColumns is PutMany with packed vectors.
func (c *Collection) PutColumns(ctx context.Context, x Columns) (int, error) {
	rows, err := packRows(x.Vectors)
	if err != nil {
		return 0, err
	}
	r := putManyRequest{IDs: x.IDs, PackedVectors: rows, Codes: x.Codes, Labels: x.Labels}
	for _, tags := range x.Tags { // the service takes no null
		r.Tags = append(r.Tags, append([]string{}, tags...))
	}
	for _, values := range x.Attributes {
		if values == nil {
			values = map[string]any{}
		}
		r.Attributes = append(r.Attributes, values)
	}
	return c.putMany(ctx, r)
}

func (c *Collection) putMany(ctx context.Context, r putManyRequest) (int, error) {
	a, err := ask[changes](ctx, c.Client, c.request(http.MethodPost, "/items", r))
	if err != nil {
		return 0, err
	}
	return a.Written, nil
}

// Patch changes labels, tags and attributes of existing items without touching their codes, and returns how many it
// found. Unknown ids are skipped. With replace, the given attributes replace all previous ones.
func (c *Collection) Patch(ctx context.Context, replace bool, items ...api.Change) (int, error) {
	r := c.request(http.MethodPatch, "/items", patchManyRequest{Items: items, Replace: replace})
	a, err := ask[changes](ctx, c.Client, r)
	if err != nil {
		return 0, err
	}
	return a.Updated, nil
}

// Delete deletes items by id and returns how many existed.
func (c *Collection) Delete(ctx context.Context, ids ...api.ID) (int, error) {
	a, err := c.DeleteMany(ctx, api.DeleteRequest{IDs: ids})
	if err != nil {
		return 0, err
	}
	return a.Deleted, nil
}

// DeleteMany deletes items by id or by filter, or lists what it would delete.
func (c *Collection) DeleteMany(ctx context.Context, r api.DeleteRequest) (*api.Deleted, error) {
	return ask[api.Deleted](ctx, c.Client, c.request(http.MethodPost, "/delete", r))
}

// Vector returns an item's vector if the server has it.
func (c *Collection) Vector(ctx context.Context, id api.ID) ([]float32, error) {
	a, err := ask[struct {
		Vector []float32 `json:"vector"`
	}](ctx, c.Client, c.request(http.MethodGet, "/vector/"+url.PathEscape(string(id)), nil))
	if err != nil {
		return nil, err
	}
	return a.Vector, nil
}
