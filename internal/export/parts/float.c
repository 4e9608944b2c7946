/* The value of a table of floats, which are written as their bits. */
static float hg_float(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
