// A piece of work that uses all of the CUDA runtime, for tests that let it fail in every way.
//
// It takes memory, copies both ways, launches plain and persistent kernels, waits across streams by
// events, replays a graph whose arguments change, and sends bytes between GPUs where there are two.
// `run` expects right results and gives
// everything back, whether it comes to its end or not.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/context.h"
#include "runtime/cuda/graph.h"
#include "runtime/cuda/launch.h"

namespace tilewright::cuda {

// A block of a context's memory.
class Taken {
 public:
  Taken(Context& context, std::int64_t bytes) : context_(context), data_(context.take(bytes)) {}
  template <typename T>
  Taken(Context& context, const std::vector<T>& values)
      : Taken(context, std::ssize(values) * static_cast<std::int64_t>(sizeof(T))) {
    context.copy_from_host(data_, values.data(),
                           std::ssize(values) * static_cast<std::int64_t>(sizeof(T)));
  }
  ~Taken() { context_.give_back(data_); }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  void* data() const { return data_; }
  Argument argument() const { return {.pointer = data_}; }
  std::vector<float> floats(std::size_t count) const {
    std::vector<float> values(count, -1);
    context_.copy_to_host(values.data(), data_, std::ssize(values) * 4);
    return values;
  }

 private:
  Context& context_;
  void* data_;
};

class Workload {
 public:
  Workload();
  void run() const;

 private:
  void run_product(Context& gpu) const;
  void run_pairs(Context& gpu) const;
  void run_across_streams(Context& gpu) const;
  void run_graph(Context& gpu) const;
  void run_large_copies(Context& gpu) const;
  void run_across_gpus(Context& gpu, Context& other) const;
  std::shared_ptr<const Artifact> scale_, product_, pair_;
};

// Arguments of scale_program.
std::vector<Argument> scale_arguments(const Taken& x, const Taken& y, int count, float factor);

}  // namespace tilewright::cuda
