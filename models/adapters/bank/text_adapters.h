// Which adapter each text of a batch has: the slot of its name in a bank, i64 [texts]. It is an
// operand of the functions that read the texts, so that another choice is another number in memory.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <string_view>

#include "models/adapters/bank/text_slots.h"
#include "runtime/owned.h"

namespace tilewright {

namespace adapters {
struct BankState;
}

// Made by Adapters::texts. One thread at a time uses it; the bank may change meanwhile on others.
class TextAdapters {
 public:
  // For Adapters: of a batch of so many texts, at first without adapters.
  TextAdapters(std::shared_ptr<adapters::BankState> bank, std::int64_t texts, const Device& device);
  ~TextAdapters();
  TextAdapters(const TextAdapters&) = delete;
  TextAdapters& operator=(const TextAdapters&) = delete;

  std::int64_t texts() const { return std::ssize(slots_->chosen); }
  // The text has the adapter or stack of that name from its next step on; an empty name: none.
  // Raises `Error` for a text or a name that is not there.
  void choose(std::int64_t text, std::string_view name);
  void require_known(std::string_view name) const;  // or empty
  // Text `to` has what text `from` of another batch has, or of this one.
  void copy(std::int64_t to, const TextAdapters& other, std::int64_t from);
  // A number that differs whenever the text's rows would come out differently: by another choice,
  // or by a change of what the bank holds under it.
  std::uint64_t contents(std::int64_t text) const;
  // For so many other texts of the same bank, at first without adapters, on the host.
  std::unique_ptr<TextAdapters> others(std::int64_t texts) const;
  void move_to(const Device& device);

  // Held while a function runs that reads these texts: changes of the bank on other threads wait.
  // The thread that holds it calls nothing of the bank or of its texts, which would wait for a
  // change that waits for this.
  std::shared_ptr<const void> reading() const;

  // Layers that are called on this thread give these texts their adapters while a scope lives; in a
  // function that is compiled, while it is captured. The innermost scope counts; null: without.
  class Scope {
   public:
    explicit Scope(const TextAdapters* texts)
        : scope_(texts == nullptr ? nullptr : texts->slots_.get()) {}

   private:
    adapters::SlotScope scope_;
  };

 private:
  std::shared_ptr<adapters::BankState> bank_;
  Owned<adapters::TextSlots> slots_;
};

}  // namespace tilewright
