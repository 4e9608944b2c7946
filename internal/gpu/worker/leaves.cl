// Rows in a tree: to the children of their nodes, into leaves, and what the leaves and the ensemble say of them.

INLINE global const uchar *columnOf(constant Job *j, global const uchar *x, uint feature) {
	return x + (long)feature * j->stride;
}

// move sends the rows of a level to the children of their nodes, and clears the histograms of the next level. Every
// group chooses the splits, and the first writes them down.
GROUP(ITEMS) kernel void move(constant Job *j, global const State *s, global Tree *t, global const uchar *x,
		global const uint *columns, global const int *signedMass, global uchar *node, global uchar *moved,
		global int *histograms, global const int *gains, global const uint *bests, int level) {
	local int rows[NODES / 2], sum[NODES / 2], plus[NODES / 2], next[NODES / 2];
	local Choice choice;
	int item = get_local_id(0), first = (1 << level) - 1;
	for (int v = item; v < 1 << level; v += ITEMS) {
		rows[v] = sum[v] = plus[v] = 0;
		next[v] = BINS;
	}
	chooseGains(j, s, t, columns, gains, bests, level, &choice);
	for (int v = 0; v < 1 << level; v++)
		if (choice.bin[v] == OPEN)
			choosePossible(j, candidatesOf(j, s, columns, first + v), x, node, v, &choice);
	if (get_group_id(0) == 0)
		writeSplits(t, &choice, level);
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int r = get_global_id(0); r < j->n; r += get_global_size(0)) {
		int v = node[r], to = NONE;
		if (v != NONE && choice.bin[v] != CLOSED) {
			int bin = columnOf(j, x, choice.feature[v])[r];
			if (bin > choice.bin[v]) {
				if (bin < next[v])
					atomic_min(&next[v], bin);
				to = 2 * v + 1;
			} else {
				int m = signedMass[r];
				atomic_add(&rows[v], 1);
				atomic_add(&sum[v], m);
				if (m > 0)
					atomic_add(&plus[v], 1);
				to = 2 * v;
			}
		}
		moved[r] = to;
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

// Finished is a finished tree in local memory, with the thresholds in the middle of gaps.
typedef struct {
	int bin[NODES];
	uint feature[NODES];
} Finished;

// finish copies the finished tree to local memory, and to the results.
INLINE void finish(constant Job *j, global const State *s, global const Tree *t, local Finished *f, global uint *features,
		global uchar *bins) {
	int root = t->closed[0] ? 0 : t->feature[0];
	for (int at = get_local_id(0); at < j->splits; at += get_local_size(0)) {
		int closed = t->closed[at];
		f->bin[at] = closed ? NONE : (t->bin[at] + t->next[at] - 1) / 2;
		f->feature[at] = closed ? root : t->feature[at];
		if (get_group_id(0) == 0) {
			features[s->round * j->splits + at] = f->feature[at];
			bins[s->round * j->splits + at] = f->bin[at];
		}
	}
}

INLINE int leafOf(constant Job *j, global const uchar *x, local const Finished *f, int r) {
	int at = 0;
	while (at < j->splits)
		at = 2 * at + 1 + (f->bin[at] != NONE && columnOf(j, x, f->feature[at])[r] > f->bin[at]);
	return at - j->splits;
}

// slopes finds the leaf of every row, and sums g and h by leaf, for logistic boosting.
GROUP(ITEMS) kernel void slopes(constant Job *j, global const State *s, global Tree *t, global const uchar *x, global const uint *z,
		global const double *u, global const int *score, global const float *chance, global const int *mass,
		global uchar *leaf, global uint *features, global uchar *bins) {
	local int slope[NODES], curve[NODES];
	local Finished finished;
	int item = get_local_id(0);
	for (int l = item; l < NODES; l += ITEMS)
		slope[l] = curve[l] = 0;
	finish(j, s, t, &finished, features, bins);
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int r = get_global_id(0); r < j->n; r += get_global_size(0)) {
		int l = leafOf(j, x, &finished, r), up = bitOf(z, r);
		leaf[r] = l;
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

#define PART 2048 // weights that fit local memory twice

// answers finds what the tree says of every row, and V+ and V- of each block of rows, for AdaBoost. A group has a block.
// The weights are added up one after the other, as package boost does, so a group has as many work-items as the device
// allows, to be soon done with the rest.
GROUP(ANSWERERS) kernel void answers(constant Job *j, global const State *s, global Tree *t, global const uchar *x, global const uint *z,
		global const double *u, global uint *said, global double *sums, global uint *features, global uchar *bins,
		global uint *leaves) {
	local Finished finished;
	local uint sign[NODES / 32], right[BLOCK / 32];
	local double wrongs[PART], rights[PART]; // some weights by what the tree says of the row, and 0 in the other
	double weight[BLOCK / ANSWERERS];
	int item = get_local_id(0), block = get_group_id(0);
	if (item < NODES / 32)
		sign[item] = 0;
	if (item < BLOCK / 32)
		right[item] = 0;
	finish(j, s, t, &finished, features, bins);
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
#pragma unroll
	for (int k = 0; k < BLOCK / ANSWERERS; k++) {
		int i = k * ANSWERERS + item, r = block * BLOCK + i;
		weight[k] = i < rows ? u[r] : 0; // past the last row the weights are 0, and adding 0 changes nothing
		if (i >= rows)
			continue;
		int l = leafOf(j, x, &finished, r);
		if ((sign[l >> 5] >> (l & 31) & 1) == bitOf(z, r))
			atomic_or(&right[i >> 5], 1u << (i & 31));
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (32 * item < rows) {
		uint past = rows - 32 * item < 32 ? ~0u << (rows - 32 * item) : 0;
		said[block * (BLOCK / 32) + item] = ~(right[item] ^ z[block * (BLOCK / 32) + item]) & ~past;
	}
	double sum = 0;
#pragma unroll
	for (int k = 0; k < BLOCK / ANSWERERS; k++) {
		int i = k * ANSWERERS + item, isRight = right[i >> 5] >> (i & 31) & 1;
		wrongs[i % PART] = isRight ? 0 : weight[k];
		rights[i % PART] = isRight ? weight[k] : 0;
		if ((k + 1) * ANSWERERS % PART)
			continue;
		barrier(CLK_LOCAL_MEM_FENCE);
		if (item < 2) {
			local const double *from = item ? rights : wrongs;
			double8 next = vload8(0, from);
			for (int w = 1; w <= PART / 8; w++) { // the next weights are on their way while these are added
				double8 v = next;
				next = vload8(w % (PART / 8), from);
				sum += v.s0;
				sum += v.s1;
				sum += v.s2;
				sum += v.s3;
				sum += v.s4;
				sum += v.s5;
				sum += v.s6;
				sum += v.s7;
			}
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (item < 2)
		sums[2 * block + item] = sum;
}

INLINE int oddMultiple(int v, int unit, int most) {
	int k = min((int)abs(v) / unit / 2 * 2 + 1, most);
	return v < 0 ? -k : k;
}

#define UNITS 13  // tried for the values of leaves
#define SOME 64   // leaves at a time

// Settled is what the last tree means for the rows, in local memory.
typedef struct {
	int value[NODES];           // by leaf, of logistic boosting
	double right, wrong, total; // factors and sum of the weights, of AdaBoost
	int curve[NODES];
	int top, unit, tried[UNITS];
	double terms[UNITS * SOME], costs[UNITS], sums[2];
} Settled;

// settle finds the values of the leaves, for logistic boosting.
INLINE void settle(constant Job *j, global const Tree *t, int round, local Settled *to, global int *units,
		global uchar *digits) {
	int item = get_local_id(0), leaves = j->splits + 1;
	if (item == 0)
		to->top = to->unit = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (item < leaves) {
		long h = (long)t->curve[item] + j->ridge;
		long v = 0;
		if (h > 0)
			v = clamp((long)t->slope[item] * j->rate / (h * 16), (long)-j->topLeaf, (long)j->topLeaf);
		to->value[item] = v;
		to->curve[item] = t->curve[item];
		if (v)
			atomic_max(&to->top, (int)abs((int)v));
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	int top = to->top;
	if (item < UNITS) {
		to->tried[item] = max(1, (int)((long)top * (item + 4) / (long)(16 * j->most)));
		to->costs[item] = 0;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int first = 0; top > 0 && first < leaves; first += SOME) {
		int some = min(SOME, leaves - first);
		for (int i = item; i < UNITS * SOME; i += ITEMS) {
			int l = first + i % SOME, unit = to->tried[i / SOME];
			if (i % SOME >= some)
				continue;
			double d = to->value[l] - oddMultiple(to->value[l], unit, j->most) * unit;
			double square = d * d;
			to->terms[i] = (double)to->curve[l] * square;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		if (item < UNITS) { // in the order of package boost
			double cost = to->costs[item];
			for (int l = 0; l < some; l++)
				cost += to->terms[item * SOME + l];
			to->costs[item] = cost;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (item == 0 && top > 0) {
		int best = 0;
		for (int k = 1; k < UNITS; k++)
			if (to->costs[k] < to->costs[best])
				best = k;
		to->unit = to->tried[best];
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	int isFirst = get_group_id(0) == 0 && round >= 0;
	if (item < leaves) {
		int k = top > 0 ? oddMultiple(to->value[item], to->unit, j->most) : 0;
		to->value[item] = k * to->unit;
		if (isFirst)
			digits[round * NODES + item] = (k + j->most) / 2;
	}
	if (isFirst && item == 0)
		units[round] = to->unit;
	barrier(CLK_LOCAL_MEM_FENCE);
}

// judge sums V- and V+ of the blocks, and finds the factors of the weights, for AdaBoost.
INLINE void judge(constant Job *j, int round, global const double *sums, local Settled *to, global double *results) {
	int item = get_local_id(0), all = round < 0 ? 0 : 2 * ((j->n + BLOCK - 1) / BLOCK);
	double sum = 0;
	for (int first = 0; first < all; first += UNITS * SOME) {
		int some = min(UNITS * SOME, all - first);
		for (int i = item; i < some; i += ITEMS)
			to->terms[i] = sums[first + i];
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int i = item; item < 2 && i < some; i += 2)
			sum += to->terms[i];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (item < 2) {
		to->sums[item] = sum;
		if (get_group_id(0) == 0 && round >= 0)
			results[2 * round + item] = sum;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (item == 0) {
		double isWrong = to->sums[0], isRight = to->sums[1], n = j->n;
		double right = 1, wrong = 1;
		int counts = 1;
		if (isWrong > 0x1p-52 && isRight <= isWrong)
			counts = 0;
		else if (isWrong > 0x1p-52)
			wrong = isRight / isWrong;
		else
			wrong = n * 1e8 * n * 1e8;
		double sum = isWrong * wrong;
		sum = isRight + sum;
		if (counts && sum > 4 * n) {
			right = n / sum;
			wrong *= right;
		}
		double a = isRight * right, b = isWrong * wrong;
		to->right = right, to->wrong = wrong, to->total = a + b;
		if (round < 0) // nothing is known yet
			to->right = to->wrong = 1, to->total = n;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
}
