/* A copy in which means, or zeros without them, stand for missing values. */
static void hg_fill(float *y, const float *x, int dim, const uint32_t *mean) {
  for (int j = 0; j < dim; j++) y[j] = x[j] == x[j] ? x[j] : mean ? hg_float(mean[j]) : 0;
}
