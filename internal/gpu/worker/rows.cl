// The rows of a round: their masses, and which of them the tree sees.

// weigh settles the last tree, applies it to scores or weights, and sets the masses.
GROUP(ITEMS) kernel void weigh(constant Job *j, global const State *s, global const Tree *t, global const uint *z,
		global double *u, global int *score, global const uchar *leaf, global const float *chance, global const uint *said,
		global int *mass, global uint *magnitudes, global const double *blockSums, global double *results, global int *units, global uchar *digits) {
	local uint sums[MAGNITUDES];
	local Settled settled;
	int item = get_local_id(0), round = s->round;
	for (int k = item; k < MAGNITUDES; k += ITEMS)
		sums[k] = 0;
	if (j->logistic)
		settle(j, t, round, &settled, units, digits);
	else
		judge(j, round, blockSums, &settled, results);
	double scale = j->coarse ? j->room / fmin(j->swelled, settled.total * 1.000001) : j->scale;
	double right = settled.right, wrong = settled.wrong;
	for (int r = get_global_id(0); r < j->n; r += get_global_size(0)) {
		double w;
		int up = bitOf(z, r);
		if (j->logistic) {
			int f = score[r] + settled.value[leaf[r]];
			score[r] = f;
			w = u[r] * chanceOf(j, chance, f, up);
		} else {
			w = u[r] * (bitOf(said, r) == up ? right : wrong);
			u[r] = w;
		}
		int m = max(1, (int)(w * scale + 0.5));
		mass[r] = m;
		atomic_add(&sums[magnitude(m)], (uint)m);
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int k = item; k < MAGNITUDES; k += ITEMS)
		if (sums[k])
			atomic_add(&magnitudes[k], sums[k]);
}

// gather lists the rows of the magnitude in which the share is reached, in any order.
GROUP(ITEMS) kernel void gather(constant Job *j, global State *s, global const int *mass, global const uint *magnitudes,
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
GROUP(ITEMS) kernel void find(constant Job *j, global State *s, global Tree *t, global const ulong *list) {
	local uint h[ITEMS], sums[ITEMS];
	local ulong prefix;
	local uint limit;
	int item = get_local_id(0);
	for (int at = item; at < NODES; at += ITEMS) {
		t->leftRows[at] = t->leftSum[at] = t->leftPlus[at] = t->slope[at] = t->curve[at] = 0;
		t->next[at] = BINS;
	}
	if (item == 0)
		t->rows = t->sum = t->plus = 0;
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
GROUP(ITEMS) kernel void place(constant Job *j, global const State *s, global Tree *t, global const uint *z,
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
