// Runs one kernel in every way there is: by the definition of the language, as code for this host,
// and as code for two emulated GPUs; with the device under test besides. Words of the language that
// are made of others are compared with a reference in each of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "dsl/interpret/interpret.h"
#include "dsl/ir/function.h"
#include "dsl/language/kernel.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/device.h"
#include "tests/guarded.h"

namespace tilewright::dsl {

// An array in guarded memory that is aligned as kernels expect it; what they leave goes back.
template <typename T>
class KernelArray {
 public:
  explicit KernelArray(std::vector<T>& array) : array_(array), memory_(array.size() * sizeof(T)) {
    std::ranges::copy(array, data());
  }
  ~KernelArray() {
    EXPECT_TRUE(memory_.is_whole()) << "memory beside an array was written";
    std::copy_n(data(), array_.size(), array_.begin());
  }
  KernelArray(const KernelArray&) = delete;
  T* data() { return static_cast<T*>(memory_.data()); }

 private:
  std::vector<T>& array_;
  GuardedMemory memory_;
};

inline void run_function(const std::string& way, const ir::Function& function,
                         const std::vector<Argument>& arguments) {
  const Grid one{{1, 1, 1}};
  if (way == "interpreter")
    ir::interpret(function, one, arguments);
  else
    launch(*compile(function, way == "host" ? host_target() : target_named(way)), one,
           arguments.data());
}

// `expect(arrays...)` looks at what the kernel has left in its arrays, one program of which runs.
template <typename Function, typename Expect, typename... T>
void in_every_way(const Function& function, const Expect& expect, const std::vector<T>&... arrays) {
  const ir::Function traced = Kernel("word", function).trace({dtype_of<T>()...});
  for (const char* way : {"interpreter", "host", "sm_80", "sm_90a"}) {
    SCOPED_TRACE(way);
    std::tuple<std::vector<T>...> copies(arrays...);
    std::apply(
        [&](auto&... copy) {
          std::tuple<KernelArray<T>...> memory(copy...);
          run_function(
              way, traced,
              std::apply(
                  [](auto&... each) { return std::vector<Argument>{{.pointer = each.data()}...}; },
                  memory));
        },
        copies);
    std::apply(expect, copies);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// A whole array as a tile, and back.
inline Tile block(const Tile& pointer, const Shape& shape) {
  return load(pointer + reshape(arange(0, element_count(shape)), shape));
}
inline void put(const Tile& pointer, const Tile& x) {
  if (x.shape().empty()) return store(pointer, x);
  store(pointer + reshape(arange(0, element_count(x.shape())), x.shape()), x);
}

}  // namespace tilewright::dsl
