#include "models/exported/tensor_data.h"

#include <utility>

#include "models/exported/archive_layout.h"
#include "models/exported/pickle.h"
#include "models/exported/program/arguments.h"
#include "models/exported/program/fields.h"
#include "models/exported/program/program.h"
#include "models/exported/stored_tensors.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

using json::excerpt;

class TensorReader {
 public:
  explicit TensorReader(const Archive& archive)
      : archive_(archive), fields_(archive.file()->name()), stored_(archive) {}

  void read(const std::string& folder, const std::string& table_name) {
    std::string path = concat("data/", folder, "/", table_name);
    const ArchiveEntry* table = archive_.find(path);
    if (table == nullptr) return;
    std::string text = archive_.text(*table, program_limits().text_bytes);
    json::Node root = json::read_tree(
        text, "load_exported", concat(archive_.file()->name(), ": ", path), program_limits());
    for (const auto& [name, facts] : fields_.members(root, "config")) {
      fields_.set_place(concat(path, ": \"", excerpt(name), '"'));
      bool is_new = tensors_.emplace(name, tensor(folder, facts)).second;
      fields_.expect(is_new, "there are two tensors of the name");
    }
    fields_.set_place("");
  }
  std::map<std::string, Tensor> take() { return std::move(tensors_); }

 private:
  Tensor tensor(const std::string& folder, const json::Node& facts) {
    const json::Node* pickled = fields_.optional(facts, "use_pickle");
    fields_.expect(pickled == nullptr || !fields_.as_flag(*pickled, "use_pickle"),
                   "it is pickled, which is a program of its own; tensors as bytes are read");
    std::string name = concat("data/", folder, "/", fields_.text(facts, "path_name"));
    const ArchiveEntry* entry = archive_.find(name);
    fields_.expect(entry != nullptr, "the archive has no entry \"", excerpt(name), '"');
    return stored_.tensor(*entry, placement_of(fields_.member(facts, "tensor_meta")),
                          concat(archive_.file()->name(), ": ", fields_.place()));
  }

  Placement placement_of(const json::Node& meta) const {
    const auto [facts, is_complex, unread] = read_tensor(fields_, meta);
    require_read(fields_, unread);
    Placement placement{facts.dtype, {}, {}, 0};
    for (const SizeExpression& size : facts.sizes) placement.sizes.push_back(number(size, "sizes"));
    for (const json::Node& stride : fields_.list(meta, "strides"))
      placement.strides.push_back(number(read_size(fields_, stride, "strides"), "strides"));
    placement.offset =
        number(read_size(fields_, fields_.member(meta, "storage_offset"), "storage_offset"),
               "storage_offset");
    if (is_complex) pair(placement);
    fields_.expect(placement.sizes.size() == placement.strides.size(), "it has ",
                   placement.sizes.size(), " sizes and ", placement.strides.size(), " strides");
    return placement;
  }
  // Strides and offset of complex numbers as those of their parts, which are neighbours.
  void pair(Placement& placement) const {
    auto twice = [&](std::int64_t& elements) {
      fields_.expect(!__builtin_mul_overflow(elements, 2, &elements),
                     "a stride or its offset is too great");
    };
    for (std::int64_t& stride : placement.strides) twice(stride);
    twice(placement.offset);
    placement.strides.push_back(1);
  }
  std::int64_t number(const SizeExpression& size, std::string_view name) const {
    fields_.expect(size.kind == SizeExpression::Kind::integer, "\"", name, "\" holds ",
                   excerpt(to_string(size)), "; numbers are wanted");
    return size.integer;
  }

  const Archive& archive_;
  Fields fields_;
  std::map<std::string, Tensor> tensors_;
  StoredTensors stored_;
};

constexpr std::size_t most_pickle_bytes = 1 << 25;

// A file of torch.save within the archive: a dictionary of tensors as a pickle, and their storages.
void read_saved(const Archive& archive, const std::string& name,
                std::map<std::string, Tensor>& tensors) {
  const ArchiveEntry& saved = archive.at(name);
  if (saved.size_bytes == 0) return;
  const Archive inner = archive.inner(saved);
  const std::string& file = inner.file()->name();
  require_little_endian(inner);
  StoredTensors stored(inner);
  for (PickledTensor& each : read_pickled_tensors(
           inner.text(inner.at("data.pkl"), most_pickle_bytes), concat(file, ": data.pkl"))) {
    const std::string place = concat(file, ": \"", excerpt(each.name), '"');
    const ArchiveEntry* entry = inner.find(concat("data/", each.storage));
    require(entry != nullptr, "[load_exported] ", place, ": the archive has no entry \"data/",
            excerpt(each.storage), '"');
    require(static_cast<std::uint64_t>(each.storage_bytes) == entry->size_bytes, "[load_exported] ",
            place, ": its storage has ", each.storage_bytes, " bytes; entry \"",
            excerpt(entry->name), "\" has ", entry->size_bytes);
    Tensor tensor =
        stored.tensor(*entry, {each.dtype, each.sizes, each.strides, each.offset}, place);
    require(tensors.emplace(each.name, std::move(tensor)).second, "[load_exported] ", place,
            ": there are two tensors of the name");
  }
}

}  // namespace

std::map<std::string, Tensor> read_tensors(const Archive& archive) {
  if (layout_of(archive) == ArchiveLayout::torch_saved) {
    std::map<std::string, Tensor> tensors;
    read_saved(archive, "serialized_state_dict.pt", tensors);
    read_saved(archive, "serialized_constants.pt", tensors);
    return tensors;
  }
  TensorReader reader(archive);
  reader.read("weights", "model_weights_config.json");
  reader.read("constants", "model_constants_config.json");
  return reader.take();
}

}  // namespace tilewright::exported
