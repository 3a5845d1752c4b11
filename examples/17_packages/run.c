/* Runs the package of lesson 17 from C: x is 0, 1/8, 2/8, ... in 4 rows of 8.
 *
 *   run_package FILE
 */
#include <stdio.h>
#include <tilewright/c_api.h>

static int fail(void) {
  fprintf(stderr, "%s\n", tilewright_last_error());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: run_package FILE\n");
    return 2;
  }
  tilewright_package* package = tilewright_load(argv[1]);
  if (package == NULL) return fail();

  /* The second function of the package takes 4 rows. */
  tilewright_tensor_info in, out;
  if (tilewright_input(package, 1, 0, &in) != 0 || tilewright_output(package, 1, 0, &out) != 0)
    return fail();
  printf("takes %s of %lld bytes, gives %s of %lld bytes\n", in.name, (long long)in.bytes, out.name,
         (long long)out.bytes);

  float x[4 * 8], y[4 * 3];
  if (in.bytes != sizeof x || out.bytes != sizeof y) return 1;
  for (int i = 0; i < 4 * 8; ++i) x[i] = (float)i / 8;
  const tilewright_tensor input = {in.dtype, in.rank, in.shape, x};
  const tilewright_tensor output = {out.dtype, out.rank, out.shape, y};
  if (tilewright_run(package, &input, 1, &output, 1) != 0) return fail();
  for (int i = 0; i < 4; ++i) printf("%.4f %.4f %.4f\n", y[3 * i], y[3 * i + 1], y[3 * i + 2]);

  tilewright_free(package);
  return 0;
}
