/* The shares exp(x_k) / (sum of the same over all). */
static void hg_shares(float *y, const float *x, int out) {
  double share[HG_WIDEST], sum = 0;
  float top = x[0];
  for (int k = 0; k < out; k++) top = x[k] > top ? x[k] : top;
  for (int k = 0; k < out; k++) {
    share[k] = hg_exp((double)x[k] - top);
    sum += share[k];
  }
  for (int k = 0; k < out; k++) y[k] = hg_settle(share[k] / sum);
}
