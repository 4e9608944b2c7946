package feature

// Responses are summed (or the largest kept) over the cells of a pyramid. Level g has g x g cells; with 3 levels there
// are 1 + 4 + 9. Each axis is cut at round(i places/g).
//
// The cuts of all levels together form a finer grid, whose cells are pooled once; a cell of a level consists of whole
// grid cells. The places are sorted by grid cell, so that each cell is a run of rows of the matrix product.

// grid describes where the patches of a picture of one size are and how they are pooled.
type grid struct {
	width, height int
	across, down  int    // places, at the stride of the codebook
	xs, ys        []int  // cuts of all levels
	places        []int  // y*across + x, sorted by cell
	starts        []int  // first place of each cell, row by row, and the number of places
	cells         []span // of the levels, in vector order
}

// span is a rectangle of grid cells.
type span struct{ x0, x1, y0, y1 int }

func newGrid(width, height, side, stride, levels int) *grid {
	g := &grid{width: width, height: height, across: (width-side)/stride + 1, down: (height-side)/stride + 1}
	g.xs, g.ys = allCuts(g.across, levels), allCuts(g.down, levels)
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
					index(g.xs, cut(cx, g.across, level)), index(g.xs, cut(cx+1, g.across, level)),
					index(g.ys, cut(cy, g.down, level)), index(g.ys, cut(cy+1, g.down, level)),
				})
			}
		}
	}
	return g
}

// cut returns round(i n/parts), halves up.
func cut(i, n, parts int) int { return (2*i*n + parts) / (2 * parts) }

// allCuts returns the cuts of all levels, sorted, without repetitions.
func allCuts(n, levels int) []int {
	is := make([]bool, n+1)
	for level := 1; level <= levels; level++ {
		for i := range level + 1 {
			is[cut(i, n, level)] = true
		}
	}
	var cuts []int
	for at, yes := range is {
		if yes {
			cuts = append(cuts, at)
		}
	}
	return cuts
}

// index returns the position of v among the cuts.
func index(cuts []int, v int) int {
	for i, at := range cuts {
		if at == v {
			return i
		}
	}
	panic("feature: a cut that is none")
}

// cellsOf returns the number of cells of all levels.
func cellsOf(levels int) int {
	n := 0
	for level := 1; level <= levels; level++ {
		n += level * level
	}
	return n
}

// poolScratch holds the pooled responses of one picture: one value per word for every grid cell.
type poolScratch struct {
	above, below [][16]float32 // cell, panel of 16 words
}

// add pools the strip of one panel, whose rows are the places starting at first.
func (c *Codebook) add(s *poolScratch, g *grid, panel int, strip []float32, first, count int) {
	up, down := &c.up[panel], &c.down[panel]
	above, below := sumAbove, sumBelow
	if c.Pool == MaxPool {
		above, below = maxAbove, minBelow
	}
	for cell := range len(g.starts) - 1 {
		lo, hi := max(g.starts[cell], first)-first, min(g.starts[cell+1], first+count)-first
		if lo >= hi {
			continue
		}
		rows, at := strip[lo*16:hi*16], cell*len(c.up)+panel
		foldRows(above, &s.above[at], up, rows)
		if c.Sides != Positive {
			foldRows(below, &s.below[at], down, rows)
		}
	}
}

// collect writes the vector cell by cell: the words, and with Split the negative sides after them.
func (c *Codebook) collect(dst []float32, s *poolScratch, g *grid) {
	words := c.Words()
	for _, cell := range g.cells {
		for panel := range c.up {
			above, below := c.join(s.above, g, cell, panel), [16]float32{}
			if c.Sides != Positive {
				below = c.join(s.below, g, cell, panel)
			}
			n := min(16, words-16*panel)
			switch {
			case c.Sides == Absolute && c.Pool == MaxPool:
				for j, v := range below {
					above[j] = max(above[j], -v)
				}
			case c.Sides == Absolute:
				for j, v := range below {
					above[j] -= v
				}
			case c.Sides == Split:
				copy(dst[words+16*panel:], below[:n])
			}
			copy(dst[16*panel:], above[:n])
		}
		dst = dst[c.perCell():]
	}
}

// join pools the grid cells of a span for the words of one panel.
func (c *Codebook) join(from [][16]float32, g *grid, at span, panel int) (total [16]float32) {
	for cy := at.y0; cy < at.y1; cy++ {
		for cx := at.x0; cx < at.x1; cx++ {
			cell := &from[(cy*(len(g.xs)-1)+cx)*len(c.up)+panel]
			for j, v := range cell {
				switch {
				case c.Pool != MaxPool:
					total[j] += v
				case max(v, -v) > max(total[j], -total[j]): // all positive, or all negative
					total[j] = v
				}
			}
		}
	}
	return total
}
