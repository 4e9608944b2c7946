/* Gaussians around anchors of bytes: x in whole steps, exact distances, and 2^-(scale d) by a polynomial. */
static void hg_bytes(float *y, const float *x, int dim, int out, const int8_t *anchors, float per_step, float scale) {
  int8_t q[HG_WIDEST];
  for (int j = 0; j < dim; j++) {
    const float v = x[j] * per_step;
    /* Adding and taking away 3 2^51 rounds to an integer, ties to even. */
    q[j] = (int8_t)((double)(v > -127 ? (v < 127 ? v : 127) : -127) + 6755399441055744.0 - 6755399441055744.0);
  }
  for (int k = 0; k < out; k++) {
    const int8_t *a = anchors + (size_t)k * dim;
    int32_t d = 0;
    for (int j = 0; j < dim; j++) d += (q[j] - a[j]) * (q[j] - a[j]);
    float t = (float)d * scale;
    if (t > 100) t = 100;
    const int32_t n = (int32_t)t;
    const float r = t - (float)n;
    float p = 0.0067778736276791875f * r + -0.0531276789940586f;
    p = p * r + 0.23940567669770346f;
    p = p * r + -0.6930558713313241f;
    p = p * r + 1;
    uint32_t bits;
    memcpy(&bits, &p, sizeof bits);
    y[k] = hg_float(bits - ((uint32_t)n << 23));
  }
}
