// The state of texts that a model is reading: the keys and values of their rows so far.
//
// It belongs to a conversation and not to the model, so that many conversations share the weights
// of one model, on several threads at once. LanguageModel::new_state makes one; its memory is that
// of its caches. One thread at a time uses a state: two that meet in it are an Error, as far as the
// model's functions see them. A compiled function that reads a state serves one call at a time.
//
// The rows of its texts lie one after the other, in memory for the longest texts that the model
// reads; or in pages that several states share (LanguageModel::new_pages). Then a text has the
// pages of its own rows alone, and in layers with windows of those that are still seen; texts that
// begin alike share theirs; and rows are prepared before a call writes them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/adapters/bank/text_adapters.h"
#include "models/decoder/attention.h"
#include "models/decoder/cache/text_pages.h"
#include "runtime/owned.h"

namespace tilewright {

class DecodingState {
 public:
  // A cache for each layer, of equal batch and positions. The length of the texts can be announced
  // if `has_length`. For models: others ask LanguageModel::new_state.
  DecodingState(std::vector<KeyValueCache> caches, bool has_length);
  // Likewise of texts whose rows lie in pages.
  DecodingState(std::unique_ptr<TextPages> pages, bool has_length);
  // Functions that read a state know it by its address.
  DecodingState(const DecodingState&) = delete;
  DecodingState& operator=(const DecodingState&) = delete;

  std::int64_t batch() const { return caches_[0].batch(); }
  std::int64_t max_positions() const { return caches_[0].positions(); }
  std::int64_t size_bytes() const;  // of the caches, or of the pages that its texts have
  Device device() const { return caches_[0].values.device(); }
  // A function compiled with this state follows, as it follows a module. So do all states that
  // share its pages.
  void to(const Device& device);

  // The pages of the texts; null where rows lie one after the other.
  const TextPages* pages() const { return pages_.get(); }
  // Rows `first` to `first + rows - 1` of a text are written next. Where there are pages, a call of
  // the model that writes other rows is an `Error` eagerly; in a compiled function what it writes
  // is lost, and rows that see them are NaN, or see what was there. Raises `Error` where too few
  // pages are free, and for a text or rows that cannot be.
  void prepare(std::int64_t text, std::int64_t first, std::int64_t rows);
  // For models: `Error` unless rows from `position`, i64 [1] or [batch], on are prepared.
  void require_prepared(std::string_view operation, const Tensor& position,
                        std::int64_t rows) const;
  // The rows of a text behind the first `rows` are not wanted any more; gives their pages back.
  void cut(std::int64_t text, std::int64_t rows);
  // Nothing more is wanted of the text: gives all its pages back. Until rows of it are prepared, or
  // it begins as another text, a call computes numbers without meaning for it.
  void rest(std::int64_t text);
  // True if the text can go on from row `rows`. Not so where a later row was prepared and the
  // window of a layer has passed rows before this one: then their pages are gone, and `prepare` of
  // it is an `Error`.
  bool holds(std::int64_t text, std::int64_t rows) const;

  // How a text is read may depend on its length (RopeType::longrope). If a text is read in several
  // calls, its number of rows must be announced here before the first of them; a text that is read
  // in one call need not be announced. `rows` are those of each text of the batch, or of all.
  void expect(std::int64_t rows);
  void expect(const std::vector<std::int64_t>& rows);
  // i64 [batch]: the rows announced; undefined where the model reads all lengths alike.
  const Tensor& expected_rows() const { return expected_rows_; }

  // The texts' choice among the model's adapters; null where the model had no bank when the state
  // was made. A text's rows are of its adapter from the call on that follows the choice.
  TextAdapters* adapters() { return adapters_.get(); }
  const TextAdapters* adapters() const { return adapters_.get(); }
  void set_adapters(std::unique_ptr<TextAdapters> adapters);
  // TextAdapters::reading, or nothing without adapters.
  std::shared_ptr<const void> reading_adapters() const;

  // Makes text `to` here begin as text `from` of another state, or of this one: its first `rows`
  // keys and values, and its adapter. Both states are of one model and on one device, and have
  // pages of one pool or none; pages are not copied before one of both texts writes to them. Raises
  // `Error` otherwise, and for texts or rows that are not there.
  void copy_text(std::int64_t to, const DecodingState& other, std::int64_t from, std::int64_t rows);

  std::size_t layers() const { return caches_.size(); }
  KeyValueCache& cache(std::size_t layer) { return caches_[layer]; }

  // Takes the state for the calling thread, which may take it several times. Raises `Error` where
  // another thread has it.
  class Use {
   public:
    Use(DecodingState& state, std::string_view operation);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    DecodingState* state_ = nullptr;  // null: an outer Use of this thread gives it back
  };

 private:
  void require_text(std::string_view operation, std::int64_t text, std::int64_t rows) const;
  std::atomic<const void*>& user() { return pages_ ? pages_->pool()->user() : user_; }

  Owned<TextPages> pages_;
  std::vector<KeyValueCache> caches_;
  Tensor expected_rows_;
  Owned<TextAdapters> adapters_;
  std::atomic<const void*> user_ = nullptr;  // an address for each thread
};

}  // namespace tilewright
