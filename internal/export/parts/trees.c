/* The bits of trees: go right iff x[feature] >= edge, and take the sign of the sum of +-weight. */
static void hg_trees(uint8_t *code, const float *x, int bits) {
  for (int k = 0; k < bits; k++) {
    int64_t score = 0;
    const uint32_t splits = (1u << hg_depth[k]) - 1, words = splits < 64 ? 1 : (splits + 1) / 64;
    for (uint32_t q = 0; q < hg_first_tree[k + 1] - hg_first_tree[k]; q++) {
      const uint32_t base = hg_first_split[k] + q * splits;
      uint32_t node = 0;
      for (int d = 0; d < hg_depth[k]; d++) {
        const uint32_t at = base + node;
        node = 2 * node + 1 + (x[hg_feature[at]] >= hg_edge[at]);
      }
      node -= splits;
      const uint64_t leaf = hg_leaves[hg_first_leaf[k] + q * words + node / 64] >> (node % 64) & 1;
      const int64_t weight = hg_weight[hg_first_tree[k] + q];
      score += leaf ? weight : -weight;
    }
    if (score >= 0) code[k / 8] |= (uint8_t)(0x80 >> k % 8);
  }
}
