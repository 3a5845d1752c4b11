// Weights of 8 bits beside their scales, and integers packed along the rows: compressed-tensors,
// and fp8 with a scale for each block of 128 rows and columns.
#include "graph/quant/words.h"
#include "models/files/reader.h"
#include "models/formats/stored_parts.h"
#include "runtime/base/error.h"

namespace tilewright::formats {
namespace {

using Blocks = std::pair<std::int64_t, std::int64_t>;  // rows and columns that share a scale

// The blocks that make scales [R, C] of a weight, where that is known: [1], [out, 1], or
// [out, groups] of whole groups.
std::optional<Blocks> blocks_by_shape(const Shape& weight, const Shape& scales) {
  const std::int64_t rows = weight[0], columns = weight[1];
  if (element_count(scales) == 1) return Blocks{rows, columns};
  if (scales.rank() != 2 || scales[0] != rows || scales[1] == 0 || columns % scales[1] != 0)
    return std::nullopt;
  return Blocks{1, columns / scales[1]};
}

Shape grid(const Shape& weight, Blocks blocks) {
  return {(weight[0] + blocks.first - 1) / blocks.first,
          (weight[1] + blocks.second - 1) / blocks.second};
}

quant::ValueTable byte_values(DType dtype) {
  return dtype == DType::i8 ? quant::signed_bytes() : quant::float8_values(dtype);
}

struct Bytes {
  std::string weight, scales;
  Shape shape;
  Blocks blocks;
  std::optional<DType> rounded;
};

quant::Format format_of(DType dtype, const Bytes& from) {
  if (dtype == DType::i8) return quant::Format::scaled_integers;
  const bool is_blocked = from.blocks.first > 1 && from.blocks.first < from.shape[0];
  return is_blocked ? quant::Format::blocked_float8 : quant::Format::scaled_float8;
}

// A weight of bytes, whose scales have been checked.
quant::GroupedCodes codes_of(const Weights& stored, const Bytes& from) {
  const Tensor weight = stored.tensor(from.weight), scales = stored.tensor(from.scales);
  quant::GroupedCodes w;
  w.format = format_of(weight.dtype(), from);
  w.shape = from.shape;
  w.rows = from.shape[0];
  w.columns = from.shape[1];
  const auto* bytes = static_cast<const std::uint8_t*>(weight.const_data());
  w.codes.assign(bytes, bytes + weight.count());
  w.values = byte_values(weight.dtype());
  w.group_rows = from.blocks.first;
  w.group_columns = from.blocks.second;
  w.scales = floats(scales);
  w.scale_dtype = scales.dtype();
  w.rounded = from.rounded;
  return w;
}

void add_bytes(const Folder& folder, const Bytes& from) {
  auto codes = [stored = folder.stored, from] { return codes_of(stored, from); };
  folder.consume(from.weight);
  folder.consume(from.scales);
  folder.result.derive(
      from.weight, {from.shape, from.rounded.value_or(DType::f32), [=] { return decoded(codes()); },
                    codes, format_of(folder.stored.dtype(from.weight), from)});
}

void expect_matrix(const Weights& stored, const std::string& name,
                   const std::vector<DType>& dtypes) {
  expect_part(stored, name, dtypes);
  require(stored.shape(name).rank() == 2 && element_count(stored.shape(name)) > 0, "[",
          formats_operation, "] tensor \"", json::excerpt(name), "\" is ", stored.shape(name),
          "; a matrix is needed");
}

struct Packed {
  std::string stem;
  Shape shape;
  int bits;
  std::int64_t group;
  bool has_zeros;
  DType rounded;
};

quant::GroupedCodes codes_of(const Weights& stored, const Packed& from) {
  quant::GroupedCodes w;
  w.format = quant::Format::packed_integers;
  w.shape = from.shape;
  w.rows = from.shape[0];
  w.columns = from.shape[1];
  w.group_columns = from.group;
  const Tensor words = stored.tensor(from.stem + "weight_packed");
  const auto all = quant::codes_along(words.to_vector<std::int32_t>(), from.bits);
  const std::int64_t width = words.size(1) * (32 / from.bits);  // of words that are whole
  w.codes.resize(static_cast<std::size_t>(w.rows * w.columns));
  for (std::int64_t row = 0; row < w.rows; ++row)
    std::copy_n(all.begin() + row * width, w.columns, w.codes.begin() + row * w.columns);
  const int centre = 1 << (from.bits - 1);
  w.values = quant::integers_from(-centre);
  const Tensor scales = stored.tensor(from.stem + "weight_scale");
  w.scales = floats(scales);
  w.scale_dtype = scales.dtype();
  if (from.has_zeros) {
    const Tensor points = stored.tensor(from.stem + "weight_zero_point");
    const auto down =
        quant::codes_down(points.to_vector<std::int32_t>(), points.size(1), from.bits);
    for (std::size_t i = 0; i < w.scales.size(); ++i)
      w.zeros.push_back(static_cast<float>(static_cast<int>(down[i]) - centre));
  }
  w.rounded = from.rounded;
  return w;
}

void add_packed(const Folder& folder, const std::string& stem, int bits) {
  const Weights& stored = folder.stored;
  const std::string name = stem + "weight_packed", shape_name = stem + "weight_shape";
  const std::int64_t each = 32 / bits;
  expect_matrix(stored, name, {DType::i32});
  const auto sizes = part(stored, shape_name, {DType::i64}, Shape{2}).to_vector<std::int64_t>();
  const Shape words = stored.shape(name), shape = {sizes[0], sizes[1]};
  require(sizes[0] == words[0] && sizes[1] > 0 && (sizes[1] + each - 1) / each == words[1], "[",
          formats_operation, "] tensor \"", json::excerpt(shape_name), "\" is [", sizes[0], ", ",
          sizes[1], "]; the words are ", words, ", of ", each, " weights each");
  const std::string scales = stem + "weight_scale", zeros = stem + "weight_zero_point";
  expect_part(stored, scales, scale_dtypes());
  const auto blocks = blocks_by_shape(shape, stored.shape(scales));
  require(blocks && blocks->first == 1, "[", formats_operation, "] tensor \"",
          json::excerpt(scales), "\" is ", stored.shape(scales), "; [", shape[0],
          ", groups] is needed, of equally many of the ", shape[1], " columns each");
  const std::int64_t groups = stored.shape(scales)[1];
  const bool has_zeros = stored.contains(zeros);
  if (has_zeros)
    expect_part(stored, zeros, {DType::i32}, Shape{(shape[0] + each - 1) / each, groups});
  Packed from{stem, shape, bits, blocks->second, has_zeros, folder.dtype};
  auto codes = [stored, from] { return codes_of(stored, from); };
  for (const char* ending :
       {"weight_packed", "weight_shape", "weight_scale", "weight_zero_point", "weight_g_idx"})
    folder.consume(stem + ending);
  folder.result.derive(stem + "weight", {shape, from.rounded, [=] { return decoded(codes()); },
                                         codes, quant::Format::packed_integers});
}

// The bits of packed weights and the blocks of others, which the shapes of tensors do not tell.
struct GroupSettings {
  int bits = 4;
  std::optional<Blocks> blocks;
};

GroupSettings group_settings(const ConfigFields& config) {
  auto groups = config.object("config_groups");
  require(groups.has_value(), "[", formats_operation, "] ", config.what(), ": ",
          config.full_name("config_groups"), " is missing; an object is needed");
  GroupSettings settings;
  const std::vector<std::string> names = groups->members();
  if (names.size() != 1)
    refuse_setting(config, "config_groups", concat("of ", names.size(), " groups"),
                   "one group is needed");
  auto group = groups->object(names[0]);
  auto weights = group->object("weights");
  require(weights.has_value(), "[", formats_operation, "] ", config.what(), ": ",
          group->full_name("weights"), " is missing; an object is needed");
  settings.bits = static_cast<int>(weights->integer("num_bits"));
  if (settings.bits != 4 && settings.bits != 8)
    refuse_setting(*weights, "num_bits", concat(settings.bits), "4 or 8 is needed");
  if (weights->text("strategy") == "block") {
    const std::vector<std::int64_t> sides = weights->ids("block_structure");
    if (sides.size() != 2 || sides[0] <= 0 || sides[1] <= 0)
      refuse_setting(*weights, "block_structure", concat("of ", sides.size(), " numbers"),
                     "two numbers above 0 are needed");
    settings.blocks = Blocks{sides[0], sides[1]};
  }
  return settings;
}

}  // namespace

void add_compressed_tensors(const Folder& folder) {
  const Weights& stored = folder.stored;
  const GroupSettings settings = group_settings(folder.config);
  for (const std::string& stem : folder.stems("weight_packed"))
    add_packed(folder, stem, settings.bits);
  for (const std::string& stem : folder.stems("weight_scale")) {
    if (stored.contains(stem + "weight_packed")) continue;
    Bytes from{stem + "weight", stem + "weight_scale", {}, {}, folder.dtype};
    expect_matrix(stored, from.weight, {DType::i8, DType::f8e4m3});
    expect_part(stored, from.scales, scale_dtypes());
    from.shape = stored.shape(from.weight);
    const Shape scales = stored.shape(from.scales);
    const auto blocks = settings.blocks ? settings.blocks : blocks_by_shape(from.shape, scales);
    require(blocks && (element_count(scales) == 1 || scales == grid(from.shape, *blocks)), "[",
            formats_operation, "] tensor \"", json::excerpt(from.scales), "\" is ", scales,
            "; of a weight ", from.shape, " [1], [", from.shape[0],
            ", 1], or one for each block is needed");
    from.blocks = *blocks;
    for (const char* ending : {"weight_zero_point", "weight_g_idx"}) folder.consume(stem + ending);
    add_bytes(folder, from);
  }
  for (const char* ending : {"input_scale", "input_zero_point"})
    for (const std::string& stem : folder.stems(ending)) folder.consume(stem + ending);
}

void add_block_float8(const Folder& folder) {
  const std::vector<std::int64_t> sides = folder.config.ids("weight_block_size");
  if (sides.size() != 2 || sides[0] <= 0 || sides[1] <= 0)
    refuse_setting(folder.config, "weight_block_size", concat("of ", sides.size(), " numbers"),
                   "two numbers above 0 are needed");
  for (const std::string& name : folder.stems("_scale_inv")) {
    expect_matrix(folder.stored, name, {DType::f8e4m3});
    Bytes from{name, name + "_scale_inv", folder.stored.shape(name), {sides[0], sides[1]}, {}};
    expect_part(folder.stored, from.scales, scale_dtypes(), grid(from.shape, from.blocks));
    add_bytes(folder, from);
  }
}

}  // namespace tilewright::formats
