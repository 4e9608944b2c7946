// Package affinity says which rows are similar: the matrix Y of the paper, with y_ij = +1 for similar rows, -1 for
// dissimilar ones and 0 where nothing is known.
//
//	ByClass     rows of one class are similar, all others dissimilar
//	ByTags      rows that share enough tags are similar, all others dissimilar
//	FromPairs   what a list says; every other pair is unknown
//	Sample      some pairs of each row of another matrix; every other pair is unknown
//
// Classes and tags define all n² pairs without storing any.
package affinity

// Matrix is Y: symmetric, over Len rows. At returns y_ij in {-1, 0, +1}, and 0 for a row with itself.
type Matrix interface {
	Len() int
	At(i, j int) int
	// Counts is the number of unordered pairs of each kind.
	Counts() (similar, dissimilar int64)
}

// DefaultShared is the number of tags that similar rows share at least, where nobody says otherwise.
const DefaultShared = 2

// ListPairs lists all defined pairs of a matrix, by looking at each of the n² once.
func ListPairs(m Matrix) (*Pairs, error) {
	b := newBuilder(m.Len())
	for i := range m.Len() {
		for j := range i {
			b.add(int32(i), int32(j), m.At(i, j))
		}
	}
	return b.pairs()
}
