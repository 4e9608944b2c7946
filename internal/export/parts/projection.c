/* The bits of hyperplanes over values, from the bit first on: the sum of w (x - mean), in double and in order, at
   least the threshold. */
static void hg_projection(uint8_t *code, const float *x, int first, int dim, int bits, const uint32_t *mean,
                          const uint32_t *weight, const uint32_t *threshold) {
  double v[HG_WIDEST];
  for (int j = 0; j < dim; j++) v[j] = (double)x[j] - (mean ? hg_float(mean[j]) : 0);
  for (int k = 0; k < bits; k++) {
    double score = 0;
    const uint32_t *w = weight + (size_t)k * dim;
    for (int j = 0; j < dim; j++) score += (double)hg_float(w[j]) * v[j];
    if (score >= hg_float(threshold[k])) code[(first + k) / 8] |= (uint8_t)(0x80 >> (first + k) % 8);
  }
}
