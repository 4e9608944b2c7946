package index

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"hashgrove/internal/hamming"
	"hashgrove/internal/par"
)

// All pairs of codes within a radius r (Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW
// 2007).
//
// The bits are divided into m parts, m >= r. Two codes that differ in at most r bits are equal in at least m-r parts.
// So for every choice of m-r parts, of which there are C(m, r),
//
//	scatter    the codes into partitions by a hash of the chosen parts
//	sort       each partition into buckets, by more bits of the hash
//	compare    the codes of a bucket with one another
//
// A pair counts at the first choice whose parts are equal, and so only once. m = r + 1 is multi-index hashing, where
// each choice is a part; more parts make more tables with smaller buckets; and m = r, nothing being chosen, compares
// all codes with all. Samples of the codes tell what each m would cost.
type join struct {
	*segment
	codes    hamming.Codes // only the bits that count
	radius   int
	masks    [][]uint64 // the bits of each choice
	threads  int
	progress func(done, total int)

	partBits, bucketBits int // bits of the hash that number a partition, and a bucket in it
	start                []int
	rows                 hamming.Codes // by partition
	slots                []uint32
}

func newJoin(s *segment, width int, o PairOptions) *join {
	j := &join{segment: s, codes: s.codes, radius: o.Radius, threads: par.Threads(o.Threads), progress: o.Progress}
	if width < s.codes.Bits {
		j.codes = s.codes.Prefix(width)
	}
	n := j.codes.Len()
	j.partBits = min(max(bits.Len(uint(n))-13, 0), 12)
	j.bucketBits = min(max(bits.Len(uint(n))-j.partBits, 1), 20)
	j.masks = j.choose()
	j.rows = hamming.NewCodes(n, width)
	j.slots = make([]uint32, n)
	return j
}

// choices returns the masks of all choices of m-r of m parts.
func choices(width, m, r int) [][]uint64 {
	var masks [][]uint64
	mask := make([]uint64, (width+63)/64)
	var choose func(part, left int)
	choose = func(part, left int) {
		if left == 0 {
			masks = append(masks, slices.Clone(mask))
			return
		}
		if m-part < left {
			return
		}
		p := newPart(width, m, part)
		for w, v := range p.mask {
			mask[w] |= v
		}
		choose(part+1, left-1)
		for w, v := range p.mask {
			mask[w] &^= v
		}
		choose(part+1, left)
	}
	choose(0, m-r)
	return masks
}

// Costs in nanoseconds of one core: to bring a code into its bucket, and what comparisons cost beside perWord.
const (
	bucketCost  = 25.0
	compareCost = 0.1
	joinSample  = 1 << 12
	mostChoices = 256
)

// choose returns the masks of the cheapest number of parts.
func (j *join) choose() (best [][]uint64) {
	n, width := float64(j.codes.Len()), j.codes.Bits
	r := min(j.radius, width)
	sample := hamming.NewCodes(min(j.codes.Len(), joinSample), width)
	for i := range sample.Len() {
		copy(sample.Row(i), j.codes.Row(i*j.codes.Len()/sample.Len()))
	}
	least := 0.0
	for m := r; m <= min(r+6, width) && binomial(m, m-r) <= mostChoices; m++ {
		masks := choices(width, m, r)
		perPair := compareCost + float64(perWord*float64(j.codes.Words))
		cost := 0.0
		for i, mask := range masks {
			if i < 16 { // the rest will be like these
				cost += float64(perPair * n * n / 2 * (equalPairs(sample, mask) + 1/max(n, 1)))
			}
		}
		cost = float64(cost * float64(len(masks)) / float64(min(len(masks), 16)))
		cost += float64(float64(len(masks)) * n * bucketCost * float64(1+j.codes.Words) / 2)
		if best == nil || cost < least {
			best, least = masks, cost
		}
	}
	return best
}

// equalPairs returns which share of the pairs of codes are equal where the mask says.
func equalPairs(codes hamming.Codes, mask []uint64) float64 {
	n := codes.Len()
	if n < 2 {
		return 1
	}
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = maskedHash(codes.Row(i), mask)
	}
	slices.Sort(keys)
	same, pairs := 0, 0
	for i := 1; i < n; i++ {
		if same++; keys[i] != keys[i-1] {
			same = 0
		}
		pairs += same
	}
	return float64(pairs) / (float64(n) * float64(n-1) / 2)
}

// maskedHash hashes the chosen bits of a code; the top bits are the best ones.
func maskedHash(code, mask []uint64) uint64 {
	h := uint64(0)
	for w, m := range mask {
		h += (code[w] & m) * multiplier(w)
	}
	return (h ^ h>>32) * 0x9e3779b97f4a7c15
}

// equal calls visit for every slot of several items, on all cores.
func (j *join) equal(ctx context.Context, visit func(worker int, slot uint32)) error {
	if j.slot == nil {
		return nil
	}
	return j.work(ctx, (j.codes.Len()+1<<12-1)>>12, func(w, block int) {
		for slot := block << 12; slot < min((block+1)<<12, j.codes.Len()); slot++ {
			if j.count(uint32(slot), nil) > 1 {
				visit(w, uint32(slot))
			}
		}
	})
}

// work calls f once for each of n tasks, and tells it which worker it is.
func (j *join) work(ctx context.Context, n int, f func(worker, task int)) error {
	var next atomic.Int64
	_ = par.For(context.Background(), j.threads, j.threads, func(w int) {
		for task := int(next.Add(1)) - 1; task < n && ctx.Err() == nil; task = int(next.Add(1)) - 1 {
			f(w, task)
		}
	})
	return context.Cause(ctx)
}

// bigBucket is a bucket that all workers share.
type bigBucket struct {
	rows  hamming.Codes
	slots []uint32
}

// shared is the number of codes that make a bucket a big one, and stripe how many of them a worker takes.
const (
	shared = 1 << 14
	stripe = 1 << 9
)

// joiner is the memory of one worker.
type joiner struct {
	*join
	choice int
	rows   hamming.Codes
	slots  []uint32
	start  []uint32
	hits   []uint32
	big    []bigBucket
	found  func(a, b uint32)
}

// run calls found once for every two slots whose codes are within the radius.
func (j *join) run(ctx context.Context, found func(worker int, a, b uint32)) error {
	workers := make([]joiner, j.threads)
	for w := range workers {
		workers[w] = joiner{
			join: j, hits: make([]uint32, tileOfPairs+16), found: func(a, b uint32) { found(w, a, b) },
		}
	}
	var lock sync.Mutex
	done, total := 0, len(j.masks)<<j.partBits
	step := func() {
		lock.Lock()
		defer lock.Unlock()
		if done++; j.progress != nil {
			j.progress(done, total)
		}
	}
	for choice, mask := range j.masks {
		if err := j.scatter(ctx, mask); err != nil {
			return err
		}
		err := j.work(ctx, 1<<j.partBits, func(w, part int) {
			workers[w].choice = choice
			workers[w].partition(j.start[part], j.start[part+1])
			step()
		})
		for w := range workers {
			for _, b := range workers[w].big {
				stripes := (len(b.slots) + stripe - 1) / stripe
				total += stripes
				if err == nil {
					err = j.work(ctx, stripes, func(w, i int) {
						workers[w].choice = choice
						workers[w].compare(b.rows, b.slots, i*stripe, min((i+1)*stripe, len(b.slots)))
						step()
					})
				}
			}
			workers[w].big = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// scatter sorts the codes by partition; within one they keep their order.
func (j *join) scatter(ctx context.Context, mask []uint64) error {
	n, parts, shift := j.codes.Len(), 1<<j.partBits, uint(64-j.partBits)
	pieces := j.threads
	counts := make([][]int, pieces)
	err := par.For(ctx, j.threads, pieces, func(p int) {
		count := make([]int, parts)
		for i := p * n / pieces; i < (p+1)*n/pieces; i++ {
			count[maskedHash(j.codes.Row(i), mask)>>shift]++
		}
		counts[p] = count
	})
	if err != nil {
		return err
	}
	j.start = make([]int, parts+1)
	sum := 0
	for b := range parts {
		j.start[b] = sum
		for _, count := range counts {
			sum, count[b] = sum+count[b], sum
		}
	}
	j.start[parts] = sum
	return par.For(ctx, j.threads, pieces, func(p int) {
		next := counts[p]
		for i := p * n / pieces; i < (p+1)*n/pieces; i++ {
			code := j.codes.Row(i)
			b := maskedHash(code, mask) >> shift
			at := next[b]
			next[b]++
			copy(j.rows.Row(at), code)
			j.slots[at] = uint32(i)
		}
	})
}

// partition sorts a partition into buckets and compares the codes of each.
func (w *joiner) partition(lo, hi int) {
	n, mask, words := hi-lo, w.masks[w.choice], w.codes.Words
	if len(w.slots) < n {
		w.rows, w.slots = hamming.NewCodes(n, w.codes.Bits), make([]uint32, n)
	}
	if w.start == nil {
		w.start = make([]uint32, 1<<w.bucketBits+1)
	}
	clear(w.start)
	bucket := func(i int) uint64 {
		return maskedHash(w.join.rows.Row(i), mask) << w.partBits >> (64 - w.bucketBits)
	}
	for i := lo; i < hi; i++ {
		w.start[bucket(i)+1]++
	}
	for b := range len(w.start) - 1 {
		w.start[b+1] += w.start[b]
	}
	for i := lo; i < hi; i++ { // afterwards a bucket begins where the one before it began
		b := bucket(i)
		at := w.start[b]
		w.start[b]++
		copy(w.rows.Row(int(at)), w.join.rows.Row(i))
		w.slots[at] = w.join.slots[i]
	}
	begin := 0
	for _, end := range w.start {
		from, to := begin, int(end)
		begin = to
		if to-from < 2 {
			continue
		}
		rows, slots := w.rows, w.slots[from:to]
		rows.Data = rows.Data[from*words : to*words]
		if to-from >= shared {
			rows.Data = slices.Clone(rows.Data)
			w.big = append(w.big, bigBucket{rows, slices.Clone(slots)})
			continue
		}
		w.compare(rows, slots, 0, len(slots))
	}
}

// tileOfPairs is the number of codes that a stripe is compared with while they are in the cache.
const tileOfPairs = 1 << 11

// compare compares the codes from lo to hi of a bucket with those that come after them.
func (w *joiner) compare(rows hamming.Codes, slots []uint32, lo, hi int) {
	words, part := rows.Words, rows
	for tile := lo + 1; tile < len(slots); tile += tileOfPairs {
		end := min(tile+tileOfPairs, len(slots))
		for i := lo; i < min(hi, end); i++ {
			q, from := rows.Row(i), max(tile, i+1)
			if words == 1 && end-from < 24 {
				for k := from; k < end; k++ {
					if bits.OnesCount64(q[0]^rows.Data[k]) <= w.radius && w.first(q, rows.Row(k)) {
						w.found(slots[i], slots[k])
					}
				}
				continue
			}
			part.Data = rows.Data[from*words : end*words]
			for _, hit := range w.hits[:part.Near(w.hits, q, w.radius)] {
				if k := from + int(hit&0xffff); w.first(q, rows.Row(k)) {
					w.found(slots[i], slots[k])
				}
			}
		}
	}
}

// first reports whether this choice is the first one whose parts are equal in two codes.
func (w *joiner) first(a, b []uint64) bool {
	for _, mask := range w.masks[:w.choice] {
		if equalIn(a, b, mask) {
			return false
		}
	}
	return equalIn(a, b, w.masks[w.choice])
}

func equalIn(a, b, mask []uint64) bool {
	for i, m := range mask {
		if (a[i]^b[i])&m != 0 {
			return false
		}
	}
	return true
}
