/* Rounds to float and keeps values finite. */
static float hg_settle(double v) {
  if (v >= FLT_MAX) return FLT_MAX;
  if (v <= -FLT_MAX) return -FLT_MAX;
  return v != v ? 0 : (float)v;
}
