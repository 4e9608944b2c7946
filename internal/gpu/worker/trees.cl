// Step 2 of FastHash on a device: the rounds of package boost, tree by tree, without asking the host in between. Every
// sum is one of integers, or is taken in the order in which package boost takes it, so the trees are the same to the last
// bit. In the letters of package boost, for each round
//
//	gather, find    the least mass and row that a tree sees            trim.go
//	place           the rows that it sees are in node 0
//	for each level
//		count       the signed mass in every bin of every column       histogram.go
//		split       the best split of each node and 16 columns         split.go
//		choose      the best of these; the first possible one if none gains
//		move        rows go to the children
//	leaves          of all rows, and what they sum up to               predict.go, logistic.go
//	settle          factors of the weights, or values of the leaves
//	weigh           weights, scores and masses for the next round
//
// A row has the number of its node in the level that grows, one byte, as in stream.go, and never moves. A group of
// work-items counts a few columns over a stretch of rows in local memory and adds the result to global memory. If all
// nodes have the same columns, only the smaller of two siblings is counted, and the other is what the parent leaves.

#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// A barrier in a function that is not inlined is wrong under PoCL 3.1 as soon as two groups run at a time.
#define INLINE __attribute__((always_inline)) static inline

#define ITEMS 256      // work-items in a group
#define NODES 256      // more than a tree of the greatest depth has splits; as many as it has leaves
#define BINS 256
#define NONE 255       // the node of a row that the level does not see, and the bin of a split that sends all rows left
#define MAGNITUDES 2048
#define WIDTH 16       // columns in a group of split, each of 16 work-items
#define BLOCK 4096     // rows whose weights are summed one after the other

// job holds what does not change while a bit is learned. Its fields are those of job in session.go.
typedef struct {
	double scale;      // of masses; for AdaBoost with few rows
	double room;       // what all masses may sum up to
	double swelled;    // what all weights may sum up to
	double trim;       // share of the mass that a tree sees
	ulong rowLimit;    // for the hashes of rows
	long ridge, rate;
	int n;             // rows
	int k;             // candidate columns of a node
	int depth, splits;
	int least;         // a node with no more rows of one sign is not split
	int most;          // greatest multiple of a unit
	int topMargin, topLeaf;
	int rowBits;       // of the greatest row number
	int logistic, lazy, trimmed, shared, heldOut, coarse, picked;
	int stride;        // bytes between columns of x
	int pickedStride;  // bytes between columns of those that a tree tests
} Job;

// State is what one round leaves to the next.
typedef struct {
	double right, wrong, total; // of AdaBoost
	int round;
	int edge;          // the magnitude in which the share of the mass is reached
	uint limit;        // how much of the share is left for it
	uint listed;       // rows of that magnitude
	int leastMass, leastRow;
} State;

// Tree is the tree that grows, by nodes in heap order.
typedef struct {
	int rows, sum, plus; // of the root: rows, signed mass, rows with z = +1
	int unit;
	int leftRows[NODES], leftSum[NODES], leftPlus[NODES]; // what goes left
	int next[NODES];     // lowest bin that goes right
	uint feature[NODES];
	int bin[NODES];
	int closed[NODES];   // not split
	int slope[NODES], curve[NODES]; // by leaf: signed g, and h
	int value[NODES];    // by leaf
} Tree;

typedef struct { int rows, sum, plus; } Stats;

// Grown is what is known of the levels above one, in local memory: reading it node by node from global memory would take
// longer than the search for a split.
typedef struct {
	int rows, sum, plus;
	int leftRows[NODES / 2], leftSum[NODES / 2], leftPlus[NODES / 2], closed[NODES / 2];
} Grown;

INLINE void loadGrown(local Grown *g, global const Tree *t, int level) {
	for (int at = get_local_id(0); at < (1 << level) - 1; at += ITEMS) {
		g->leftRows[at] = t->leftRows[at], g->leftSum[at] = t->leftSum[at];
		g->leftPlus[at] = t->leftPlus[at], g->closed[at] = t->closed[at];
	}
	if (get_local_id(0) == 0)
		g->rows = t->rows, g->sum = t->sum, g->plus = t->plus;
	barrier(CLK_LOCAL_MEM_FENCE);
}

INLINE Stats statsOf(local const Grown *t, int at) {
	Stats s = {t->rows, t->sum, t->plus}, none = {0, 0, 0};
	for (int up = 31 - clz(at + 1); up > 0; up--) {
		int p = ((at + 1) >> up) - 1;
		if (t->closed[p])
			return none;
		if ((at + 1) >> (up - 1) & 1) {
			s.rows -= t->leftRows[p], s.sum -= t->leftSum[p], s.plus -= t->leftPlus[p];
		} else {
			s.rows = t->leftRows[p], s.sum = t->leftSum[p], s.plus = t->leftPlus[p];
		}
	}
	return s;
}

INLINE int isOpen(constant Job *j, Stats s) { return s.plus > j->least && s.rows - s.plus > j->least && j->k > 0; }

INLINE int bitOf(global const uint *words, int r) { return words[r >> 5] >> (r & 31) & 1; }

INLINE int magnitude(int m) {
	int over = max(32 - clz(m), 7) - 7;
	return (over << 6) + (m >> over);
}

// sumsDown replaces h by its sums from the end: h[i] + h[i+1] + ...
INLINE void sumsDown(local uint *h, int item) {
	for (int step = 1; step < ITEMS; step *= 2) {
		uint more = item + step < ITEMS ? h[item + step] : 0;
		barrier(CLK_LOCAL_MEM_FENCE);
		h[item] += more;
		barrier(CLK_LOCAL_MEM_FENCE);
	}
}

INLINE double chanceOf(constant Job *j, global const float *chance, int score, int z) {
	return chance[j->topMargin + clamp(z ? score : -score, -j->topMargin, j->topMargin)];
}

// weigh applies the last tree to scores or weights, and sets the masses.
kernel void weigh(constant Job *j, global State *s, global const Tree *t, global const uint *z, global double *u,
		global int *score, global const uchar *leaf, global const float *chance, global const uint *out,
		global const uint *said, global int *mass, global uint *magnitudes, global ulong *held) {
	local uint sums[MAGNITUDES];
	local ulong errors[ITEMS];
	int item = get_local_id(0);
	for (int k = item; k < MAGNITUDES; k += ITEMS)
		sums[k] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	double scale = j->coarse ? j->room / fmin(j->swelled, s->total * 1.000001) : j->scale;
	double right = s->right, wrong = s->wrong;
	ulong error = 0;
	for (int r = get_global_id(0); r < j->n; r += get_global_size(0)) {
		double w;
		int up = bitOf(z, r);
		if (j->logistic) {
			int f = score[r] + t->value[leaf[r]];
			score[r] = f;
			double p = chanceOf(j, chance, f, up);
			if (j->heldOut && bitOf(out, r))
				error += (ulong)(p * 4294967296.0);
			w = u[r] * p;
		} else {
			w = u[r] * (bitOf(said, r) == up ? right : wrong);
			u[r] = w;
		}
		int m = max(1, (int)(w * scale + 0.5));
		mass[r] = m;
		atomic_add(&sums[magnitude(m)], (uint)m);
	}
	errors[item] = error;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int k = item; k < MAGNITUDES; k += ITEMS)
		if (sums[k])
			atomic_add(&magnitudes[k], sums[k]);
	for (int by = ITEMS / 2; by > 0; by /= 2) {
		if (item < by)
			errors[item] += errors[item + by];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (item == 0 && s->round >= 0)
		held[s->round * get_num_groups(0) + get_group_id(0)] = errors[0];
}

// gather lists the rows of the magnitude in which the share is reached, in any order.
kernel void gather(constant Job *j, global State *s, global const int *mass, global const uint *magnitudes,
		global ulong *list) {
	local uint h[ITEMS];
	local int edge;
	local uint first;
	int item = get_local_id(0);
	const int each = MAGNITUDES / ITEMS;
	uint own = 0;
	for (int k = 0; k < each; k++)
		own += magnitudes[item * each + k];
	h[item] = own;
	barrier(CLK_LOCAL_MEM_FENCE);
	sumsDown(h, item);
	ulong limit = (ulong)(j->trim * (double)h[0]);
	if (h[item] > limit && h[item] - own <= limit) {
		uint left = (uint)limit - (h[item] - own);
		int k = item * each + each - 1;
		for (; k > 0 && left >= magnitudes[k]; k--)
			left -= magnitudes[k];
		edge = k;
		if (get_group_id(0) == 0)
			s->edge = k, s->limit = left;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	uint count = 0;
	for (int r = get_global_id(0); r < j->n; r += get_global_size(0))
		count += magnitude(mass[r]) == edge;
	h[item] = count;
	barrier(CLK_LOCAL_MEM_FENCE);
	sumsDown(h, item);
	if (item == 0 && h[0])
		first = atomic_add(&s->listed, h[0]);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (count == 0)
		return;
	uint at = first + h[item] - count;
	for (int r = get_global_id(0); r < j->n; r += get_global_size(0))
		if (magnitude(mass[r]) == edge)
			list[at++] = (ulong)mass[r] << 32 | (uint)(j->n - 1 - r);
}

// find starts a round and finds the least mass, and of that mass the last row, that a tree sees. Digit by digit, it
// finds the key at which the masses of the listed rows, from the greatest key down, add up to more than the limit. One
// group.
kernel void find(constant Job *j, global State *s, global const ulong *list) {
	local uint h[ITEMS], sums[ITEMS];
	local ulong prefix;
	local uint limit;
	int item = get_local_id(0);
	if (!j->trimmed) {
		if (item == 0)
			s->round++, s->leastMass = 0, s->leastRow = j->n;
		return;
	}
	int over = max((s->edge >> 6) - 1, 0);
	int low = (s->edge - (over << 6)) << over;
	int digits = (over + j->rowBits + 7) / 8;
	uint listed = s->listed;
	if (item == 0)
		prefix = 0, limit = s->limit;
	barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
	for (int shift = 8 * (digits - 1); shift >= 0; shift -= 8) {
		h[item] = 0;
		ulong known = prefix;
		barrier(CLK_LOCAL_MEM_FENCE);
		for (uint i = item; i < listed; i += ITEMS) {
			int m = list[i] >> 32;
			ulong key = (ulong)(m - low) << j->rowBits | (uint)list[i];
			if (key >> shift >> 8 == known)
				atomic_add(&h[key >> shift & 255], (uint)m);
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		uint own = h[item], left = limit;
		sums[item] = own;
		barrier(CLK_LOCAL_MEM_FENCE);
		sumsDown(sums, item);
		if (sums[item] > left && sums[item] - own <= left)
			prefix = known << 8 | item, limit = left - (sums[item] - own);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (item == 0) {
		s->round++;
		s->leastMass = low + (int)(prefix >> j->rowBits);
		s->leastRow = j->n - 1 - (int)(prefix & ((1ul << j->rowBits) - 1));
		s->listed = 0;
	}
}

INLINE ulong mixed(ulong v) {
	v *= 0x9e3779b97f4a7c15ul;
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ul;
	v = (v ^ v >> 27) * 0x94d049bb133111ebul;
	return v ^ v >> 31;
}

// place puts the rows that the tree sees into node 0, and clears the histograms of the root.
kernel void place(constant Job *j, global const State *s, global Tree *t, global const uint *z, global const uint *out,
		global const int *mass, global const ulong *keys, global int *signedMass, global uchar *node,
		global uint *magnitudes, global int *histograms) {
	local int rows, sum, plus;
	int item = get_local_id(0);
	if (item == 0)
		rows = sum = plus = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	int leastMass = s->leastMass, leastRow = s->leastRow;
	ulong key = j->shared ? keys[s->round] : 0;
	int ownRows = 0, ownSum = 0, ownPlus = 0;
	for (int r = get_global_id(0); r < j->n; r += get_global_size(0)) {
		int m = mass[r];
		int sees = m > leastMass || m == leastMass && r <= leastRow;
		if (j->heldOut && bitOf(out, r))
			sees = 0;
		if (j->shared && mixed(key + (ulong)r) >> 32 >= j->rowLimit)
			sees = 0;
		int up = bitOf(z, r);
		m = up ? m : -m;
		signedMass[r] = sees ? m : 0;
		node[r] = sees ? 0 : NONE;
		ownRows += sees, ownSum += sees ? m : 0, ownPlus += sees & up;
	}
	if (ownRows)
		atomic_add(&rows, ownRows), atomic_add(&sum, ownSum), atomic_add(&plus, ownPlus);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (item == 0 && rows)
		atomic_add(&t->rows, rows), atomic_add(&t->sum, sum), atomic_add(&t->plus, plus);
	for (int k = get_global_id(0); k < MAGNITUDES; k += get_global_size(0))
		magnitudes[k] = 0;
	for (long k = get_global_id(0); k < (long)j->k * BINS; k += get_global_size(0))
		histograms[k] = 0;
}

// smaller returns which node of a pair of siblings has fewer rows.
INLINE int smaller(Stats left, Stats right) { return left.rows > right.rows; }

// countedNode returns the node of the level that a pass counts, or NONE if there is nothing to split.
INLINE int countedNode(constant Job *j, local const Grown *t, int level, int pass) {
	int first = (1 << level) - 1;
	if (level == 0 || j->lazy)
		return isOpen(j, statsOf(t, first + pass)) ? pass : NONE;
	Stats left = statsOf(t, first + 2 * pass), right = statsOf(t, first + 2 * pass + 1);
	return isOpen(j, left) || isOpen(j, right) ? 2 * pass + smaller(left, right) : NONE;
}

// count adds rows to histograms. A group has some passes and columns, passes * columns at most TALLIES, and a stretch of
// rows. The rows in x begin with row base.
kernel void count(constant Job *j, global const State *s, global const Tree *t, global const uchar *x,
		global const uint *columns, global const int *signedMass, global const uchar *node, global int *histograms,
		int level, int passes, int width, int stretch, int base, int rows) {
	local int h[TALLIES * BINS];
	local uchar passOf[NODES];
	local int some;
	local Grown grown;
	int item = get_local_id(0);
	int across = (j->k + width - 1) / width;
	int stretches = (rows + stretch - 1) / stretch;
	int group = get_group_id(0);
	int first = group % across * width;
	int lo = group / across % stretches * stretch, hi = min(lo + stretch, rows);
	int pass = group / across / stretches * passes;
	int all = level == 0 || j->lazy ? 1 << level : 1 << (level - 1);
	int wide = min(width, j->k - first);
	for (int v = item; v < NODES; v += ITEMS)
		passOf[v] = NONE;
	if (item == 0)
		some = 0;
	loadGrown(&grown, t, level);
	if (item < passes && pass + item < all) {
		int v = countedNode(j, &grown, level, pass + item);
		if (v != NONE)
			passOf[v] = item, some = 1;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (!some)
		return;
	for (int k = item; k < passes * width * BINS; k += ITEMS)
		h[k] = 0;
	global const uint *list = columns;
	if (j->lazy)
		list += ((long)s->round * j->splits + (1 << level) - 1 + pass) * j->k;
	else if (j->lazy == 0 && j->picked)
		list += (long)s->round * j->k;
	list += first;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int r = lo + 4 * item; r < hi; r += 4 * ITEMS) {
		uchar4 v = vload4(0, node + base + r);
		int a = passOf[v.x], b = passOf[v.y], c = passOf[v.z], d = passOf[v.w];
		if ((a & b & c & d) == NONE)
			continue;
		int4 m = vload4(0, signedMass + base + r);
		a *= width, b *= width, c *= width, d *= width;
		int none = NONE * width;
		for (int k = 0; k < wide; k++) {
			uchar4 bin = vload4(0, x + (long)list[k] * j->stride + r);
			if (a != none) atomic_add(&h[(a + k) * BINS + bin.x], m.x);
			if (b != none) atomic_add(&h[(b + k) * BINS + bin.y], m.y);
			if (c != none) atomic_add(&h[(c + k) * BINS + bin.z], m.z);
			if (d != none) atomic_add(&h[(d + k) * BINS + bin.w], m.w);
		}
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int v = 0; v < NODES && v < 1 << level; v++) {
		if (passOf[v] == NONE)
			continue;
		global int *to = histograms + ((long)((1 << level) - 1 + v) * j->k + first) * BINS;
		local const int *from = h + passOf[v] * width * BINS;
		for (int k = item; k < wide * BINS; k += ITEMS)
			if (from[k])
				atomic_add(&to[k], from[k]);
	}
}

// consider finds the best split of 16 columns of a node, of whose histograms a work-item has 16 bins of one.
INLINE void consider(int bins[16], int sum, int first, int k, local int *sums, local int *gains, local int *at,
		global int *gain, global uint *best) {
	int item = get_local_id(0), column = item / 16, lane = item % 16;
	int total = 0;
	for (int b = 0; b < 16; b++)
		total += bins[b];
	sums[item] = total;
	barrier(CLK_LOCAL_MEM_FENCE);
	int a = 0, top = -1, where = 0;
	for (int l = 0; l < lane; l++)
		a += sums[column * 16 + l];
	for (int b = 0; b < 16; b++) {
		a += bins[b];
		int g = abs(a - (sum - a));
		if (g > top)
			top = g, where = lane * 16 + b;
	}
	gains[item] = first + column < k ? top : -1;
	at[item] = where;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (lane == 0) {
		for (int l = 1; l < 16; l++)
			if (gains[item + l] > gains[item])
				gains[item] = gains[item + l], at[item] = at[item + l];
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (item == 0) {
		int c = 0;
		for (int d = 1; d < WIDTH; d++)
			if (gains[16 * d] > gains[16 * c])
				c = d;
		*gain = gains[16 * c];
		*best = (uint)(first + c) * BINS + at[16 * c];
	}
	barrier(CLK_LOCAL_MEM_FENCE);
}

// split searches the histograms of a pass, and of its larger sibling, for splits. A group has WIDTH columns of one pass.
kernel void split(constant Job *j, global const Tree *t, global int *histograms, global int *gains, global uint *bests,
		int level) {
	local int sums[ITEMS], tops[ITEMS], at[ITEMS];
	local Grown grown;
	int item = get_local_id(0);
	int across = (j->k + WIDTH - 1) / WIDTH;
	int first = get_group_id(0) % across * WIDTH, pass = get_group_id(0) / across;
	int nodes = (1 << level) - 1; // before the level
	loadGrown(&grown, t, level);
	int v = countedNode(j, &grown, level, pass);
	if (v == NONE)
		return;
	int column = first + item / 16;
	int bins[16];
	long offset = (long)column * BINS + item % 16 * 16;
	int16 read = column < j->k ? vload16(0, histograms + (long)(nodes + v) * j->k * BINS + offset) : 0;
	vstore16(read, 0, bins);
	Stats own = statsOf(&grown, nodes + v);
	if (isOpen(j, own))
		consider(bins, own.sum, first, j->k, sums, tops, at, &gains[(nodes + v) * across + first / WIDTH],
			&bests[(nodes + v) * across + first / WIDTH]);
	if (level == 0 || j->lazy)
		return;
	Stats other = statsOf(&grown, nodes + (v ^ 1));
	if (!isOpen(j, other))
		return;
	global const int *parent = histograms + (long)((nodes + v - 1) / 2) * j->k * BINS + offset;
	global int *great = histograms + (long)(nodes + (v ^ 1)) * j->k * BINS + offset;
	if (column < j->k) {
		read = vload16(0, parent) - read;
		vstore16(read, 0, bins);
		vstore16(read, 0, great);
	}
	consider(bins, other.sum, first, j->k, sums, tops, at, &gains[(nodes + (v ^ 1)) * across + first / WIDTH],
		&bests[(nodes + (v ^ 1)) * across + first / WIDTH]);
}

// choose takes the best split of each node, a group for a node. If none gains anything, it takes the first column that
// has two bins with rows of the node, at the lowest. With x in blocks, answered by the host, such a node is left open.
kernel void choose(constant Job *j, global const State *s, global Tree *t, global const uchar *x,
		global const uint *columns, global const uchar *node, global const int *gains, global const uint *bests, int level,
		global int *asked) {
	local int tops[ITEMS];
	local uint at[ITEMS];
	local uint bins[BINS / 32];
	local int found;
	local Grown grown;
	int item = get_local_id(0), v = get_group_id(0), here = (1 << level) - 1 + v;
	int across = (j->k + WIDTH - 1) / WIDTH;
	loadGrown(&grown, t, level);
	Stats own = statsOf(&grown, here);
	int open = isOpen(j, own);
	int top = -1;
	uint best = 0;
	for (int g = item; open && g < across; g += ITEMS)
		if (gains[here * across + g] > top)
			top = gains[here * across + g], best = bests[here * across + g];
	tops[item] = top, at[item] = best;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int by = ITEMS / 2; by > 0; by /= 2) {
		if (item < by && (tops[item + by] > tops[item] || tops[item + by] == tops[item] && at[item + by] < at[item]))
			tops[item] = tops[item + by], at[item] = at[item + by];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	global const uint *list = columns;
	if (j->lazy)
		list += ((long)s->round * j->splits + here) * j->k;
	else if (j->picked)
		list += (long)s->round * j->k;
	int isGain = open && tops[0] > (int)abs(own.sum);
	if (item == 0) {
		t->leftRows[here] = t->leftSum[here] = t->leftPlus[here] = 0;
		t->next[here] = BINS;
		t->closed[here] = !isGain;
		t->feature[here] = isGain ? list[at[0] / BINS] : 0;
		t->bin[here] = isGain ? (int)(at[0] % BINS) : NONE;
	}
	if (!open || isGain)
		return;
	if (x == 0) {
		if (item == 0)
			asked[v] = 1;
		return;
	}
	for (int k = 0; k < j->k; k++) {
		if (item < BINS / 32)
			bins[item] = 0;
		if (item == 0)
			found = NONE;
		barrier(CLK_LOCAL_MEM_FENCE);
		global const uchar *column = x + (long)list[k] * j->stride;
		for (int r = item; r < j->n; r += ITEMS)
			if (node[r] == v)
				atomic_or(&bins[column[r] >> 5], 1u << (column[r] & 31));
		barrier(CLK_LOCAL_MEM_FENCE);
		if (item == 0) {
			int many = 0, low = NONE;
			for (int w = BINS / 32 - 1; w >= 0; w--) {
				many += popcount(bins[w]);
				if (bins[w])
					low = 32 * w + 31 - clz(bins[w] & -bins[w]);
			}
			if (many > 1) {
				found = low;
				t->closed[here] = 0, t->feature[here] = list[k], t->bin[here] = low;
			}
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		if (found != NONE)
			return;
	}
}

// columnOf returns the column that a node tests. With x in blocks, those columns lie by node.
INLINE global const uchar *columnOf(constant Job *j, global const Tree *t, global const uchar *x, int at) {
	return x + (j->pickedStride ? (long)at * j->pickedStride : (long)t->feature[at] * j->stride);
}

// move sends the rows of a level to the children of their nodes, and clears the histograms of the next level.
kernel void move(constant Job *j, global Tree *t, global const uchar *x, global const int *signedMass, global uchar *node,
		global int *histograms, int level) {
	local int rows[NODES / 2], sum[NODES / 2], plus[NODES / 2], next[NODES / 2];
	local int bins[NODES / 2];
	int item = get_local_id(0), first = (1 << level) - 1;
	for (int v = item; v < 1 << level; v += ITEMS) {
		rows[v] = sum[v] = plus[v] = 0;
		next[v] = BINS;
		bins[v] = t->closed[first + v] ? -1 : t->bin[first + v];
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int r = get_global_id(0); r < j->n; r += get_global_size(0)) {
		int v = node[r];
		if (v == NONE)
			continue;
		if (bins[v] < 0) {
			node[r] = NONE;
			continue;
		}
		int bin = columnOf(j, t, x, first + v)[r];
		if (bin > bins[v]) {
			if (bin < next[v])
				atomic_min(&next[v], bin);
			node[r] = 2 * v + 1;
		} else {
			int m = signedMass[r];
			atomic_add(&rows[v], 1);
			atomic_add(&sum[v], m);
			if (m > 0)
				atomic_add(&plus[v], 1);
			node[r] = 2 * v;
		}
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int v = item; v < 1 << level; v += ITEMS) {
		if (rows[v]) {
			atomic_add(&t->leftRows[first + v], rows[v]);
			atomic_add(&t->leftSum[first + v], sum[v]);
			atomic_add(&t->leftPlus[first + v], plus[v]);
		}
		if (next[v] < BINS)
			atomic_min(&t->next[first + v], next[v]);
	}
	if (level + 1 == j->depth)
		return;
	histograms += (long)((2 << level) - 1) * j->k * BINS;
	for (long k = get_global_id(0); k < ((long)j->k * BINS << (level + 1)); k += get_global_size(0))
		histograms[k] = 0;
}

// finish copies the finished tree to local memory, with the thresholds in the middle of gaps, and to the results.
INLINE void finish(constant Job *j, global const State *s, global const Tree *t, local int *bin,
		global uint *features, global uchar *bins) {
	int root = t->closed[0] ? 0 : t->feature[0];
	for (int at = get_local_id(0); at < j->splits; at += ITEMS) {
		int closed = t->closed[at];
		bin[at] = closed ? NONE : (t->bin[at] + t->next[at] - 1) / 2;
		if (get_group_id(0) == 0) {
			features[s->round * j->splits + at] = closed ? root : t->feature[at];
			bins[s->round * j->splits + at] = bin[at];
		}
	}
}

INLINE int leafOf(constant Job *j, global const Tree *t, global const uchar *x, local const int *bin, int r) {
	int at = 0;
	while (at < j->splits)
		at = 2 * at + 1 + (bin[at] != NONE && columnOf(j, t, x, at)[r] > bin[at]);
	return at - j->splits;
}

// slopes finds the leaf of every row, and sums g and h by leaf, for logistic boosting.
kernel void slopes(constant Job *j, global const State *s, global Tree *t, global const uchar *x, global const uint *z,
		global const double *u, global const int *score, global const float *chance, global const uint *out,
		global const int *mass, global uchar *leaf, global uint *features, global uchar *bins) {
	local int bin[NODES], slope[NODES], curve[NODES];
	int item = get_local_id(0);
	for (int l = item; l < NODES; l += ITEMS)
		slope[l] = curve[l] = 0;
	finish(j, s, t, bin, features, bins);
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int r = get_global_id(0); r < j->n; r += get_global_size(0)) {
		int l = leafOf(j, t, x, bin, r), up = bitOf(z, r);
		leaf[r] = l;
		if (j->heldOut && bitOf(out, r))
			continue;
		double p = chanceOf(j, chance, score[r], up);
		double h = u[r] * (p * (1 - p));
		atomic_add(&slope[l], up ? mass[r] : -mass[r]);
		atomic_add(&curve[l], (int)(h * j->scale + 0.5));
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int l = item; l <= j->splits; l += ITEMS) {
		if (slope[l])
			atomic_add(&t->slope[l], slope[l]);
		if (curve[l])
			atomic_add(&t->curve[l], curve[l]);
	}
}

// answers finds what the tree says of every row, and V+ and V- of each block of rows, for AdaBoost. A group has a block.
// The weights are added up one after the other, as package boost does.
kernel void answers(constant Job *j, global const State *s, global Tree *t, global const uchar *x, global const uint *z,
		global const double *u, global uint *said, global double *sums, global uint *features, global uchar *bins,
		global uint *leaves) {
	local int bin[NODES];
	local uint sign[NODES / 32], right[BLOCK / 32];
	local double weight[BLOCK];
	int item = get_local_id(0), block = get_group_id(0);
	if (item < NODES / 32)
		sign[item] = 0;
	if (item < BLOCK / 32)
		right[item] = 0;
	finish(j, s, t, bin, features, bins);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (item <= j->splits) {
		Stats own = {t->rows, t->sum, t->plus};
		for (int at = 0, up = j->depth - 1; up >= 0 && !t->closed[at]; up--) {
			int isRight = item >> up & 1;
			own.sum = isRight ? own.sum - t->leftSum[at] : t->leftSum[at];
			at = 2 * at + 1 + isRight;
		}
		if (own.sum >= 0)
			atomic_or(&sign[item >> 5], 1u << (item & 31));
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (block == 0 && item < NODES / 32)
		leaves[s->round * (NODES / 32) + item] = sign[item];
	int rows = min(BLOCK, j->n - block * BLOCK);
	for (int i = item; i < BLOCK; i += ITEMS) {
		int r = block * BLOCK + i;
		if (i >= rows) {
			weight[i] = 0;
			continue;
		}
		int l = leafOf(j, t, x, bin, r);
		weight[i] = u[r];
		if ((sign[l >> 5] >> (l & 31) & 1) == bitOf(z, r))
			atomic_or(&right[i >> 5], 1u << (i & 31));
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (32 * item < rows) {
		uint past = rows - 32 * item < 32 ? ~0u << (rows - 32 * item) : 0;
		said[block * (BLOCK / 32) + item] = ~(right[item] ^ z[block * (BLOCK / 32) + item]) & ~past;
	}
	if (item < 2) { // past the last row the weights are 0, and adding 0 changes nothing
		double sum = 0;
		double8 next = vload8(0, weight);
		for (int w = 0; w < BLOCK / 8; w++) { // the next weights are on their way while these are added
			double8 v = next;
			next = vload8(min(w + 1, BLOCK / 8 - 1), weight);
			uint bits = (item ? right[w / 4] : ~right[w / 4]) >> w % 4 * 8;
			double a = bits & 1 ? v.s0 : 0.0, b = bits & 2 ? v.s1 : 0.0, c = bits & 4 ? v.s2 : 0.0, d = bits & 8 ? v.s3 : 0.0;
			double e = bits & 16 ? v.s4 : 0.0, f = bits & 32 ? v.s5 : 0.0, g = bits & 64 ? v.s6 : 0.0, h = bits & 128 ? v.s7 : 0.0;
			sum += a;
			sum += b;
			sum += c;
			sum += d;
			sum += e;
			sum += f;
			sum += g;
			sum += h;
		}
		sums[2 * block + item] = sum;
	}
}

INLINE int oddMultiple(int v, int unit, int most) {
	int k = min((int)abs(v) / unit / 2 * 2 + 1, most);
	return v < 0 ? -k : k;
}

// settle sets the values of the leaves, for logistic boosting, and clears the root. One group.
kernel void settle(constant Job *j, global const State *s, global Tree *t, global int *units, global uchar *digits) {
	local int value[NODES], curve[NODES];
	local int top, unit;
	local double costs[16];
	local int tried[16];
	int item = get_local_id(0), leaves = j->splits + 1, round = s->round;
	if (item == 0)
		top = unit = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (item < leaves) {
		long h = (long)t->curve[item] + j->ridge;
		long v = 0;
		if (h > 0)
			v = clamp((long)t->slope[item] * j->rate / (h * 16), (long)-j->topLeaf, (long)j->topLeaf);
		value[item] = v;
		curve[item] = t->curve[item];
		atomic_max(&top, (int)abs((int)v));
		t->slope[item] = t->curve[item] = 0;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (top > 0) {
		if (item < 13) {
			int try = max(1, (int)((long)top * (item + 4) / (long)(16 * j->most)));
			double cost = 0;
			for (int l = 0; l < leaves; l++) {
				double d = value[l] - oddMultiple(value[l], try, j->most) * try;
				double square = d * d;
				double weighted = (double)curve[l] * square;
				cost += weighted;
			}
			costs[item] = cost, tried[item] = try;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		if (item == 0) {
			int best = 0;
			for (int k = 1; k < 13; k++)
				if (costs[k] < costs[best])
					best = k;
			unit = tried[best];
		}
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (item < leaves) {
		int k = top > 0 ? oddMultiple(value[item], unit, j->most) : 0;
		t->value[item] = k * unit;
		digits[round * NODES + item] = (k + j->most) / 2;
	}
	if (item == 0) {
		units[round] = unit;
		t->rows = t->sum = t->plus = 0;
	}
}

// judge sums V+ and V- and sets the factors of the weights, for AdaBoost, and clears the root. One group.
kernel void judge(constant Job *j, global State *s, global Tree *t, global const double *sums, global double *results) {
	local double v[2];
	int item = get_local_id(0);
	if (item < 2) {
		double sum = 0;
		int blocks = (j->n + BLOCK - 1) / BLOCK;
		for (int b = 0; b < blocks; b++)
			sum += sums[2 * b + item];
		v[item] = sum;
		results[2 * s->round + item] = sum;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (item > 0)
		return;
	double isWrong = v[0], isRight = v[1], n = j->n;
	double right = 1, wrong = 1;
	int counts = 1;
	if (isWrong > 0x1p-52 && isRight <= isWrong)
		counts = 0;
	else if (isWrong > 0x1p-52)
		wrong = isRight / isWrong;
	else
		wrong = n * 1e8 * n * 1e8;
	double all = isWrong * wrong;
	all = isRight + all;
	if (counts && all > 4 * n) {
		right = n / all;
		wrong *= right;
	}
	double a = isRight * right, b = isWrong * wrong;
	s->right = right, s->wrong = wrong, s->total = a + b;
	t->rows = t->sum = t->plus = 0;
}

// outputs writes what an ensemble says of every row, -1 or +1.
kernel void outputs(global const uchar *x, int n, int stride, int splits, int trees, global const uint *features,
		global const uchar *bins, global const uint *leaves, global const int *weights, long total, global char *out) {
	int r = get_global_id(0);
	if (r >= n)
		return;
	int words = (splits + 32) / 32;
	long yes = 0;
	for (int q = 0; q < trees; q++) {
		int at = 0;
		while (at < splits)
			at = 2 * at + 1 + (x[(long)features[q * splits + at] * stride + r] > bins[q * splits + at]);
		at -= splits;
		if (leaves[q * words + (at >> 5)] >> (at & 31) & 1)
			yes += weights[q];
	}
	out[r] = 2 * yes - total >= 0 ? 1 : -1;
}
