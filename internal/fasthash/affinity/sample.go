package affinity

// Sampled affinity, which the released FastHash code learns from. For every row some similar and some dissimilar rows
// are drawn without replacement; then the matrix is made symmetric, so a row ends up with about twice as many.

import (
	"math/rand/v2"

	"hashgrove/internal/message"
)

// Sample draws for every row of m the given numbers of similar and dissimilar rows, or all if there are fewer. Pairs
// sampled from classes remember them.
func Sample(m Matrix, similar, dissimilar int, seed uint64) (*Pairs, error) {
	if similar < 0 || dissimilar < 0 || similar+dissimilar == 0 {
		return nil, message.New("bad-number",
			"no pairs are to be drawn; ask for at least one similar or dissimilar row per row")
	}
	n := m.Len()
	s := sampler{newBuilder(n), rand.New(rand.NewPCG(seed, 'Y')), make([]int32, n), 0}
	var classes *Classes
	switch m := m.(type) {
	case *Classes:
		classes = m
		s.units(&m.units, func(u int32) []int32 { return []int32{u} }, similar, dissimilar)
	case *Tags:
		s.units(&m.units, m.SimilarUnits(), similar, dissimilar)
	case *Pairs:
		classes = m.classes
		for i := range n {
			s.draw(i, m.Similar(i), similar, 1)
			s.draw(i, m.Dissimilar(i), dissimilar, -1)
		}
	}
	p, err := s.pairs()
	if err == nil {
		p.classes = classes
	}
	return p, err
}

type sampler struct {
	*builder
	rng   *rand.Rand
	mark  []int32 // equal to stamp for rows already drawn
	stamp int32
}

// draw pairs row i with count rows of the list.
func (s *sampler) draw(i int, list []int32, count, y int) {
	if count >= len(list) {
		for _, j := range list {
			s.add(int32(i), j, y)
		}
		return
	}
	// Floyd: a uniform subset in count steps, whatever the length of the list.
	s.stamp++
	for k := len(list) - count; k < len(list); k++ {
		t := s.rng.IntN(k + 1)
		if s.mark[t] == s.stamp {
			t = k
		}
		s.mark[t] = s.stamp
		s.add(int32(i), list[t], y)
	}
}

// units draws for all rows of a matrix in which rows of a unit are similar to the rows of the same units.
func (s *sampler) units(m *units, near func(u int32) []int32, similar, dissimilar int) {
	isNear := make([]bool, s.n)
	var list, far []int32
	for u := range int32(m.Units()) {
		list = list[:0]
		own := 0 // where u's own rows start in the list
		for _, o := range near(u) {
			if o == u {
				own = len(list)
			}
			list = append(list, m.Rows(o)...)
		}
		for _, j := range list {
			isNear[j] = true
		}
		few := s.n-len(list) <= max(s.n/4, 2*dissimilar)
		if few {
			far = far[:0]
			for j, yes := range isNear {
				if !yes {
					far = append(far, int32(j))
				}
			}
		}
		last := len(list) - 1
		for k, i := range m.Rows(u) {
			list[own+k], list[last] = list[last], i // a row is not similar to itself
			s.draw(int(i), list[:last], similar, 1)
			list[own+k], list[last] = i, list[own+k]
			if few {
				s.draw(int(i), far, dissimilar, -1)
				continue
			}
			s.stamp++
			for left := dissimilar; left > 0; { // most rows will do, so try at random
				if j := int32(s.rng.IntN(s.n)); !isNear[j] && s.mark[j] != s.stamp {
					s.mark[j] = s.stamp
					s.add(i, j, -1)
					left--
				}
			}
		}
		for _, j := range list {
			isNear[j] = false
		}
	}
}
