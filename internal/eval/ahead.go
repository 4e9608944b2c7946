package eval

import "math"

// errorsOfChance is how many standard errors of a mean chance explains.
const errorsOfChance = 2

// Ahead returns by how much the average precisions a of some queries are ahead of b, in the mean, and how far the
// choice of queries alone may move that: two standard errors, query by query. With classes, half of the mean is that
// over queries and half that over their classes, so that neither large classes decide alone nor two queries of a small
// one. Queries without a relevant item (-1) do not count.
func Ahead(a, b []float64, class []int32) (ahead, chance float64) {
	n, of := 0.0, map[int32]float64{}
	counts := func(q int) bool { return a[q] >= 0 && b[q] >= 0 }
	for q := range a {
		if counts(q) {
			if n++; class != nil {
				of[class[q]]++
			}
		}
	}
	if n < 2 {
		return 0, 0
	}
	weight := func(q int) float64 {
		if class == nil {
			return 1 / n
		}
		return 0.5/n + 0.5/(float64(len(of))*of[class[q]])
	}
	for q := range a {
		if counts(q) {
			ahead += float64(weight(q) * (a[q] - b[q]))
		}
	}
	squares := 0.0
	for q := range a {
		if counts(q) {
			e := float64(weight(q) * (a[q] - b[q] - ahead))
			squares += float64(e * e)
		}
	}
	return ahead, errorsOfChance * math.Sqrt(squares*n/(n-1))
}

// EvenMAP returns the mean over classes of average precisions: as if all classes were asked about equally.
func EvenMAP(ap []float64, class []int32) float64 {
	sum, n := 0.0, map[int32]float64{}
	for q, v := range ap {
		if v >= 0 {
			n[class[q]]++
		}
	}
	for q, v := range ap {
		if v >= 0 {
			sum += v / (n[class[q]] * float64(len(n)))
		}
	}
	return sum
}
