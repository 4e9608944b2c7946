package worker

import "hashgrove/api"

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
