package supervision

import (
	"fmt"

	"hashgrove/internal/plain"
	"hashgrove/vectors"
)

const (
	crowdRows  = 256  // of the sample at most
	crowdLeast = 100  // rows that say something
	crowdShare = 0.99 // of the sample in one step
	crowdKinds = 10   // different values there
)

// crowd is a sample of the rows, every stride-th, that shows whether a few extreme values leave all others in one of
// the steps that columns are cut into.
type crowd struct {
	rows, stride, seen int
	x                  vectors.Matrix
}

// add samples the rows of a chunk. A sample that is full loses every other row.
func (c *crowd) add(x vectors.Matrix) {
	c.x.Cols, c.stride = x.Cols, max(c.stride, 1)
	for i := range x.Rows {
		if c.seen++; (c.seen-1)%c.stride != 0 {
			continue
		}
		if c.rows == crowdRows {
			for k := 1; 2*k < c.rows; k++ {
				copy(c.x.Data[k*x.Cols:(k+1)*x.Cols], c.x.Data[2*k*x.Cols:(2*k+1)*x.Cols])
			}
			c.rows, c.stride = c.rows/2, 2*c.stride
			c.x.Data = c.x.Data[:c.rows*x.Cols]
			if (c.seen-1)%c.stride != 0 {
				continue
			}
		}
		c.x.Data = append(c.x.Data, x.Row(i)...)
		c.rows++
	}
}

// columns are those with many different values of which nearly all fall into one step.
func (c *crowd) columns(q vectors.Quantizer) []int {
	if c.rows < crowdLeast {
		return nil
	}
	var list []int
	for j := range c.x.Cols {
		s := q.Scale(j)
		var counts [256]int
		most := uint8(0)
		for i := range c.rows {
			b := s.Bin(c.x.Data[i*c.x.Cols+j])
			if counts[b]++; counts[b] > counts[most] {
				most = b
			}
		}
		if float64(counts[most]) >= crowdShare*float64(c.rows) && c.kinds(j, s, most) >= crowdKinds {
			list = append(list, j)
		}
	}
	return list
}

// kinds counts the different values of a column in a step, up to those that matter.
func (c *crowd) kinds(j int, s vectors.Scale, step uint8) int {
	var met [crowdKinds]float32
	n := 0
	for i := 0; i < c.rows && n < len(met); i++ {
		v, known := c.x.Data[i*c.x.Cols+j], false
		for _, w := range met[:n] {
			known = known || w == v
		}
		if !known && s.Bin(v) == step {
			met[n] = v
			n++
		}
	}
	return n
}

// warning says which columns are crowded, or nothing.
func (c *crowd) warning(r *vectors.Ranges, names []string) string {
	q, err := r.Quantizer()
	if err != nil {
		return ""
	}
	list := c.columns(q)
	if len(list) == 0 {
		return ""
	}
	name := fmt.Sprintf("column %d", list[0]+1)
	if len(names) == c.x.Cols {
		name = names[list[0]]
	}
	return fmt.Sprintf("%s extreme values that leave nearly all others in one of 256 steps, for instance %s, "+
		"from %v to %v: trees cannot tell those others apart; remove or clip such values, or take logarithms",
		plain.Count(len(list), "column has", "columns have"), name, r.Min[list[0]], r.Max[list[0]])
}

// warnOfCrowds adds the warning about crowded columns.
func (d *Data) warnOfCrowds(c *crowd) {
	var names []string
	if named, ok := vectors.Find[interface{ Names() []string }](d.Source); ok {
		names = named.Names()
	}
	if text := c.warning(d.Ranges, names); text != "" {
		d.Warnings = append(d.Warnings, text)
		d.TrainingWarnings = append(d.TrainingWarnings, text)
	}
}
