#include "graph/functions/linear_algebra/dense/batches.h"

#include <exception>
#include <map>
#include <mutex>
#include <optional>

#include "runtime/base/fork_gate.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph::dense {
namespace {

// What waking a thread costs as much as, in operations.
constexpr double least_work = 30'000;

struct Loop {
  const std::function<OneMatrix()>& make;
  std::vector<OneMatrix> of_worker;
  std::mutex mutex;
  std::exception_ptr error;
};

// Bodies of parallel loops must not throw; what they meet is raised when the loop is over.
void run_range(void* context, std::int64_t begin, std::int64_t end, int worker) {
  Loop& loop = *static_cast<Loop*>(context);
  try {
    OneMatrix& one = loop.of_worker[static_cast<std::size_t>(worker)];
    if (!one) one = loop.make();
    for (std::int64_t i = begin; i < end; ++i) one(i);
  } catch (...) {
    std::lock_guard lock(loop.mutex);
    loop.error = std::current_exception();
  }
}

struct OpTable {
  std::mutex mutex;
  std::map<std::string, CustomOp, std::less<>> ops;
};
OpTable& op_table() {
  static OpTable& table = *new OpTable;
  return table;
}

}  // namespace

void for_each_matrix(std::int64_t count, double work, const std::function<OneMatrix()>& make) {
  if (count == 0) return;
  if (count == 1 || work * static_cast<double>(count) < least_work) {
    const OneMatrix one = make();
    for (std::int64_t i = 0; i < count; ++i) one(i);
    return;
  }
  Loop loop{make, std::vector<OneMatrix>(static_cast<std::size_t>(thread_count())), {}, {}};
  parallel_for(count, run_range, &loop);
  if (loop.error) std::rethrow_exception(loop.error);
}

CustomOp op_named(const std::string& name,
                  const std::function<CustomOp(const std::string&)>& make) {
  OpTable& table = op_table();
  GatedLock lock(table.mutex);
  auto at = table.ops.find(name);
  if (at == table.ops.end()) at = table.ops.emplace(name, make(name)).first;
  return at->second;
}

std::string name_of(std::string_view name, bool is_complex, Flags flags) {
  std::string full = "linalg_" + std::string(name);
  if (is_complex) full += "_complex";
  if (flags != 0) full += "_" + std::to_string(flags);
  return full;
}

std::vector<Shape> shapes_of(std::span<const TensorType> types, bool is_complex) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < types.size(); i += is_complex ? 2 : 1)
    shapes.push_back(types[i].shape);
  return shapes;
}

std::vector<TensorType> types_of(std::span<const Part> results, DType dtype, bool is_complex) {
  std::vector<TensorType> types;
  for (const Part& part : results) {
    types.push_back({dtype, part.shape});
    const bool is_pair = part.kind == Kind::as_matrices ? is_complex : part.kind == Kind::complex;
    if (is_pair) types.push_back({dtype, part.shape});
  }
  return types;
}

}  // namespace tilewright::graph::dense
