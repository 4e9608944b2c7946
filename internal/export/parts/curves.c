/* Functions of single columns that are linear between knots. */
static void hg_curves(float *y, const float *x, int out, const uint32_t *column, const uint32_t *first,
                      const uint32_t *places, const uint32_t *values) {
  for (int k = 0; k < out; k++) {
    const float v = x[column[k]];
    uint32_t i = first[k];
    while (i + 2 < first[k + 1] && hg_float(places[i + 1]) <= v) i++;
    const double x0 = hg_float(places[i]), x1 = hg_float(places[i + 1]);
    const double y0 = hg_float(values[i]), y1 = hg_float(values[i + 1]);
    y[k] = hg_settle(y0 + (v - x0) * ((y1 - y0) / (x1 - x0)));
  }
}
