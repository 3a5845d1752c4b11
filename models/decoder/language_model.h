// The interface that generation needs of a model: rows of a text in, the logits of the next token
// out. The model is its weights alone; keys and values of the rows before are in the state of a
// conversation (decoding_state.h), so that any number of threads read texts with one model.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/adapters/bank/adapter_bank.h"
#include "models/decoder/decoding_state.h"
#include "models/layers/layers.h"
#include "runtime/owned.h"

namespace tilewright {

struct ModelOptions {
  // Positions of caches and of the tables of rotary positions; the configuration's if absent.
  std::optional<std::int64_t> max_positions = {};
  // How much memory the cache of a state and the tables may take; more is an `Error` before
  // anything is allocated. If absent there is no limit where max_positions is given; else the limit
  // is default_cache_budget of the parameters' bytes, so that a small untrusted file cannot claim
  // much memory. A model whose state of one text is beyond it is not made.
  std::optional<std::int64_t> cache_budget_bytes = {};
  DType dtype = f32;  // of parameters and caches, whatever the file's
  // Caches keep keys and values in 8 bits, with a scale for each row of a head: i8, f8e4m3, f8e5m2
  // or another float of 8 bits. Half the memory of 16 bits; logits change by about what rounding
  // the keys and values to 8 bits changes. If absent, caches have `dtype`.
  std::optional<DType> cache_dtype = {};
  Init init = Init::none;
  bool links_may_leave = false;   // of a folder: follow symbolic links out of it, to anywhere
  Device device = Device::cpu();  // where parameters lie
  std::function<void(const LoadProgress&)> progress = {};  // of loading from a folder
  // Gets a line for each format of quantised weights that the files have: which weights keep it in
  // memory, and which are expanded.
  std::function<void(const std::string& line)> note = {};
};

constexpr std::int64_t default_cache_budget(std::int64_t parameter_bytes) {
  return (std::int64_t{256} << 20) + 4 * parameter_bytes;
}

// The memory of a model beside its parameters, and the number of these.
struct ModelMemory {
  std::int64_t row_elements;  // keys and values of one position of one sequence, in all layers
  std::int64_t row_heads;     // the rows that these are, of keys and of values
  std::int64_t table_bytes;   // of one position, whatever the batch
  std::int64_t parameters;
};

class LanguageModel : public Module {
 public:
  // Reads whole texts, ids i64 [batch, rows], and keeps nothing of them. Logits of every row, f32
  // [batch, rows, vocabulary].
  Tensor forward(const Tensor& ids) const;

  // A state for `batch` texts that are read in several calls, at first empty. On the model's
  // device. Raises `Error` for a cache beyond the budget.
  std::unique_ptr<DecodingState> new_state(std::int64_t batch = 1) const;
  // Memory for `rows` rows of all texts together, which states take a page at a time
  // (DecodingState::prepare): texts share it whatever their lengths, and share the pages of what
  // they begin with. Layers with windows take less of it than others. On the model's device. Raises
  // `Error` for less than a row, and for memory beyond the budget. The states of a pool are used by
  // one thread at a time.
  std::shared_ptr<PagePool> new_pages(std::int64_t rows) const;
  // A state of texts in such pages, each of up to max_positions() rows. Raises `Error` for pages
  // that do not fit this model or lie on another device.
  std::unique_ptr<DecodingState> new_state(std::int64_t batch,
                                           std::shared_ptr<PagePool> pages) const;
  // Reads the next rows of the texts of a state, ids i64 [its batch, rows]. The first row is at
  // `position`, i64 [1] for all texts, or [batch] with one for each: so texts of different lengths
  // are read together, and a text that has nothing to read may repeat its last row. Logits of every
  // row, f32 [batch, rows, vocabulary]. A position outside the model is an Error eagerly and with
  // IndexChecks::all, and gives some result otherwise inside a compiled function. Different states
  // may be used on several threads at once.
  Tensor decode(const Tensor& ids, const Tensor& position, DecodingState& state) const;
  // Logits of the last row alone, f32 [batch, vocabulary], as generation needs them.
  Tensor decode_last(const Tensor& ids, const Tensor& position, DecodingState& state) const;

  // The model's bank of adapters, which the first call makes with its options. States and
  // generators that are made later choose adapters for their texts; functions that were compiled
  // before compute without. Not thread safe with the model's other functions.
  Adapters& adapters(const AdapterBankOptions& options = {});
  bool has_adapters() const { return adapters_ != nullptr; }

  std::int64_t max_positions() const { return max_positions_; }
  std::optional<DType> cache_dtype() const { return cache_dtype_; }  // as the options say
  virtual Device device() const = 0;                                 // of the model
  virtual std::int64_t vocabulary() const = 0;
  virtual std::vector<std::int64_t> stop_ids() const = 0;  // that end a text

  // The contents of a cache become invalid once the text has more rows than this: then it must be
  // announced with its new length (DecodingState::expect) and read again from the beginning. None:
  // they stay valid.
  virtual std::optional<std::int64_t> reread_beyond() const { return std::nullopt; }

 protected:
  // `positions` are those that the model has. Raises `Error` beginning with [model] for a cache
  // that is longer than the model, beyond its budget, or beyond 2^63 bytes.
  LanguageModel(std::string model, const ModelOptions& options, std::int64_t positions,
                const ModelMemory& memory);

  // Get checked arguments. `hidden_rows` returns the rows of the last layer [batch, rows, hidden]
  // and adds them to the state, if there is one; `logits` is the head's result for some of them.
  virtual std::unique_ptr<DecodingState> make_state(std::int64_t batch) const = 0;
  // How layers share pages; and caches of so many pages for the layers of a group.
  virtual LayerGroups layer_groups() const = 0;
  virtual std::vector<KeyValueCache> make_pages(std::int64_t pages,
                                                std::int64_t page_rows) const = 0;
  virtual Tensor hidden_rows(const Tensor& ids, const Tensor& position,
                             DecodingState* state) const = 0;
  virtual Tensor logits(const Tensor& rows) const = 0;

 private:
  bool fits(const PagePool& pages) const;
  void require_memory_for(std::int64_t batch) const;
  std::optional<std::int64_t> bytes_of_rows(std::int64_t rows, std::int64_t batch = 1) const;
  std::unique_ptr<DecodingState> with_adapters(std::unique_ptr<DecodingState> state) const;
  Tensor next_rows(const Tensor& ids, const Tensor& position, DecodingState& state) const;
  void require_ids(const Tensor& ids, std::optional<std::int64_t> batch) const;
  std::string model_;
  std::int64_t max_positions_;
  ModelMemory memory_;
  DType dtype_;
  std::optional<DType> cache_dtype_;
  std::string budget_origin_;  // of budget_bytes_, in words
  std::optional<std::int64_t> budget_bytes_;
  Owned<Adapters> adapters_;
};

}  // namespace tilewright
