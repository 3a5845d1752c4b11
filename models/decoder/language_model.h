// The interface that generation needs of a model: rows of a text in, the logits of the next token
// out, with keys and values of the rows before them kept in a cache.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/layers/layers.h"

namespace tilewright {

struct ModelOptions {
  std::int64_t batch = 1;
  // Positions of the cache and of the tables of rotary positions; the configuration's if absent.
  std::optional<std::int64_t> max_positions;
  // How much memory cache and tables may take; more is an `Error` before anything is allocated. If
  // absent there is no limit where max_positions is given; else the limit is default_cache_budget
  // of the parameters' bytes, so that a small untrusted file cannot claim much memory.
  std::optional<std::int64_t> cache_budget_bytes;
  DType dtype = f32;  // of parameters and cache, whatever the file's
  Init init = Init::none;
  bool links_may_leave = false;   // of a folder: follow symbolic links out of it, to anywhere
  Device device = Device::cpu();  // where parameters and cache lie
  std::function<void(const LoadProgress&)> progress = {};  // of loading from a folder
};

constexpr std::int64_t default_cache_budget(std::int64_t parameter_bytes) {
  return (std::int64_t{256} << 20) + 4 * parameter_bytes;
}

// The memory of a model beside its parameters, and the number of these.
struct ModelMemory {
  std::int64_t row_elements;  // keys and values of one position of one sequence, in all layers
  std::int64_t table_bytes;   // of one position, whatever the batch
  std::int64_t parameters;
};

class LanguageModel : public Module {
 public:
  // ids i64 [batch, rows], position i64 [1]: the first row's. Adds the rows to the cache.
  // Logits of every row, f32 [batch, rows, vocabulary]. A position outside the model is an Error
  // eagerly and with IndexChecks::all, and gives some result otherwise inside a compiled function.
  Tensor forward(const Tensor& ids, const Tensor& position);
  // Logits of the last row alone, f32 [batch, vocabulary], as generation needs them.
  Tensor forward_last(const Tensor& ids, const Tensor& position);

  std::int64_t batch() const { return batch_; }
  std::int64_t max_positions() const { return max_positions_; }
  virtual Device device() const = 0;  // of the model
  virtual std::int64_t vocabulary() const = 0;
  virtual std::vector<std::int64_t> stop_ids() const = 0;  // that end a text

  // How a text is read may depend on its length (RopeType::longrope). If a text is read in several
  // calls, its number of rows must be announced here before the first of them; a text that is read
  // in one call need not be announced.
  virtual void expect(std::int64_t rows) { (void)rows; }
  // The contents of the cache become invalid once the text has more rows than this: then it must be
  // announced with its new length and read again from the beginning. None: they stay valid.
  virtual std::optional<std::int64_t> reread_beyond() const { return std::nullopt; }

 protected:
  // `positions` are those that the model has. Raises `Error` beginning with [model] for a cache
  // that is longer than the model, beyond its budget, or beyond 2^63 bytes.
  LanguageModel(std::string model, const ModelOptions& options, std::int64_t positions,
                const ModelMemory& memory);

  // Get checked arguments. The first returns the rows of the last layer [batch, rows, hidden], the
  // second the head's result for some of them.
  virtual Tensor hidden_rows(const Tensor& ids, const Tensor& position) = 0;
  virtual Tensor logits(const Tensor& rows) const = 0;

 private:
  Tensor checked_rows(const Tensor& ids, const Tensor& position);
  std::string model_;
  std::int64_t batch_, max_positions_;
};

}  // namespace tilewright
