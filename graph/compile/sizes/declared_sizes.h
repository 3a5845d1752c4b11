// What the marks of tensors say of sizes (size_marks.h), as a compiled function keeps it of its
// arguments.
//
// A signature fixes all sizes, so that they are looked at when one is new, and again when something
// else was declared since. Other calls compare a number, and the marks of tensors that have some.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/compile/sizes/size_range.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

namespace graph {

// The declarations about the tensors of a signature, as of the last look at it.
struct SignatureSizes {
  std::uint64_t version = 0;  // of DeclaredSizes
  std::vector<SizeMarks> marks;
};

// Arguments have the names of `ArgumentPlace::text`, which are those of messages.
class DeclaredSizes {
 public:
  bool empty() const { return by_argument_.empty(); }
  // True if the marks of the tensors, of a known signature, are not new, and no others came since.
  bool knows(const std::vector<Tensor>& tensors, const SignatureSizes& signature) const;
  // Takes over what the tensor is marked with.
  void take(const std::string& argument, const Tensor& tensor);
  void take_all(const std::vector<std::string>& arguments, const std::vector<Tensor>& tensors);
  // The declarations about a signature of these tensors. Raises `Error` for a size that was not
  // declared.
  SignatureSizes looked_at(const std::vector<std::string>& arguments,
                           const std::vector<Tensor>& tensors) const;
  bool has_buckets() const { return has_buckets_; }
  // Raises `Error` for a size that is none of those declared.
  void require_declared(const std::string& argument, const Shape& shape) const;
  std::uint64_t version() const { return version_; }
  const SizeMarks& of(const std::string& argument) const;

  // Says if an argument of that shape has sizes that change; none: not all axes are declared.
  std::optional<bool> change(const std::string& argument, const Shape& shape) const;
  bool is_static(const std::string& argument, int axis) const;
  bool is_dynamic(const std::string& argument, int axis) const;
  // "axis 0 is static, axis 1 has sizes from 1 to 4096"; empty: nothing was declared.
  std::string text(const std::string& argument, const Shape& shape) const;

 private:
  std::map<std::string, SizeMarks> by_argument_;
  std::uint64_t version_ = 0;
  bool has_buckets_ = false;
};

// True if one of the tensors is marked with buckets.
bool has_buckets(const std::vector<Tensor>& tensors);

}  // namespace graph
}  // namespace tilewright
