// Rows in a tree: to the children of their nodes, into leaves, and what the leaves and the ensemble say of them.

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
