#include "models/exported/tensor_data.h"

#include <utility>

#include "graph/tensor/tensor_body.h"
#include "models/exported/program/arguments.h"
#include "models/exported/program/fields.h"
#include "models/exported/program/program.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

using json::excerpt;

constexpr std::int64_t most_expanded_bytes = 1 << 28;  // of a tensor that repeats its elements
constexpr std::uintptr_t alignment = 64;               // of memory that a tensor may see

// How a tensor lies in its storage, in elements.
struct Placement {
  DType dtype;
  Shape sizes, strides;
  std::int64_t offset;
  bool operator==(const Placement&) const = default;
};

class TensorReader {
 public:
  explicit TensorReader(const Archive& archive)
      : archive_(archive), fields_(archive.file()->name()) {}

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
    Placement placement = placement_of(fields_.member(facts, "tensor_meta"), *entry);
    auto& known = known_[name];  // equal weights of two names are one tensor
    for (const auto& [other, tensor] : known)
      if (other == placement) return tensor;
    Tensor tensor = placed(*entry, placement);
    known.emplace_back(placement, tensor);
    return tensor;
  }

  Placement placement_of(const json::Node& meta, const ArchiveEntry& entry) const {
    TensorFacts facts = read_tensor_facts(fields_, meta);
    Placement placement{facts.dtype, {}, {}, 0};
    for (const SizeExpression& size : facts.sizes) placement.sizes.push_back(number(size, "sizes"));
    for (const json::Node& stride : fields_.list(meta, "strides"))
      placement.strides.push_back(number(read_size(fields_, stride, "strides"), "strides"));
    placement.offset =
        number(read_size(fields_, fields_.member(meta, "storage_offset"), "storage_offset"),
               "storage_offset");
    fields_.expect(placement.sizes.size() == placement.strides.size(), "it has ",
                   placement.sizes.size(), " sizes and ", placement.strides.size(), " strides");
    check_reach(placement, entry);
    return placement;
  }
  std::int64_t number(const SizeExpression& size, std::string_view name) const {
    fields_.expect(size.kind == SizeExpression::Kind::integer, "\"", name, "\" holds ",
                   excerpt(to_string(size)), "; numbers are wanted");
    return size.integer;
  }

  // That the last element lies in the entry, and that there are not many more than it holds.
  void check_reach(const Placement& placement, const ArchiveEntry& entry) const {
    std::int64_t last = placement.offset, count = 1;
    bool fits = true;
    for (std::size_t i = 0; i < placement.sizes.size(); ++i) {
      std::int64_t size = placement.sizes.at(i), reach = 0;
      fits = fits && !__builtin_mul_overflow(count, size, &count);
      if (size > 0)
        fits = fits && !__builtin_mul_overflow(size - 1, placement.strides.at(i), &reach) &&
               !__builtin_add_overflow(last, reach, &last);
    }
    auto elements = static_cast<std::int64_t>(entry.size_bytes) / size_bytes(placement.dtype);
    bool is_inside = fits && (count == 0 || last < elements);
    fields_.expect(is_inside, "it is ", placement.dtype, " [", placement.sizes, "] with strides [",
                   placement.strides, "] from element ", placement.offset, " on; entry \"",
                   excerpt(entry.name), "\" has ", entry.size_bytes, " bytes");
    fields_.expect(count <= elements || count <= most_expanded_bytes / size_bytes(placement.dtype),
                   "it repeats ", elements, " elements to ", count);
  }

  Tensor placed(const ArchiveEntry& entry, const Placement& placement) const {
    if (element_count(placement.sizes) == 0) return Tensor::empty(placement.sizes, placement.dtype);
    Tensor whole = storage(entry, placement.dtype);
    if (placement.offset == 0 && is_row_major(placement.sizes, placement.strides) &&
        element_count(placement.sizes) == whole.count())
      return whole.reshape(placement.sizes);
    graph::StridedView view = whole.body()->view;
    view.shape = placement.sizes;
    view.strides = placement.strides;
    view.offset += placement.offset;
    return graph::make_tensor(placement.dtype, view, whole.body()->buffer).clone();
  }

  // All of the entry's elements.
  Tensor storage(const ArchiveEntry& entry, DType dtype) const {
    auto count = static_cast<std::int64_t>(entry.size_bytes) / size_bytes(dtype);
    std::byte* mapped = archive_.mapped(entry);
    if (reinterpret_cast<std::uintptr_t>(mapped) % alignment == 0 && mapped != nullptr)
      return Tensor::from_blob(mapped, {count}, dtype, archive_.file());
    auto bytes = static_cast<std::int64_t>(entry.size_bytes);
    Tensor whole = Tensor::empty({count}, dtype);
    if (count * size_bytes(dtype) == bytes) {
      archive_.read(entry, {static_cast<std::byte*>(whole.data()), entry.size_bytes});
      return whole;
    }
    std::vector<std::byte> content(entry.size_bytes);
    archive_.read(entry, content);
    return Tensor::from_bytes(content.data(), count * size_bytes(dtype), {count}, dtype);
  }

  const Archive& archive_;
  Fields fields_;
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, std::vector<std::pair<Placement, Tensor>>> known_;  // by entry
};

}  // namespace

std::map<std::string, Tensor> read_tensors(const Archive& archive) {
  TensorReader reader(archive);
  reader.read("weights", "model_weights_config.json");
  reader.read("constants", "model_constants_config.json");
  return reader.take();
}

}  // namespace tilewright::exported
