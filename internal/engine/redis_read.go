package engine

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"hashgrove/internal/hamming"
	"hashgrove/internal/index"
)

// Read implements Engine. Redis filters only searches, so all items are read and filtered here, unless the filter
// names ids.
func (r *redis) Read(ctx context.Context, f index.Filter, take func(*index.Batch) error) error {
	ids, named := namedIDs(f)
	if !named {
		var err error
		if ids, err = r.allIDs(ctx); err != nil {
			return err
		}
	}
	slices.SortFunc(ids, index.ID.Compare)
	const some = 4096
	for part := range slices.Chunk(slices.Compact(ids), some) {
		b, err := r.readSome(ctx, part)
		if err == nil {
			b, err = matching(ctx, b, f)
		}
		if err != nil {
			return err
		}
		if len(b.IDs) == 0 {
			continue
		}
		if err := take(b); err != nil {
			return err
		}
	}
	return nil
}

// namedIDs returns the ids that a filter is limited to, if it names them.
func namedIDs(f index.Filter) ([]index.ID, bool) {
	c, _ := f.Condition()
	return idsOf(c)
}

func idsOf(c index.Condition) ([]index.ID, bool) {
	if c.Op == "and" {
		if ids, ok := idsOf(c.Parts[0]); ok {
			return ids, true
		}
		return idsOf(c.Parts[1])
	}
	if c.Op != "in" || c.Name != idName {
		return nil, false
	}
	var ids []index.ID
	for _, v := range c.Values {
		text, isText := v.Text()
		if !isText {
			return nil, false
		}
		if text != "" {
			ids = append(ids, index.Text(text))
		}
	}
	return ids, true
}

// allIDs returns the ids of all items.
func (r *redis) allIDs(ctx context.Context) ([]index.ID, error) {
	var ids []index.ID
	for cursor := "0"; ; {
		answers, err := r.ask(ctx, []string{"HSCAN", r.details(), cursor, "COUNT", "4096", "NOVALUES"})
		if err != nil {
			return nil, err
		}
		pair, _ := answers[0].([]any)
		if len(pair) != 2 {
			return nil, errAnswer
		}
		list, ok := pair[1].([]any)
		if !ok {
			return nil, errAnswer
		}
		for _, v := range list {
			if name, _ := v.(string); name != "" { // "" holds the table's note
				id, err := index.ParseID(name)
				if err != nil {
					return nil, err
				}
				ids = append(ids, id)
			}
		}
		if cursor, ok = pair[0].(string); !ok || cursor == "0" {
			return ids, nil
		}
	}
}

// readSome returns the items with the given ids, skipping missing ones.
func (r *redis) readSome(ctx context.Context, ids []index.ID) (*index.Batch, error) {
	b, code := index.NewBatch(r.bits), hamming.NewCodes(1, r.bits)
	command := []string{"HMGET", r.details()}
	for _, id := range ids {
		command = append(command, id.String())
	}
	answers, err := r.ask(ctx, command)
	if err != nil {
		return nil, err
	}
	list, _ := answers[0].([]any)
	if len(list) != len(ids) {
		return nil, errAnswer
	}
	for i, v := range list {
		if v == nil {
			continue
		}
		text, _ := v.(string)
		var it redisItem
		if err := json.Unmarshal([]byte(text), &it); err != nil {
			return nil, fmt.Errorf("item %q is damaged in %s: %w", ids[i].String(), r.details(), err)
		}
		packed, err := hex.DecodeString(it.Code)
		if err != nil || !code.SetBytes(0, packed) {
			return nil, fmt.Errorf("item %q has a code in %s that is not one of %d bits", ids[i].String(), r.details(), r.bits)
		}
		b.Append(index.Item{ID: ids[i], Code: code.Row(0), Label: it.Label, Tags: it.Tags, Attributes: it.Attributes})
	}
	return b, nil
}

// matching returns the items of a batch that match a filter.
func matching(ctx context.Context, b *index.Batch, f index.Filter) (*index.Batch, error) {
	if _, filtered := f.Condition(); !filtered {
		return b, nil
	}
	x := index.New(b.Codes.Bits, b.Fingerprint, index.Config{Tables: -1})
	if err := x.Add(ctx, b); err != nil {
		return nil, err
	}
	kept, exact := index.NewBatch(b.Codes.Bits), x.Snapshot()
	hits, err := exact.Matches(f)
	if _, unknown := errors.AsType[*index.FilterError](err); unknown { // no item of the batch has such an attribute
		for i, id := range b.IDs {
			if exact.Count(index.And(f, index.IDs(id))) > 0 {
				kept.Append(b.Item(i))
			}
		}
		return kept, nil
	}
	for _, h := range hits {
		kept.Append(exact.Item(h))
	}
	return kept, err
}
