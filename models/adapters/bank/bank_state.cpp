#include "models/adapters/bank/bank_state.h"

#include <algorithm>

#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::adapters {

const BankState::Entry& BankState::entry(std::string_view name) const {
  const auto found = entries.find(name);
  if (found != entries.end()) return found->second;
  std::string known;
  for (const auto& [other, ignored] : entries) known += concat(known.empty() ? "" : ", ", other);
  raise_error(concat("[", bank_operation, "] there is no adapter \"", json::excerpt(name),
                     "\"; there are: ", json::excerpt(known.empty() ? "none" : known)));
}

std::int64_t BankState::free_slot() const {
  std::vector<bool> is_taken(contents.size(), false);
  for (const auto& [name, entry] : entries) is_taken[static_cast<std::size_t>(entry.slot)] = true;
  for (std::size_t slot = 1; slot < is_taken.size(); ++slot)
    if (!is_taken[slot]) return static_cast<std::int64_t>(slot);
  raise_error(concat("[", bank_operation, "] the bank is full: it has ", entries.size(),
                     " adapters and stacks; remove one, or ask for more "
                     "(AdapterBankOptions::adapters)"));
}

void BankState::require_new(std::string_view name) const {
  require(!name.empty(), "[", bank_operation,
          "] the name of an adapter is empty, which means none; give it a name");
  require(!entries.contains(name), "[", bank_operation, "] there is an adapter \"",
          json::excerpt(name), "\" already; remove it first, or replace it");
}

void BankState::require_no_stack(std::string_view name, std::string_view what) const {
  require(entry(name).parts.empty(), "[", bank_operation, "] \"", json::excerpt(name),
          "\" is a stack, which cannot be ", what, "; name an adapter");
}

void BankState::require_in_no_stack(std::string_view name) const {
  for (const auto& [other, entry] : entries)
    require(std::ranges::find(entry.parts, name) == entry.parts.end(), "[", bank_operation,
            "] adapter \"", json::excerpt(name), "\" is a part of the stack \"",
            json::excerpt(other), "\"; remove that first");
}

void BankState::hold(std::int64_t slot, const std::vector<LayerUpdate>& updates) {
  try {
    for (std::size_t i = 0; i < updates.size(); ++i)
      if (!updates[i].is_empty()) layers[i]->hold(slot, updates[i]);
  } catch (...) {
    release(slot);
    throw;
  }
  note_change(slot);
}

void BankState::release(std::int64_t slot) {
  for (const auto& layer : layers) layer->release(slot);
  note_change(slot);
}

void BankState::move_texts(std::int64_t from, std::int64_t to) {
  for (TextSlots* each : texts)
    for (std::int64_t text = 0; text < std::ssize(each->chosen); ++text)
      if (each->at(text) == from) each->set(text, to);
}

}  // namespace tilewright::adapters
