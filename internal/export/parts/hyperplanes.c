/* The bin of a value of column j: the number of edges up to it, or without edges the nearest of 256 equal steps.
   Missing values have bin 0 to themselves where there are some. */
static uint32_t hg_bin(float x, int j, uint32_t lowest) {
  if (x != x) return 0;
  if (hg_first_edge[j] < hg_first_edge[j + 1]) {
    uint32_t i = hg_first_edge[j];
    while (i < hg_first_edge[j + 1] && hg_edge[i] <= x) i++;
    return lowest + i - hg_first_edge[j];
  }
  const double t = (x - hg_lowest[j]) * hg_per_unit[j] + 0.5;
  const uint32_t bin = t >= 255 ? 255 : t >= 1 ? (uint32_t)t : 0;
  return bin < lowest ? lowest : bin;
}

/* The bits of hyperplanes over bins: the sign of bias + sum of weight times bin. */
static void hg_hyperplanes(uint8_t *code, const float *x, int dim, int bits, uint32_t lowest) {
  uint8_t bin[HG_WIDEST];
  for (int j = 0; j < dim; j++) bin[j] = (uint8_t)hg_bin(x[j], j, lowest);
  for (int k = 0; k < bits; k++) {
    int64_t score = hg_bias[k];
    const int32_t *w = hg_weight + (size_t)k * dim;
    for (int j = 0; j < dim; j++) score += (int64_t)w[j] * bin[j];
    if (score >= 0) code[k / 8] |= (uint8_t)(0x80 >> k % 8);
  }
}
