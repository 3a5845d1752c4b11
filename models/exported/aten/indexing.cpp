// Operators that read and write elements by numbers that are themselves tensors.
#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

constexpr Operator rows[] = {
    {"aten.embedding.default",
     [](const Call& c) { return embedding(c.tensor("indices"), c.tensor("weight")); }},
};

}  // namespace

std::span<const Operator> indexing_operators() { return rows; }

}  // namespace tilewright::exported
