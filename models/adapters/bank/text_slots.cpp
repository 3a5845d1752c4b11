#include "models/adapters/bank/text_slots.h"

#include "graph/functions/dynamic_scalar.h"

namespace tilewright::adapters {
namespace {

thread_local const TextSlots* slots_of_thread = nullptr;

}  // namespace

TextSlots::TextSlots(std::int64_t texts, const Device& device)
    : chosen(static_cast<std::size_t>(texts), 0) {
  tensor = Tensor::from(chosen, {texts}).to(device);
  graph::mark_setting(tensor);
}

void TextSlots::set(std::int64_t text, std::int64_t slot) {
  std::int64_t& known = chosen[static_cast<std::size_t>(text)];
  if (known == slot) return;
  known = slot;
  Tensor place = tensor.slice(0, text, text + 1);
  place.copy_from(Tensor::from<std::int64_t>({slot}, {1}));
}

SlotScope::SlotScope(const TextSlots* slots) : around_(slots_of_thread) { slots_of_thread = slots; }
SlotScope::~SlotScope() { slots_of_thread = around_; }

const TextSlots* slots_of_scope() { return slots_of_thread; }

}  // namespace tilewright::adapters
