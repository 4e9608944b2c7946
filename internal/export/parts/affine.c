/* y = W (scale (x - mean)) + bias, of length 1 if unit is set. Any table may be missing. */
static void hg_affine(float *y, const float *x, int dim, int out, const uint32_t *mean, const uint32_t *scale,
                      const uint32_t *weight, const uint32_t *bias, int unit) {
  float v[HG_WIDEST];
  double sums[HG_WIDEST], square = 0;
  for (int j = 0; j < dim; j++) {
    v[j] = mean ? x[j] - hg_float(mean[j]) : x[j];
    if (scale) v[j] *= hg_float(scale[j]);
  }
  if (weight) {
    hg_times(sums, v, dim, out, weight);
  } else {
    for (int i = 0; i < out; i++) sums[i] = v[i];
  }
  for (int i = 0; i < out; i++) y[i] = hg_settle(sums[i] + (bias ? hg_float(bias[i]) : 0));
  if (!unit) return;
  for (int i = 0; i < out; i++) square += (double)y[i] * y[i];
  if (square == 0) return;
  const double length = sqrt(square);
  for (int i = 0; i < out; i++) y[i] = (float)(y[i] / length);
}
