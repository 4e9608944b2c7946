// A level of a tree: histograms, and the best splits of its nodes.

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

// candidatesOf returns the columns that a node may test.
INLINE global const uint *candidatesOf(constant Job *j, global const State *s, global const uint *columns, int at) {
	if (j->lazy)
		return columns + ((long)s->round * j->splits + at) * j->k;
	return columns + (j->drawn ? (long)s->round * j->k : 0);
}

#define AHEAD 4 // columns that a work-item reads at once

// count adds rows to histograms. A group has some passes and columns, passes * columns at most TALLIES, and a stretch of
// rows.
GROUP(ITEMS) kernel void count(constant Job *j, global const State *s, global const Tree *t, global const uchar *x,
		global const uint *columns, global const int *signedMass, global const uchar *node, global int *histograms,
		int level, int passes, int width, int stretch) {
	local int h[TALLIES * BINS];
	local uchar passOf[NODES];
	local long from[TALLIES];
	local int some;
	local Grown grown;
	int item = get_local_id(0);
	int across = (j->k + width - 1) / width;
	int stretches = (j->n + stretch - 1) / stretch;
	int group = get_group_id(0);
	int first = group % across * width;
	int lo = group / across % stretches * stretch, hi = min(lo + stretch, j->n);
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
	if (item < wide)
		from[item] = (long)candidatesOf(j, s, columns, (1 << level) - 1 + pass)[first + item] * j->stride;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int r = lo + 4 * item; r < hi; r += 4 * ITEMS) {
		uchar4 v = vload4(0, node + r);
		int a = passOf[v.x], b = passOf[v.y], c = passOf[v.z], d = passOf[v.w];
		if ((a & b & c & d) == NONE)
			continue;
		int4 m = vload4(0, signedMass + r);
		a *= width, b *= width, c *= width, d *= width;
		int none = NONE * width;
		for (int first = 0; first < wide; first += AHEAD) {
			uchar4 ahead[AHEAD]; // all are on their way before the first is used
#pragma unroll
			for (int k = 0; k < AHEAD; k++)
				ahead[k] = vload4(0, x + from[min(first + k, wide - 1)] + r);
#pragma unroll
			for (int k = 0; k < AHEAD; k++) {
				uchar4 bin = ahead[k];
				int at = first + k;
				if (at >= wide)
					break;
				if (a != none) atomic_add(&h[(a + at) * BINS + bin.x], m.x);
				if (b != none) atomic_add(&h[(b + at) * BINS + bin.y], m.y);
				if (c != none) atomic_add(&h[(c + at) * BINS + bin.z], m.z);
				if (d != none) atomic_add(&h[(d + at) * BINS + bin.w], m.w);
			}
		}
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int v = 0; v < NODES && v < 1 << level; v++) {
		if (passOf[v] == NONE)
			continue;
		global int *to = histograms + ((long)((1 << level) - 1 + v) * j->k + first) * BINS;
		local const int *own = h + passOf[v] * width * BINS;
		for (int k = item; k < wide * BINS; k += ITEMS)
			if (own[k])
				atomic_add(&to[k], own[k]);
	}
}

// bestOf puts the best of 16 gains, some steps apart, in the place of the first. Of equal gains the first counts.
INLINE void bestOf(local int *gains, local int *at, int from, int step) {
	int values[16], places[16];
#pragma unroll
	for (int l = 0; l < 16; l++)
		values[l] = gains[from + l * step], places[l] = at[from + l * step];
	int top = values[0], where = places[0];
#pragma unroll
	for (int l = 1; l < 16; l++)
		if (values[l] > top)
			top = values[l], where = places[l];
	gains[from] = top, at[from] = where;
}

// consider finds the best split of 16 columns of a node, of whose histograms a work-item has 16 bins of one. Of equal
// gains the first counts.
INLINE void consider(int16 bins, int sum, int first, int k, local int *sums, local int *gains, local int *at,
		global int *gain, global uint *best) {
	int item = get_local_id(0), column = item / 16, lane = item % 16;
	int own[16], before[16];
	vstore16(bins, 0, own);
	int total = 0;
#pragma unroll
	for (int b = 0; b < 16; b++)
		total += own[b];
	sums[item] = total;
	barrier(CLK_LOCAL_MEM_FENCE);
	vstore16(vload16(column, sums), 0, before);
	int a = 0, top = -1, where = 0;
#pragma unroll
	for (int l = 0; l < 16; l++)
		a += l < lane ? before[l] : 0;
#pragma unroll
	for (int b = 0; b < 16; b++) {
		a += own[b];
		int g = abs(a - (sum - a));
		if (g > top)
			top = g, where = item * 16 + b;
	}
	gains[item] = first + column < k ? top : -1;
	at[item] = where;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (lane == 0)
		bestOf(gains, at, item, 1);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (item == 0) {
		bestOf(gains, at, 0, 16);
		*gain = gains[0], *best = (uint)(first * BINS + at[0]);
	}
	barrier(CLK_LOCAL_MEM_FENCE);
}

// split searches the histograms of a pass, and of its larger sibling, for splits. A group has WIDTH columns of one pass.
GROUP(ITEMS) kernel void split(constant Job *j, global const Tree *t, global int *histograms, global int *gains, global uint *bests,
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
	int column = first + item / 16, isPair = level > 0 && !j->lazy;
	long offset = (long)column * BINS + item % 16 * 16;
	int16 bins = 0, parent = 0;
	if (column < j->k) {
		bins = vload16(0, histograms + (long)(nodes + v) * j->k * BINS + offset);
		if (isPair)
			parent = vload16(0, histograms + (long)((nodes + v - 1) / 2) * j->k * BINS + offset);
	}
	Stats own = statsOf(&grown, nodes + v);
	if (isOpen(j, own))
		consider(bins, own.sum, first, j->k, sums, tops, at, &gains[(nodes + v) * across + first / WIDTH],
			&bests[(nodes + v) * across + first / WIDTH]);
	if (!isPair)
		return;
	Stats other = statsOf(&grown, nodes + (v ^ 1));
	if (!isOpen(j, other))
		return;
	bins = parent - bins;
	if (column < j->k)
		vstore16(bins, 0, histograms + (long)(nodes + (v ^ 1)) * j->k * BINS + offset);
	consider(bins, other.sum, first, j->k, sums, tops, at, &gains[(nodes + (v ^ 1)) * across + first / WIDTH],
		&bests[(nodes + (v ^ 1)) * across + first / WIDTH]);
}

// Choice holds the splits of a level, in local memory, and what finding them takes.
typedef struct {
	int bin[NODES / 2];  // or CLOSED, or OPEN
	uint feature[NODES / 2];
	Grown grown;
	int top[ITEMS];
	uint at[ITEMS];
	uint bins[BINS / 32];
	int found;
} Choice;

#define CLOSED -1 // the node is not split
#define OPEN -2   // no split gains anything

// chooseGains takes the best split of each node of a level, if it gains anything.
INLINE void chooseGains(constant Job *j, global const State *s, global const Tree *t, global const uint *columns,
		global const int *gains, global const uint *bests, int level, local Choice *c) {
	int item = get_local_id(0), each = ITEMS >> level, v = item / each, lane = item % each, here = (1 << level) - 1 + v;
	int across = (j->k + WIDTH - 1) / WIDTH;
	loadGrown(&c->grown, t, level);
	Stats own = statsOf(&c->grown, here);
	int open = isOpen(j, own), top = -1;
	uint best = 0;
	for (int g = lane; open && g < across; g += each) {
		int gain = gains[here * across + g];
		if (gain > top)
			top = gain, best = bests[here * across + g];
	}
	c->top[item] = top, c->at[item] = best;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int by = each / 2; by > 0; by /= 2) {
		if (lane < by) {
			int other = c->top[item + by];
			if (other > c->top[item] || other == c->top[item] && c->at[item + by] < c->at[item])
				c->top[item] = other, c->at[item] = c->at[item + by];
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (lane == 0) {
		int isGain = open && c->top[item] > (int)abs(own.sum);
		c->bin[v] = isGain ? (int)(c->at[item] % BINS) : open ? OPEN : CLOSED;
		c->feature[v] = isGain ? candidatesOf(j, s, columns, here)[c->at[item] / BINS] : 0;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
}

// choosePossible splits a node in which nothing gains by the first column that has two bins with rows of the node, at
// the lowest.
INLINE void choosePossible(constant Job *j, global const uint *list, global const uchar *x, global const uchar *node, int v,
		local Choice *c) {
	int item = get_local_id(0), isDone = 0;
	for (int k = 0; k < j->k && !isDone; k++) {
		if (item < BINS / 32)
			c->bins[item] = 0;
		barrier(CLK_LOCAL_MEM_FENCE);
		global const uchar *column = x + (long)list[k] * j->stride;
		for (int r = item; r < j->n; r += ITEMS)
			if (node[r] == v)
				atomic_or(&c->bins[column[r] >> 5], 1u << (column[r] & 31));
		barrier(CLK_LOCAL_MEM_FENCE);
		if (item == 0) {
			int many = 0, low = CLOSED;
			for (int w = BINS / 32 - 1; w >= 0; w--) {
				many += popcount(c->bins[w]);
				if (c->bins[w])
					low = 32 * w + 31 - clz(c->bins[w] & -c->bins[w]);
			}
			c->found = many > 1;
			c->bin[v] = many > 1 ? low : CLOSED, c->feature[v] = list[k];
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		isDone = c->found;
	}
}

// writeSplits copies the splits of a level to the tree.
INLINE void writeSplits(global Tree *t, local const Choice *c, int level) {
	for (int v = get_local_id(0), first = (1 << level) - 1; v < 1 << level; v += ITEMS) {
		int isClosed = c->bin[v] < 0;
		t->closed[first + v] = isClosed;
		t->feature[first + v] = isClosed ? 0 : c->feature[v];
		t->bin[first + v] = isClosed ? NONE : c->bin[v];
	}
}
