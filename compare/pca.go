package compare

import (
	"context"
	"fmt"

	"hashgrove/method"
	"hashgrove/model"
)

// reduce puts principal components in front of every method (the paper's Table 4, tab:pca): all methods see base and
// queries as their projections, and the cost of it counts in their times.
func (s *stage) reduce(ctx context.Context) error {
	if d := s.data.Base.X.Cols; s.o.PCA >= d {
		s.notes = append(s.notes, fmt.Sprintf("the vectors have only %d dimensions: PCA to %d turns them and leaves out nothing", d, s.o.PCA))
	}
	var pca *model.Affine
	var err error
	s.front.train = seconds(func() {
		pca, _, err = method.Reduce(ctx, s.data.Base.X, s.o.PCA, s.o.Seed, s.o.Threads)
	})
	if err != nil {
		return fmt.Errorf("principal components: %w", err)
	}
	s.front.maps = []model.Map{pca}
	through := func(p *Part) (*Part, error) {
		x, err := model.Transform(ctx, s.o.Threads, p.X, pca)
		if err != nil {
			return nil, err
		}
		return p.seen(x, fmt.Sprint("pca ", s.o.PCA)), nil
	}
	if s.base, err = through(s.data.Base); err != nil {
		return err
	}
	took := fastest(func() { _, err = model.Transform(ctx, 1, s.data.Queries.X, pca) })
	if err != nil {
		return err
	}
	s.front.encode = took * 1e6 / float64(s.data.Queries.X.Rows)
	s.queries, err = through(s.data.Queries)
	return err
}
