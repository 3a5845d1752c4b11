#include "models/adapters/bank/text_adapters.h"

#include <memory>
#include <shared_mutex>

#include "models/adapters/bank/bank_state.h"
#include "runtime/base/error.h"

namespace tilewright {

using adapters::bank_operation;

TextAdapters::TextAdapters(std::shared_ptr<adapters::BankState> bank, std::int64_t texts,
                           const Device& device)
    : bank_(std::move(bank)), slots_(std::make_unique<adapters::TextSlots>(texts, device)) {
  const std::unique_lock lock = bank_->writing();
  bank_->texts.insert(slots_.get());
}

TextAdapters::~TextAdapters() {
  const std::unique_lock lock = bank_->writing();
  bank_->texts.erase(slots_.get());
}

void TextAdapters::choose(std::int64_t text, std::string_view name) {
  require(text >= 0 && text < texts(), "[", bank_operation, "] text ", text, " of ", texts(),
          "; there is none such");
  const std::shared_lock lock = bank_->reading();
  slots_->set(text, name.empty() ? 0 : bank_->entry(name).slot);
}

void TextAdapters::require_known(std::string_view name) const {
  const std::shared_lock lock = bank_->reading();
  if (!name.empty()) bank_->entry(name);
}

void TextAdapters::copy(std::int64_t to, const TextAdapters& other, std::int64_t from) {
  const std::shared_lock lock = bank_->reading();
  slots_->set(to, other.slots_->at(from));
}

std::uint64_t TextAdapters::contents(std::int64_t text) const {
  const std::shared_lock lock = bank_->reading();
  return bank_->contents[static_cast<std::size_t>(slots_->at(text))];
}

std::unique_ptr<TextAdapters> TextAdapters::others(std::int64_t texts) const {
  return std::make_unique<TextAdapters>(bank_, texts, Device::cpu());
}

void TextAdapters::move_to(const Device& device) { slots_->tensor.move_to(device); }

std::shared_ptr<const void> TextAdapters::reading() const {
  return std::make_shared<const std::shared_lock<std::shared_mutex>>(bank_->reading());
}

}  // namespace tilewright
