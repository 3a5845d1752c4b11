// Adapters that are resident beside a model, of which each text of a batch has its own.
//
//   auto model = load_model("llama");
//   Adapters& bank = model->adapters();  // before generators are made
//   bank.add("french", "adapters/french"), bank.add("legal", "adapters/legal");  // folders of PEFT
//   TextGenerator writer(*model, Tokenizer::open("llama/tokenizer.json"));
//   writer.generate_all({"One", "Two", "Three"}, {.adapters = {"french", "legal", ""}});
//
// Adapters are data of the compiled functions, not a part of them: adding, removing, swapping,
// stacking and choosing compile and record nothing, whatever the ranks, and may happen in the
// middle of a generation. A text's bits do not depend on the adapters of other texts. Without an
// adapter they are those of a model that has no bank, on the host; on GPUs products may be split in
// another way there.
//
// Thread safe: a change waits until the steps of generators that are under way are done. Calls of
// the model that are not by a generator hold TextAdapters::reading.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/adapters/bank/text_adapters.h"
#include "models/layers/module.h"
#include "runtime/files/file_path.h"

namespace tilewright {

struct AdapterBankOptions {
  std::int64_t adapters = 64;  // adapters and stacks that are there at once
  // The ranks of all adapters together, in each layer; a vector of DoRA and a bias take one more
  // each. Memory of the host is taken as adapters come, that of a GPU at once.
  std::int64_t ranks = 1024;
  // The last words of the paths of linear layers that adapters may change ("q_proj"); empty: all.
  // Other layers cost nothing.
  std::vector<std::string> layers = {};
  // The type that adapters are kept in; absent: that of the layer's weight, f32 beside packed ones.
  std::optional<DType> dtype = {};
};

class Adapters {
 public:
  // For models (LanguageModel::adapters). Raises `Error` for numbers below 1, for `layers` that the
  // model does not have, and for a model that has a bank.
  Adapters(Module& model, const AdapterBankOptions& options);
  Adapters(const Adapters&) = delete;
  Adapters& operator=(const Adapters&) = delete;

  // Reads a folder of PEFT: LoRA, rsLoRA and DoRA of linear layers, and their biases. Raises
  // `Error`, and changes nothing, for a name that is there, a folder of another model (a layer that
  // is not there, or is of other sizes), changes of other kinds, which `load_adapter` makes for all
  // texts, and a bank that is full. DoRA's lengths are computed by tensor operations, which compile
  // once for each shape of a weight and rank.
  void add(const std::string& name, const FilePath& folder, bool links_may_leave = false);
  // Puts another folder in place of an adapter: texts that have it go on with the new one.
  void replace(const std::string& name, const FilePath& folder, bool links_may_leave = false);
  // Texts that have it go on without. Raises `Error` for the part of a stack.
  void remove(const std::string& name);
  // All texts that have `name` go on with `other`; either may be empty, which is none.
  void swap(const std::string& name, const std::string& other);
  // A name for the weighted sum of adapters, which takes no ranks. A text can have one name; this
  // is how it has several adapters. Raises `Error` for a part that is a stack, and for one of more
  // than adapters::most_blocks blocks of 16 ranks.
  void stack(const std::string& name, const std::vector<std::pair<std::string, double>>& parts);
  // More ranks for all layers. Functions that were compiled with the bank are compiled again at
  // their next call: this alone of all changes does that.
  void grow(std::int64_t ranks);

  std::vector<std::string> names() const;  // sorted, with the stacks
  std::int64_t free_ranks() const;         // of the layer with the fewest
  std::int64_t bytes_held() const;         // by all adapters
  // The choice of a batch of so many texts, on a device; at first without adapters.
  std::unique_ptr<TextAdapters> texts(std::int64_t count, const Device& device) const;

 private:
  Module& model_;
  std::shared_ptr<adapters::BankState> state_;
};

}  // namespace tilewright
