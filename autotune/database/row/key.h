// Which tuning problem a measurement belongs to, as a record that people can read.
//
// A key has four parts: the kernel, the problem (sizes, element types, strides, divisibility), the
// device, and the compiler that made the code. The first three are the *question*: what would be
// measured. The compiler is apart, because a measurement by another build is a good guess where one
// by this build is an answer. Hashes are for finding; a key that is not found can say in which
// field it differs from the nearest one that is there.
#pragma once

#include "autotune/database/row/record.h"
#include "runtime/base/hash.h"

namespace tilewright::autotune {

struct TuningKey {
  std::string kernel;  // its name, for people: two kernels of equal hash are one
  Hash kernel_hash;    // of the compiled program: a region's key, or the text of a tile program
  Record problem;      // rows=1024 columns=4096 dtype=f32 ...
  Record device;       // device_record.h
  Record compiler;     // compiler_record.h

  Hash question() const;  // of kernel_hash, problem and device
  Hash hash() const;      // of all but the name
  bool operator==(const TuningKey& other) const;
};

// A field in which two keys differ; "(absent)" where one lacks it.
struct Difference {
  std::string field;  // "kernel_hash", "problem.rows", "device.name", "compiler.llvm"
  std::string wanted, stored;
  bool operator==(const Difference&) const = default;
};
// In the order kernel, problem, device, compiler, and by name in each.
std::vector<Difference> differences(const TuningKey& wanted, const TuningKey& stored);

// How far apart two problems are: of numbers above 0 the logarithm of their ratio, to base 2; 8 for
// every other value that differs.
double problem_distance(const Record& a, const Record& b);

}  // namespace tilewright::autotune
