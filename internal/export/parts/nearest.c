/* The shares of the nearest points, of which the first counts if two are as near, and zero for the others. */
static void hg_nearest(float *y, const double *d, int out, int nearest, double width) {
  int near[HG_WIDEST];
  double share[HG_WIDEST], sum = 0;
  int last = -1;
  for (int k = 0; k < nearest; k++) {
    int best = -1;
    for (int q = 0; q < out; q++) {
      const int later = last < 0 || d[q] > d[last] || (d[q] == d[last] && q > last);
      if (later && (best < 0 || d[q] < d[best])) best = q;
    }
    near[k] = last = best;
    share[k] = hg_exp((d[near[0]] - d[best]) / width);
    sum += share[k];
  }
  for (int q = 0; q < out; q++) y[q] = 0;
  for (int k = 0; k < nearest; k++) y[near[k]] = (float)(share[k] / sum);
}
