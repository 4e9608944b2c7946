/* a*b + c, rounded once. Without an instruction for it: the product is exact in double, and the sum is rounded to
   odd where rounding it twice could matter (Boldo and Melquiond, IEEE TC 2008). */
static float hg_fma(float a, float b, float c) {
#if defined(FP_FAST_FMAF) || defined(__FP_FAST_FMAF)
  return fmaf(a, b, c);
#else
  const double p = (double)a * b, q = c;
  double s = p + q;
  uint64_t u;
  memcpy(&u, &s, sizeof u);
  if ((u & 0x1fffffff) == 0x10000000 || (u & INT64_MAX) < (uint64_t)897 << 52) {
    const double r = s - p, lost = (p - (s - r)) + (q - r);
    if (lost != 0 && s - s == 0 && (u & 1) == 0) u = (lost > 0) == (s > 0) ? u + 1 : u - 1;
    memcpy(&s, &u, sizeof s);
  }
  return (float)s;
#endif
}

/* The products of x and the columns of a table of dim rows: for each 512 rows a chain of fused multiply-adds in
   float, and the sum of those in double. */
static void hg_times(double *sums, const float *x, int dim, int out, const uint32_t *weight) {
  float part[HG_WIDEST];
  for (int i = 0; i < out; i++) sums[i] = 0;
  for (int lo = 0; lo < dim; lo += 512) {
    const int hi = dim - lo > 512 ? lo + 512 : dim;
    for (int i = 0; i < out; i++) part[i] = 0;
    for (int j = lo; j < hi; j++) {
      const uint32_t *w = weight + (size_t)j * out;
      for (int i = 0; i < out; i++) part[i] = hg_fma(x[j], hg_float(w[i]), part[i]);
    }
    for (int i = 0; i < out; i++) sums[i] += part[i];
  }
}
