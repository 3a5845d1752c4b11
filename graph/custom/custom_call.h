// The calls of a custom op's parts, and their answers: the user's side of a definition.
//
// A custom op has a shape rule, which gives the types of its results, and one implementation. Both
// see types of operands and results, never the graph. How ops are made of these, and called, is in
// graph/functions/custom/custom_op.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dsl/language/kernel.h"
#include "runtime/artifact.h"
#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace tilewright {

// The properties of a tensor except for its elements.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  std::int64_t count() const { return element_count(shape); }
  bool operator==(const TensorType&) const = default;
};

// The types of an op's results from those of its operands. It depends on nothing else, and raises
// an exception for operands that do not fit.
using ShapeRule = std::function<std::vector<TensorType>(std::span<const TensorType> operands)>;

// Numbers by name that an implementation may be tuned by: {{"block", 64}, {"num_warps", 4}}.
using Configuration = std::map<std::string, std::int64_t, std::less<>>;

// One application of a custom op.
class CustomCall {
 public:
  CustomCall(std::string name, std::vector<TensorType> operands, std::vector<TensorType> results,
             Configuration configuration = {})
      : name_(std::move(name)),
        operands_(std::move(operands)),
        results_(std::move(results)),
        configuration_(std::move(configuration)) {}

  // Raise `Error` naming the range of valid ones.
  const TensorType& operand(std::size_t i) const;
  const TensorType& result(std::size_t i) const;
  std::int64_t operator[](std::string_view name) const;  // of the configuration

  const std::string& name() const { return name_; }
  const std::vector<TensorType>& operands() const { return operands_; }
  const std::vector<TensorType>& results() const { return results_; }
  const Configuration& configuration() const { return configuration_; }

 private:
  std::string name_;
  std::vector<TensorType> operands_, results_;
  Configuration configuration_;
};

// How often a kernel runs for a call, and its Scalars and Constexprs in their order. They become
// constants of the program: integers of i64, and f32 or f64.
struct TileLaunch {
  Grid grid;
  std::vector<std::variant<std::int64_t, float, double>> numbers;
};

// An op that a kernel computes. Its Pointers are the operands, row-major, and then the results, in
// their order. The first configuration is the default; where there are several, max-autotune times
// them. A name that is a knob of a launch (dsl::Knobs) is one.
struct TileKernel {
  dsl::Kernel kernel;
  std::function<TileLaunch(const CustomCall&)> launch;
  std::vector<Configuration> configurations = {};
};

// Memory of an operand or a result, row-major.
struct BufferView {
  TensorType type;
  void* data = nullptr;
  // Its elements; raises `Error` where they are of another type.
  template <typename T>
  std::span<T> elements() const {
    require_dtype(dtype_of<std::remove_const_t<T>>());
    return {static_cast<T*>(data), static_cast<std::size_t>(type.count())};
  }
  void require_dtype(DType wanted) const;
};

// An op that C++ computes on the host: it reads the operands, and writes every element of the
// results. For an op that writes its first operand, the memory of that one holds the result.
using BufferFunction =
    std::function<void(std::span<const BufferView> operands, std::span<const BufferView> results)>;

}  // namespace tilewright
