// The state of texts that a model is reading: the keys and values of their rows so far.
//
// It belongs to a conversation and not to the model, so that many conversations share the weights
// of one model, on several threads at once. LanguageModel::new_state makes one; its memory is that
// of its caches. One thread at a time uses a state: two that meet in it are an Error, as far as the
// model's functions see them. A compiled function that reads a state serves one call at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/adapters/bank/text_adapters.h"
#include "models/decoder/attention.h"
#include "runtime/owned.h"

namespace tilewright {

class DecodingState {
 public:
  // A cache for each layer, of equal batch and positions. The length of the texts can be announced
  // if `has_length`. For models: others ask LanguageModel::new_state.
  DecodingState(std::vector<KeyValueCache> caches, bool has_length);
  // Functions that read a state know it by its address.
  DecodingState(const DecodingState&) = delete;
  DecodingState& operator=(const DecodingState&) = delete;

  std::int64_t batch() const { return caches_[0].values.size(0); }
  std::int64_t max_positions() const { return caches_[0].values.size(2); }
  std::int64_t size_bytes() const;  // of the caches
  Device device() const { return caches_[0].values.device(); }
  // A function compiled with this state follows, as it follows a module.
  void to(const Device& device);

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
  // keys and values, and its adapter. Both states are of one model and on one device. Raises
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
  std::vector<KeyValueCache> caches_;
  Tensor expected_rows_;
  Owned<TextAdapters> adapters_;
  std::atomic<const void*> user_ = nullptr;  // an address for each thread
};

}  // namespace tilewright
