package codebook

import "slices"

// Responses are summed over the cells of a pyramid. Level g has g x g cells; with 3 levels there are 1 + 4 + 9. Each
// axis is cut at round(i places/g).
//
// The cuts of all levels together form a finer grid, whose cells are pooled once; a cell of a level consists of whole
// grid cells. The places are sorted by grid cell, so that each cell is a run of rows of the matrix product.

// grid describes where the patches of a picture of one size are and how they are pooled.
type grid struct {
	width, height int
	across, down  int    // places
	xs, ys        []int  // cuts of all levels
	places        []int  // y*across + x, sorted by cell
	starts        []int  // first place of each cell, row by row, and the number of places
	cells         []span // of the levels, in vector order
}

// span is a rectangle of grid cells.
type span struct{ x0, x1, y0, y1 int }

func newGrid(width, height, side int) *grid {
	g := &grid{width: width, height: height, across: width - side + 1, down: height - side + 1}
	g.xs, g.ys = allCuts(g.across), allCuts(g.down)
	for cy := 1; cy < len(g.ys); cy++ {
		for cx := 1; cx < len(g.xs); cx++ {
			g.starts = append(g.starts, len(g.places))
			for y := g.ys[cy-1]; y < g.ys[cy]; y++ {
				for x := g.xs[cx-1]; x < g.xs[cx]; x++ {
					g.places = append(g.places, y*g.across+x)
				}
			}
		}
	}
	g.starts = append(g.starts, len(g.places))
	for level := 1; level <= levels; level++ {
		for cy := range level {
			for cx := range level {
				g.cells = append(g.cells, span{
					slices.Index(g.xs, cut(cx, g.across, level)), slices.Index(g.xs, cut(cx+1, g.across, level)),
					slices.Index(g.ys, cut(cy, g.down, level)), slices.Index(g.ys, cut(cy+1, g.down, level)),
				})
			}
		}
	}
	return g
}

// cut returns round(i n/parts), halves up.
func cut(i, n, parts int) int { return (2*i*n + parts) / (2 * parts) }

// allCuts returns the cuts of all levels, sorted, without repetitions.
func allCuts(n int) []int {
	var cuts []int
	for level := 1; level <= levels; level++ {
		for i := range level + 1 {
			cuts = append(cuts, cut(i, n, level))
		}
	}
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

// pools holds the pooled responses of one picture: one value per word for every grid cell.
type pools struct {
	above, below [][16]float32 // cell, panel of 16 words
}

// add pools the strip of one panel, whose rows are the places starting at first.
func (c *Codebook) add(s *pools, g *grid, panel int, strip []float32, first, count int) {
	for cell := range len(g.starts) - 1 {
		lo, hi := max(g.starts[cell], first)-first, min(g.starts[cell+1], first+count)-first
		if lo >= hi {
			continue
		}
		rows, at := strip[lo*16:hi*16], cell*len(c.up)+panel
		sumAbove(&s.above[at], &c.up[panel], rows)
		if c.Options.Split {
			sumBelow(&s.below[at], &c.down[panel], rows)
		}
	}
}

// sumAbove adds t to the rows of a strip of products z, 16 values each, and sums the positive values in acc.
func sumAbove(acc, t *[16]float32, z []float32) {
	for ; len(z) > 0; z = z[16:] {
		for j := range acc {
			acc[j] += max(z[j]+t[j], 0)
		}
	}
}

// sumBelow does the same for negative values.
func sumBelow(acc, t *[16]float32, z []float32) {
	for ; len(z) > 0; z = z[16:] {
		for j := range acc {
			acc[j] += min(z[j]+t[j], 0)
		}
	}
}

// collect writes the vector cell by cell: the words, and with Split the negative sides after them.
func (c *Codebook) collect(dst []float32, s *pools, g *grid) {
	words := len(c.Bias)
	for _, cell := range g.cells {
		for panel := range c.up {
			n := min(16, words-16*panel)
			above := c.join(s.above, g, cell, panel)
			copy(dst[16*panel:], above[:n])
			if c.Options.Split {
				below := c.join(s.below, g, cell, panel)
				copy(dst[words+16*panel:], below[:n])
			}
		}
		dst = dst[c.perCell():]
	}
}

// join sums the grid cells of a span for the words of one panel.
func (c *Codebook) join(from [][16]float32, g *grid, at span, panel int) (total [16]float32) {
	for cy := at.y0; cy < at.y1; cy++ {
		for cx := at.x0; cx < at.x1; cx++ {
			for j, v := range &from[(cy*(len(g.xs)-1)+cx)*len(c.up)+panel] {
				total[j] += v
			}
		}
	}
	return total
}
