// Step 2 of FastHash on a device: the rounds of package boost, tree by tree, without asking the host in between. Every
// sum is one of integers, or is taken in the order in which package boost takes it, so the trees are the same to the last
// bit. In the letters of package boost, for each round
//
//	gather, find    the least mass and row that a tree sees            trim.go
//	place           the rows that it sees are in node 0
//	for each level
//		count       the signed mass in every bin of every column       histogram.go
//		split       the best split of each node and 16 columns         split.go
//		move        rows go to the children, by the best of these splits; by the first possible one if none gains
//	slopes, answers leaves of all rows, and what they sum up to        predict.go, logistic.go
//	weigh           weights, scores and masses for the next round
//
// Up to a hundred thousand rows, a round is short, and starting a kernel takes longer than most of them do. So what one
// group can do in a microsecond, such as choosing splits or finding the values of leaves, every group of the next kernel
// does again for itself.
//
// A row has the number of its node in the level that grows, one byte, and never moves. A group of
// work-items counts a few columns over a stretch of rows in local memory and adds the result to global memory. If all
// nodes have the same columns, only the smaller of two siblings is counted, and the other is what the parent leaves.

#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// A barrier in a function that is not inlined is wrong under PoCL 3.1 as soon as two groups run at a time.
#define INLINE __attribute__((always_inline)) static inline

#define ITEMS 256      // work-items in a group, but of answers
#define GROUP(items) __attribute__((reqd_work_group_size(items, 1, 1)))
#define NODES 256      // more than a tree of the greatest depth has splits; as many as it has leaves
#define BINS 256
#define NONE 255       // the node of a row that the level does not see, and the bin of a split that sends all rows left
#define MAGNITUDES 2048
#define WIDTH 16       // columns in a group of split, each of 16 work-items
#define BLOCK 4096     // rows whose weights are summed one after the other

// Job holds what does not change while a bit is learned. Its fields are those of job in layout.go.
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
	int logistic, lazy, trimmed, shared, coarse, drawn;
	int stride;        // bytes between columns of x
} Job;

// State is what one round leaves to the next.
typedef struct {
	int round;         // -1 before the first
	int edge;          // the magnitude in which the share of the mass is reached
	uint limit;        // how much of the share is left for it
	uint listed;       // rows of that magnitude
	int leastMass, leastRow;
} State;

// Tree is the tree that grows, by nodes in heap order.
typedef struct {
	int rows, sum, plus; // of the root: rows, signed mass, rows with z = +1
	int leftRows[NODES], leftSum[NODES], leftPlus[NODES]; // what goes left
	int next[NODES];     // lowest bin that goes right
	uint feature[NODES];
	int bin[NODES];
	int closed[NODES];   // not split
	int slope[NODES], curve[NODES]; // by leaf: signed g, and h
} Tree;

typedef struct { int rows, sum, plus; } Stats;

// Grown is what is known of the levels above one, in local memory: reading it node by node from global memory would take
// longer than the search for a split.
typedef struct {
	int rows, sum, plus;
	int leftRows[NODES / 2], leftSum[NODES / 2], leftPlus[NODES / 2], closed[NODES / 2];
} Grown;

INLINE void loadGrown(local Grown *g, global const Tree *t, int level) {
	for (int at = get_local_id(0); at < (1 << level) - 1; at += get_local_size(0)) {
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
