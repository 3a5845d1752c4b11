// Running packages from C, and from every language that calls C.
//
//   #include <tilewright/c_api.h>
//   const int64_t sizes[] = {4, 8};
//   float input[32] = {0}, output[32];
//   tilewright_package* model = tilewright_load("model.twp");
//   if (model == NULL) puts(tilewright_last_error());
//   const tilewright_tensor x = {"f32", 2, sizes, input}, y = {"f32", 2, sizes, output};
//   if (tilewright_run(model, &x, 1, &y, 1) != 0) puts(tilewright_last_error());
//   tilewright_free(model);
//
// Packages are made by save_package() in C++ or by `tilewright package`. This header needs nothing
// but C99; the library behind it needs neither LLVM nor C++ in the caller. No function throws or
// ends the process: each says by what it returns that it failed, and tilewright_last_error() says
// why.
//
// Threads: any number of threads may run and describe one package at once. A package is loaded and
// freed by one thread, and freed after every run of it has returned. The text of an error belongs
// to the thread that called. A package is code: load it only from where you would run a program.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tilewright_package tilewright_package;

// A tensor in memory of the caller's, row-major. Elements are named "f32", "f16", "bf16", "f64",
// "i8", "i16", "i32", "i64", "u8", "bool" (a byte, 0 or 1) and so on, as tilewright_describe()
// shows them. `shape` has `rank` sizes, and may be null where rank is 0. Memory that begins at a
// multiple of 64 bytes saves a copy of each output.
typedef struct {
  const char* dtype;
  int32_t rank;
  const int64_t* shape;
  void* data;
} tilewright_tensor;

// A tensor that a package takes or gives. The text and the shape belong to the package.
typedef struct {
  const char* name;
  const char* dtype;
  int32_t rank;
  const int64_t* shape;
  int64_t bytes;
  int32_t is_written;  // an input that is changed in place
} tilewright_tensor_info;

// Null where it failed. Weights are pages of the file, read when a run touches them and shared with
// other processes; the hashes of the plan and of the code are compared. The file may be removed, or
// replaced by renaming another one, but not be written to or cut off in place while it is loaded.
// Where there is code for several instruction sets, that for the best one that the processor has is
// run, or for the one that the environment's TILEWRIGHT_CPU names.
tilewright_package* tilewright_load(const char* file);
// The same with flags, joined by |, or 0.
#define TILEWRIGHT_LOAD_COPIED 1u    // weights are copied: later changes of the file do not matter
#define TILEWRIGHT_LOAD_VERIFIED 2u  // the hashes of weights are compared too, which reads them all
tilewright_package* tilewright_load_with(const char* file, uint32_t flags);
// Null is allowed.
void tilewright_free(tilewright_package* package);

// A package has functions of one or more signatures, which differ in dtypes and shapes.
size_t tilewright_signatures(const tilewright_package* package);
// 0 for a signature that is not there.
size_t tilewright_inputs(const tilewright_package* package, size_t signature);
size_t tilewright_outputs(const tilewright_package* package, size_t signature);
// 0: it is in `info`. -1: there is no such tensor.
int tilewright_input(const tilewright_package* package, size_t signature, size_t number,
                     tilewright_tensor_info* info);
int tilewright_output(const tilewright_package* package, size_t signature, size_t number,
                      tilewright_tensor_info* info);
// The processor that it needs, its inputs and outputs, as text that belongs to the package.
const char* tilewright_describe(const tilewright_package* package);

// Runs the function whose signature the inputs have, and writes the outputs, all of which are
// described. 0: it is done. -1: it failed; outputs, and inputs that are written, have then been
// written or not. No output may share memory with an input or another output.
int tilewright_run(const tilewright_package* package, const tilewright_tensor* inputs,
                   size_t input_count, const tilewright_tensor* outputs, size_t output_count);

// The reason of the last failure in this thread; empty before the first. It is valid until the next
// call of this thread.
const char* tilewright_last_error(void);

#ifdef __cplusplus
}
#endif
