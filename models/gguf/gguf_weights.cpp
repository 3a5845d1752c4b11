// The tensors of a GGUF file under the names of a folder.
#include <algorithm>
#include <cstring>

#include "graph/quant/gguf_blocks.h"
#include "models/gguf/architectures.h"
#include "models/gguf/gguf_model.h"
#include "models/gguf/gguf_types.h"
#include "runtime/base/error.h"

namespace tilewright::gguf {
namespace {

using FilePointer = std::shared_ptr<const GgufFile>;

// Rows of heads lie in pairs, [heads, size / 2, 2]; the folder has [heads, 2, size / 2].
std::vector<std::byte> in_halves(const std::vector<std::byte>& bytes, std::int64_t rows,
                                 std::int64_t heads) {
  const std::size_t row_bytes = bytes.size() / static_cast<std::size_t>(rows);
  const std::int64_t size = rows / heads, half = size / 2;
  std::vector<std::byte> result(bytes.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t in_head = row % size;
    const std::int64_t from = row - in_head + in_head % half * 2 + in_head / half;
    std::memcpy(result.data() + static_cast<std::size_t>(row) * row_bytes,
                bytes.data() + static_cast<std::size_t>(from) * row_bytes, row_bytes);
  }
  return result;
}

// How many heads the rows of a tensor are of, if their order must be changed; else 0.
std::int64_t turned_heads(const GgufFile& file, const Architecture& architecture,
                          const Entry& entry) {
  if (!architecture.turns_rows) return 0;
  const std::string heads = concat(architecture.name, ".attention.head_count");
  std::int64_t count = 0;
  if (entry.name.find(".attn_q.") != std::string::npos) count = file.integer(heads);
  if (entry.name.find(".attn_k.") != std::string::npos)
    count = file.integer(heads + "_kv", file.integer(heads));
  require(count == 0 || (count > 0 && entry.shape[0] % (2 * count) == 0), "[", gguf_operation, "] ",
          file.name(), ": tensor \"", entry.name, "\" is ", entry.shape, " of ", count,
          " heads; a multiple of twice as many rows is needed");
  return count;
}

std::vector<std::byte> ordered_bytes(const GgufFile& file, const Entry& entry, std::int64_t heads) {
  std::vector<std::byte> bytes = file.bytes(entry);
  return heads == 0 ? bytes : in_halves(bytes, entry.shape[0], heads);
}

Tensor less_one(const Tensor& norm) {
  std::vector<float> values = norm.to_vector<float>();
  for (float& value : values) value -= 1;
  return Tensor::from(values, norm.shape());
}

quant::GroupedCodes codes_of(const GgufFile& file, const Entry& entry, std::int64_t heads) {
  const std::vector<std::byte> bytes = ordered_bytes(file, entry, heads);
  const std::int64_t columns = entry.shape[-1], rows = element_count(entry.shape) / columns;
  return codes_of_blocks(*quant::find_block_layout(entry.type), bytes, rows, columns);
}

Tensor tensor_of(const GgufFile& file, const Entry& entry, std::int64_t heads) {
  const auto dtype = float_type(entry.type);
  if (!dtype) return decoded(codes_of(file, entry, heads)).reshape(entry.shape).contiguous();
  const std::vector<std::byte> bytes = ordered_bytes(file, entry, heads);
  return Tensor::from_bytes(bytes.data(), std::ssize(bytes), entry.shape, *dtype);
}

DerivedTensor derived(const FilePointer& file, const Architecture& architecture,
                      const Entry& entry) {
  const std::int64_t heads = turned_heads(*file, architecture, entry);
  const DType dtype = float_type(entry.type).value_or(DType::f32);
  const bool loses_one = architecture.norms_plus_one && entry.name.ends_with("_norm.weight");
  require(!loses_one || entry.type == 0, "[", gguf_operation, "] ", file->name(), ": tensor \"",
          entry.name, "\" is of the type ", entry.type, "; norms must be f32 (0)");
  DerivedTensor result{entry.shape, dtype, [=] {
                         const Tensor tensor = tensor_of(*file, entry, heads);
                         return loses_one ? less_one(tensor) : tensor;
                       }};
  if (const auto* layout = quant::find_block_layout(entry.type)) result.format = layout->format;
  if (result.format && entry.shape.rank() == 2)
    result.codes = [=] { return codes_of(*file, entry, heads); };
  return result;
}

}  // namespace

Tensor stored_tensor(const GgufFile& file, std::string_view name) {
  auto found = file.tensors().find(name);
  require(found != file.tensors().end(), "[", gguf_operation, "] ", file.name(),
          ": has no tensor \"", name, '"');
  return tensor_of(file, found->second, 0);
}

Weights weights_of(FilePointer file) {
  const Architecture& architecture = architecture_of(*file);
  const std::int64_t parts = file->integer("split.count", 1);
  require(parts <= 1, "[", gguf_operation, "] ", file->name(), ": is one of ", parts,
          " files; a model in one file is needed (llama-gguf-split --merge)");
  Weights weights;
  for (const auto& [name, entry] : file->tensors()) {
    if (name == "rope_freqs.weight") continue;  // a setting (gguf_config.cpp)
    weights.derive(folder_name(architecture, name).value_or(name),
                   derived(file, architecture, entry));
  }
  return weights;
}

}  // namespace tilewright::gguf
