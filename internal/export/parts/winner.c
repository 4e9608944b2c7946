/* One for the largest value, the first if several are, and zero for the others. */
static void hg_winner(float *y, const float *x, int out) {
  int best = 0;
  for (int k = 0; k < out; k++) {
    y[k] = 0;
    if (x[k] > x[best]) best = k;
  }
  y[best] = 1;
}
