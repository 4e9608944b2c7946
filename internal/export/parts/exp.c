/* e^x for x <= 0; below the range of float it is zero. */
static double hg_exp(double x) {
  static const double terms[] = {
    1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
    1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1,
  };
  if (!(x > -104)) return 0;
  const double t = x * 0x1.71547652b82fep+00 + 0.5;
  int64_t k = (int64_t)t;
  if ((double)k > t) k--;
  const double r = x - (double)k * 0x1.62e42feep-1 - (double)k * 0x1.a39ef35793c76p-33;
  double sum = terms[0], power;
  for (int i = 1; i < 14; i++) sum = sum * r + terms[i];
  const uint64_t bits = (uint64_t)(1023 + k) << 52;
  memcpy(&power, &bits, sizeof power);
  return sum * power;
}
