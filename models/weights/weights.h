// The named tensors of a model, wherever they are: in memory, in one file, or in the shards of a
// folder. `Module::load` reads from this.
//
// A folder in Hugging Face's form holds model.safetensors, or several files and
// model.safetensors.index.json, which says which tensor is in which. The index is foreign text that
// names files, so a name must be a plain file name in that folder, and every tensor must be in
// exactly the file that the index says.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "graph/quant/grouped_codes.h"
#include "graph/tensor/tensor.h"
#include "models/weights/safetensors.h"
#include "runtime/files/file_path.h"

namespace tilewright {

struct WeightsOptions {
  SafetensorsOptions files = {};
  // Follow symbolic links out of the model's folder, to anywhere (model_file.h says where they may
  // lead without this).
  bool links_may_leave = false;
  // Refuse files that have a second name, which another user of the machine may hold open to write.
  bool refuse_hard_links = false;
};

// A tensor that is computed from what a file holds, as a quantised weight is from codes and scales.
struct DerivedTensor {
  Shape shape;
  DType dtype;                   // that it stands for
  std::function<Tensor()> make;  // on the host, of any floating dtype
  // The codes of a quantised matrix, or of a stack of matrices [out, in], one below the other; none
  // for other tensors, and nothing where the matrices of a stack differ.
  std::function<std::optional<quant::GroupedCodes>()> codes = {};
  std::optional<quant::Format> format = {};  // of a quantised tensor
};

class Weights {
 public:
  Weights() = default;
  // Raises `Error` "[load_weights] ..." for a folder that holds neither file, or a bad index.
  static Weights open(const FilePath& folder, WeightsOptions options = {},
                      std::source_location w = std::source_location::current());
  static Weights of(const Safetensors& file);
  static Weights of(const std::map<std::string, Tensor>& tensors);

  // The same tensors, with `prefix` before each name.
  Weights with_prefix(std::string_view prefix) const;

  // Adds a tensor, which is computed whenever it is read. The name must be new.
  void derive(std::string name, DerivedTensor tensor);
  // Takes the name out: `contains` does not find it any more, nor do `names` have it.
  void hide(std::string_view name);

  std::vector<std::string> names() const;  // sorted, but for derived ones, which come first
  bool contains(std::string_view name) const { return find(name).has_value(); }
  // These raise `Error` for a name that is not there.
  const Shape& shape(std::string_view name) const;
  DType dtype(std::string_view name) const;
  // Writes the elements to `destination` (contiguous, of the same shape); floating types are
  // converted to one another. `on_bytes` gets the number of the weights' bytes as they are read,
  // piece by piece.
  void read(std::string_view name, Tensor& destination,
            const std::function<void(std::int64_t bytes)>& on_bytes = {}) const;
  // The whole tensor on the host, in the dtype that it has.
  Tensor tensor(std::string_view name) const;
  // The format of a quantised tensor, and its codes (DerivedTensor); none of another tensor.
  std::optional<quant::Format> format(std::string_view name) const;
  std::optional<quant::GroupedCodes> codes(std::string_view name) const;

 private:
  struct EntryIndex {
    std::uint32_t file, entry;  // which of `files_`, and which of its entries
  };
  struct Item {  // one of the three
    const SafetensorsEntry* entry = nullptr;
    const Safetensors* file = nullptr;
    const Tensor* tensor = nullptr;
    const DerivedTensor* derived = nullptr;
  };
  std::optional<Item> find(std::string_view name) const;
  Item at(std::string_view name) const;
  const SafetensorsEntry& entry(EntryIndex place) const {
    return files_[place.file]->entries()[place.entry];
  }
  void add(std::shared_ptr<const Safetensors> file);

  std::string prefix_;  // before each name
  std::map<std::string, Tensor, std::less<>> tensors_;
  std::map<std::string, DerivedTensor, std::less<>> derived_;
  std::set<std::string, std::less<>> hidden_;
  std::vector<std::shared_ptr<const Safetensors>> files_;
  std::vector<EntryIndex> places_;  // of all tensors of the files, by name; few bytes for each
};

}  // namespace tilewright
