// The slots of the texts of a batch, as layers see them: an operand of their kernels while a scope
// lives on the thread.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::adapters {

struct TextSlots {
  // All texts have slot 0, which is empty.
  TextSlots(std::int64_t texts, const Device& device);
  void set(std::int64_t text, std::int64_t slot);
  std::int64_t at(std::int64_t text) const { return chosen[static_cast<std::size_t>(text)]; }

  std::vector<std::int64_t> chosen;  // the elements of `tensor`, on the host
  Tensor tensor;                     // i64 [texts]
};

// The innermost scope of the thread counts; null: layers compute without adapters.
class SlotScope {
 public:
  explicit SlotScope(const TextSlots* slots);
  ~SlotScope();
  SlotScope(const SlotScope&) = delete;
  SlotScope& operator=(const SlotScope&) = delete;

 private:
  const TextSlots* around_;
};
const TextSlots* slots_of_scope();  // null without

}  // namespace tilewright::adapters
