// Average precision when items tie (McSherry and Najork, ECIR 2008; reference formulas as in tie-aware ranking
// for hashing, He et al., CVPR 2018).
//
// A bucket holds n items at one distance, p of them relevant; N items with P relevant ones come before it. Its part
// of the sum of precisions at relevant items depends on the order inside. At place t of the bucket
//
//	expected     p/n · (P + 1 + (t-1) c) / (N + t),   c = (p-1)/(n-1)       t = 1..n, mean over all orders
//	best         (P + t) / (N + t)                    relevant items first  t = 1..p
//	worst        (P + t) / (N + n - p + t)            relevant items last   t = 1..p
//
// All three are sums of (a + b t)/(M + t) = b + (a - b M)/(M + t), so with the harmonic numbers H
//
//	sum over t = 1..m of (a + b t)/(M + t) = b m + (a - b M) (H(M+m) - H(M)).
//
// AP is the sum over all buckets divided by the number of relevant items. Cost: O(buckets) for each query.

package eval

// sumOver is the last formula above.
func (h harmonic) sumOver(a, b float64, M, m int) float64 {
	return float64(b*float64(m)) + float64((a-float64(b*float64(M)))*h.between(M, M+m))
}

// bucketAP returns the sum of precisions at the relevant items of one bucket: expected, in the worst and in the
// best order of its items.
func (h harmonic) bucketAP(n, p, N, P int) (mean, worst, best float64) {
	if p == 0 {
		return 0, 0, 0
	}
	best = h.sumOver(float64(P), 1, N, p)
	if p == n { // every order is the same; so is every digit
		return best, best, best
	}
	c := float64(p-1) / float64(n-1)
	mean = float64(p) / float64(n) * h.sumOver(float64(P)+1-c, c, N, n)
	worst = h.sumOver(float64(P), 1, N+n-p, p)
	return mean, worst, best
}

// harmonic is the table of H(0), H(step), H(2 step), ...: a step keeps it small next to the codes themselves.
type harmonic []float64

const harmonicStep = 16

// newHarmonic returns the numbers up to H(n).
func newHarmonic(n int) harmonic {
	h := make(harmonic, 1, n/harmonicStep+1)
	sum := 0.0
	for i := 1; i <= n; i++ {
		sum += 1 / float64(i)
		if i%harmonicStep == 0 {
			h = append(h, sum)
		}
	}
	return h
}

func (h harmonic) at(n int) float64 {
	sum := h[n/harmonicStep]
	for i := n - n%harmonicStep + 1; i <= n; i++ {
		sum += 1 / float64(i)
	}
	return sum
}

// between returns H(hi) - H(lo). Short runs are summed term by term, where the difference would cancel.
func (h harmonic) between(lo, hi int) float64 {
	if hi-lo > 2*harmonicStep {
		return h.at(hi) - h.at(lo)
	}
	sum := 0.0
	for i := lo + 1; i <= hi; i++ {
		sum += 1 / float64(i)
	}
	return sum
}
