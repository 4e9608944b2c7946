package method

import (
	"context"

	"hashgrove/internal/model"
	"hashgrove/internal/supervision"
)

// AddDetail puts Options.Detail bits of detail behind the bits of a model that was trained without them, and changes
// nothing else: the codes of the class and their ranking stay as they are. A comparison trains codes of the class once,
// and whoever keeps the model adds the detail. The data are the rows that the model learned from.
func AddDetail(ctx context.Context, m *model.Model, d *supervision.Data, o Options) error {
	return o.addDetail(ctx, m, d)
}
