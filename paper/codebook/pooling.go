package codebook

// Responses are summed over the cells of a pyramid. Level g has g x g cells; with 3 levels there are 1 + 4 + 9. Each
// axis is cut at round(i places/g).

// pools sums the responses of one picture.
type pools struct {
	width, height int           // of the pictures that it is made for
	places        [][levels]int // the cells of every place, one of each level
	above, below  [][16]float32 // cell, panel of 16 words
}

// reset prepares for a picture with the given number of places along each axis.
func (s *pools) reset(across, down, panels int) {
	if s.width != across || s.height != down {
		*s = pools{width: across, height: down, places: make([][levels]int, across*down)}
		for i := range s.places {
			first := 0 // cell of the level
			for g := 1; g <= levels; g++ {
				s.places[i][g-1] = first + cellOf(i/across, down, g)*g + cellOf(i%across, across, g)
				first += g * g
			}
		}
		s.above, s.below = make([][16]float32, cells*panels), make([][16]float32, cells*panels)
	}
	clear(s.above)
	clear(s.below)
}

// cellOf returns which of the given number of parts of n places has place at: part i ends at round(i n/parts), halves
// up.
func cellOf(at, n, parts int) int {
	for i := 1; ; i++ {
		if at < (2*i*n+parts)/(2*parts) {
			return i - 1
		}
	}
}

// add pools the strip of one panel, whose rows are the places starting at first.
func (c *Codebook) add(s *pools, panel int, strip []float32, first, count int) {
	up, down := &c.up[panel], &c.down[panel]
	for lo, hi := 0, 0; lo < count; lo = hi { // neighbours mostly share their cells
		at := s.places[first+lo]
		for hi = lo + 1; hi < count && s.places[first+hi] == at; hi++ {
		}
		var sum [16]float32
		for z := strip[lo*16 : hi*16]; len(z) > 0; z = z[16:] {
			for j := range sum {
				sum[j] += max(z[j]+up[j], 0)
			}
		}
		addTo(s.above, at, len(c.up), panel, &sum)
		if !c.Options.Split {
			continue
		}
		sum = [16]float32{}
		for z := strip[lo*16 : hi*16]; len(z) > 0; z = z[16:] {
			for j := range sum {
				sum[j] += min(z[j]+down[j], 0)
			}
		}
		addTo(s.below, at, len(c.up), panel, &sum)
	}
}

// addTo adds values to a panel of three cells.
func addTo(to [][16]float32, at [levels]int, panels, panel int, values *[16]float32) {
	for _, cell := range at {
		acc := &to[cell*panels+panel]
		for j, v := range values {
			acc[j] += v
		}
	}
}

// collect writes the vector cell by cell: the words, and with Split the negative sides after them.
func (c *Codebook) collect(dst []float32, s *pools) {
	words := len(c.Bias)
	for cell := range cells {
		for panel := range c.up {
			n, at := min(16, words-16*panel), cell*len(c.up)+panel
			copy(dst[16*panel:], s.above[at][:n])
			if c.Options.Split {
				copy(dst[words+16*panel:], s.below[at][:n])
			}
		}
		dst = dst[c.perCell():]
	}
}
