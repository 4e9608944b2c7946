/* Gaussians of squared distances, or without a width the distances, less their means. */
static void hg_kernel(float *y, const double *d, int out, double width, const uint32_t *mean) {
  for (int q = 0; q < out; q++) {
    const double v = width > 0 ? hg_exp(-d[q] / width) : d[q];
    y[q] = hg_settle(mean ? v - hg_float(mean[q]) : v);
  }
}
