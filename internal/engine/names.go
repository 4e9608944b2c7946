package engine

import (
	"context"
	"errors"

	"hashgrove/api"
	"hashgrove/internal/index"
)

var errFound = errors.New("found")

// CheckNames refuses a filter on a name that no item of a table has, as an index does: it is more likely misspelled
// than meant, and a database finds nothing in silence, or everything with "not". An empty table takes any name.
func CheckNames(ctx context.Context, e Engine, f index.Filter) error {
	for name, has := range f.Names() {
		err := e.Read(ctx, has, func(b *index.Batch) error {
			if len(b.IDs) == 0 {
				return nil
			}
			return errFound
		})
		switch {
		case errors.Is(err, errFound):
			continue
		case err != nil:
			return err
		}
		n, err := e.Count(ctx)
		if err != nil {
			return err
		}
		if n > 0 {
			return api.Errorf(api.ErrFilter, "filter: no item has %.60q: a filter can use id, label, tag and attributes "+
				"that items have", name)
		}
	}
	return nil
}
