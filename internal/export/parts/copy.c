static void hg_copy(float *y, const float *x, int dim) {
  for (int j = 0; j < dim; j++) y[j] = x[j];
}
