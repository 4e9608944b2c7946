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
	else if (j->lazy == 0 && j->drawn)
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
	else if (j->drawn)
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
