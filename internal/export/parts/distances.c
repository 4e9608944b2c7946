/* The squared distances of x to points, all less the centre: |x|^2 - 2 x a + |a|^2. */
static void hg_distances(double *d, const float *x, int dim, int out, const uint32_t *centre, const uint32_t *points,
                         const double *squares) {
  float v[HG_WIDEST];
  double own = 0;
  for (int j = 0; j < dim; j++) {
    v[j] = x[j] - hg_float(centre[j]);
    own += (double)v[j] * v[j];
  }
  hg_times(d, v, dim, out, points);
  for (int q = 0; q < out; q++) {
    const double s = own - 2 * d[q] + squares[q];
    d[q] = s > -DBL_MAX && s < DBL_MAX ? (s > 0 ? s : 0) : DBL_MAX;
  }
}
