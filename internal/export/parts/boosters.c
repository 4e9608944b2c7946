/* The bits of boosters: the sum of the leaves that x reaches, rounded after every addition, is above zero. A split
   goes left, to the next node, iff x[column] < value. */
static void hg_boosters(uint8_t *code, const float *x, int bits, int wide) {
  for (int k = 0; k < bits; k++) {
    double sum = hg_base[k];
    for (uint32_t q = hg_first_tree[k]; q < hg_first_tree[k + 1]; q++) {
      uint32_t node = hg_first_node[q];
      while (hg_column[node] >= 0) {
        node = (double)x[hg_column[node]] < hg_value[node] ? node + 1 : hg_first_node[q] + (uint32_t)hg_right[node];
      }
      sum += hg_value[node];
      if (!wide) sum = (float)sum;
    }
    if (sum > 0) code[k / 8] |= (uint8_t)(0x80 >> k % 8);
  }
}
