package fasthash

import (
	"context"
	"math"
	"slices"

	"hashgrove/internal/model"
	"hashgrove/internal/par"
	"hashgrove/internal/vectors"
)

// shapeTrial chooses the shape of a kernel on a sample of the rows.
type shapeTrial struct {
	f    *scoreFit
	axes [2]*principal
	x    vectors.Matrix
	rows []int // their numbers

	tried map[kernelShape]shapeResult
}

// shapeResult is what came of a shape.
type shapeResult struct {
	wrong float64
	err   error
}

// choose returns the shape that predicts the rows best, or nearly: first the power at the middle width, for columns
// scaled each and alike, then the width.
func (t *shapeTrial) choose(ctx context.Context) (best kernelShape, err error) {
	least := math.Inf(1)
	try := func(s kernelShape) error {
		if err := t.fit(ctx, s); err != nil {
			return err
		}
		e, err := t.tried[s].wrong, t.tried[s].err
		if s.width > best.width && best.width > 0 {
			e *= wider
		}
		if err == nil && e < least {
			best, least = s, e
		}
		return err
	}
	first := []kernelShape{{false, 0, 1}, {false, 2, 1}, {true, 0, 1}, {true, 2, 1}}
	if err := t.fit(ctx, first...); err != nil {
		return best, err
	}
	for _, s := range first {
		if err := try(s); err != nil {
			return best, err
		}
	}
	near := []kernelShape{best, best}
	near[0].power--
	near[1].power++
	near = slices.DeleteFunc(near, func(s kernelShape) bool { return s.power < 0 })
	if err := t.fit(ctx, near...); err != nil {
		return best, err
	}
	for _, s := range near {
		if err := try(s); err != nil {
			return best, err
		}
	}
	if err := t.fit(ctx, best.times(0.5), best.times(2)); err != nil {
		return best, err
	}
	for _, factor := range []float64{0.5, 2} {
		for {
			s := best.times(factor)
			if s.width < 0.1 || s.width > 10 {
				break
			}
			if err := try(s); err != nil {
				return best, err
			}
			if best != s {
				break
			}
		}
	}
	return best, nil
}

// times returns the shape with another width.
func (s kernelShape) times(factor float64) kernelShape {
	s.width *= factor
	return s
}

// fit tries those shapes that have not been tried, side by side: the systems of one are too small for many cores.
func (t *shapeTrial) fit(ctx context.Context, shapes ...kernelShape) error {
	var todo []kernelShape
	for _, s := range shapes {
		if _, ok := t.tried[s]; !ok {
			todo = append(todo, s)
		}
	}
	results := make([]shapeResult, len(todo))
	threads := par.Threads(t.f.threads)
	if side := min(threads, len(todo)); side > 1 {
		threads = threads/side + 1 // one more than its share leaves no core without work
	}
	err := par.For(ctx, t.f.threads, len(todo), func(i int) {
		results[i].wrong, results[i].err = t.error(ctx, threads, todo[i])
	})
	if err != nil {
		return err
	}
	for i, s := range todo {
		t.tried[s] = results[i]
	}
	return nil
}

// error returns the least cross-validated error of fits with few anchors.
func (t *shapeTrial) error(ctx context.Context, threads int, s kernelShape) (float64, error) {
	f := *t.f
	f.threads, f.list = threads, nil // which is not shared
	v, err := model.Transform(ctx, f.threads, t.x, t.axes[at(s.alike)].whitened(s.power))
	if err != nil {
		return 0, err
	}
	kernel, err := f.gaussians(ctx, v.Slice(0, min(v.Rows, shapeAnchors)), s.width)
	if err != nil {
		return 0, err
	}
	z, err := model.Transform(ctx, f.threads, v, kernel)
	if err != nil {
		return 0, err
	}
	return f.sampleError(ctx, z, t.rows, kernelPenalties[:])
}
