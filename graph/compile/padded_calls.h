// Calls that are padded to a declared size (SizeRange::buckets): the longer arguments, and the
// results cut.
//
// A signature is proved once (graph/ops/padding_proof.h), and again after handles or guarded values
// have changed, since it may be another function then. Where there is no proof a call is what it is
// without buckets, and stderr says so once a function. Padding is zeros behind the elements of an
// argument, in memory of its device, which a call allocates and fills anew.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/compile/calls/call.h"
#include "graph/compile/calls/signature.h"
#include "graph/compile/sizes/declared_sizes.h"
#include "runtime/base/hash.h"

namespace tilewright::graph {

class PaddedCalls {
 public:
  // One signature of calls.
  struct Known {
    Signature given;
    std::string form;
    SignatureSizes sizes;
    std::uint64_t changes = 0, guarded_changes = 0;
    std::uint64_t used = 0;
    std::vector<Shape> arguments = {};  // padded; empty: the call is not padded
    std::vector<Shape> results = {};    // of the call
    std::string obstacle = {};          // empty: none, or nothing is to be padded
  };
  // The padding of the call; null: it is not padded. Valid until the next call. Raises `Error` for
  // a size that was not declared; an exception of `function` over symbols is an obstacle.
  const Known* known(const Call& call, DeclaredSizes& declared, const Device& device,
                     std::size_t most);
  // The first obstacle that stderr has not been told; empty afterwards.
  std::string take_obstacle() { return std::exchange(untold_, {}); }
  // "not padded: sum at model.cpp:12: it goes over a padded axis"; empty: it is, or need not be.
  std::string text(const Signature& signature) const;

 private:
  Known* find(const Hash& key, const Call& call, const DeclaredSizes& declared);
  Known look_at(const Call& call, DeclaredSizes& declared, const Device& device);

  // By a hash of the form of calls and of their arguments' types and sizes; signatures of one key
  // differ in the layout of their arguments.
  std::unordered_multimap<Hash, Known> known_;
  std::uint64_t calls_ = 0;
  std::string untold_;
  bool has_told_ = false;
};

// Tensors of these shapes, of zeros behind their elements; themselves, where they have the shape.
std::vector<Tensor> padded(const std::vector<Tensor>& tensors, const std::vector<Shape>& shapes);
// The first elements of each axis, row-major: a view of a result's memory where they are.
void cut(std::vector<Tensor>& results, const std::vector<Shape>& shapes);

}  // namespace tilewright::graph
