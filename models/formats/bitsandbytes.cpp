// bitsandbytes: tables of 16 values for blocks of 64 elements (NF4, FP4), whose scales may be codes
// themselves ("double quantisation"), and LLM.int8 with a scale for each row.
#include <cmath>

#include "models/files/reader.h"
#include "models/files/tree.h"
#include "models/formats/stored_parts.h"
#include "runtime/base/error.h"

namespace tilewright::formats {
namespace {

constexpr std::string_view state_marks[] = {".quant_state.bitsandbytes__nf4",
                                            ".quant_state.bitsandbytes__fp4"};

// The JSON text that lies beside each weight of 4 bits.
struct QuantState {
  quant::Format format = quant::Format::nf4;
  std::int64_t block = 64;
  DType dtype = DType::f32;
  Shape shape;
  std::int64_t nested_block = 0;  // 0: scales are numbers
  double nested_offset = 0;
};

QuantState read_state(const Weights& stored, const std::string& name) {
  constexpr std::int64_t most_bytes = 1 << 16;
  expect_part(stored, name, {DType::u8});
  const std::int64_t size = element_count(stored.shape(name));
  require(size <= most_bytes, "[", formats_operation, "] tensor \"", json::excerpt(name), "\" has ",
          size, " bytes; a JSON text of ", most_bytes, " at the most is needed");
  const std::vector<std::uint8_t> bytes = stored.tensor(name).to_vector<std::uint8_t>();
  const std::string text(bytes.begin(), bytes.end()), what = concat(json::excerpt(name));
  const ConfigFields fields(text, formats_operation, what);
  QuantState state;
  const std::string type = fields.text("quant_type");
  if (type != "nf4" && type != "fp4")
    refuse_setting(fields, "quant_type", type, "nf4 or fp4 is needed");
  state.format = type == "nf4" ? quant::Format::nf4 : quant::Format::fp4;
  state.block = fields.integer("blocksize");
  state.dtype = dtype_setting(fields, "dtype", "float32");
  for (std::int64_t size_of_axis : fields.ids("shape")) state.shape.push_back(size_of_axis);
  check_config_range(formats_operation, what, "blocksize", state.block, 1, 1 << 16);
  require(state.shape.rank() == 2 && state.shape[0] > 0 && state.shape[1] > 0 &&
              state.shape[0] < 1 << 24 && state.shape[1] < 1 << 24,
          "[", formats_operation, "] ", what, ": shape is ", state.shape,
          "; two sizes above 0 are needed");
  if (fields.has("nested_blocksize")) {
    state.nested_block = fields.integer("nested_blocksize");
    check_config_range(formats_operation, what, "nested_blocksize", state.nested_block, 1, 1 << 16);
    state.nested_offset = fields.number("nested_offset");
  }
  return state;
}

std::int64_t blocks_of(std::int64_t count, std::int64_t block) {
  return (count + block - 1) / block;
}

std::vector<float> scales_of(const Weights& stored, const std::string& name,
                             const QuantState& state, std::int64_t blocks) {
  const std::string scales = name + ".absmax";
  if (state.nested_block == 0) return floats(part(stored, scales, {DType::f32}, Shape{blocks}));
  const auto codes = part(stored, scales, {DType::u8}, Shape{blocks}).to_vector<std::uint8_t>();
  const auto values = floats(part(stored, name + ".nested_quant_map", {DType::f32}, Shape{256}));
  const auto outer = floats(part(stored, name + ".nested_absmax", {DType::f32},
                                 Shape{blocks_of(blocks, state.nested_block)}));
  std::vector<float> result(codes.size());
  const auto offset = static_cast<float>(state.nested_offset);
  for (std::size_t i = 0; i < codes.size(); ++i)
    result[i] = values[codes[i]] * outer[i / static_cast<std::size_t>(state.nested_block)] + offset;
  return result;
}

quant::GroupedCodes codes_of(const Weights& stored, const std::string& name,
                             const QuantState& state) {
  const std::int64_t count = element_count(state.shape);
  const auto bytes =
      part(stored, name, {DType::u8}, Shape{(count + 1) / 2, 1}).to_vector<std::uint8_t>();
  quant::GroupedCodes w;
  w.format = state.format;
  w.shape = state.shape;
  // Blocks go over the ends of rows that they do not divide.
  const bool fits = state.shape[1] % state.block == 0;
  w.rows = fits ? state.shape[0] : 1;
  w.columns = fits ? state.shape[1] : count;
  w.group_columns = state.block;
  w.codes.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < w.codes.size(); ++i)
    w.codes[i] = i % 2 == 0 ? bytes[i / 2] >> 4 : bytes[i / 2] & 15;
  w.values = quant::table_of(floats(part(stored, name + ".quant_map", {DType::f32}, Shape{16})));
  w.scales = scales_of(stored, name, state, blocks_of(count, state.block));
  w.rounded = state.dtype;
  return w;
}

void add_four_bits(const Folder& folder, const std::string& name, std::string_view mark) {
  const std::string state_name = name + std::string(mark);
  const QuantState state = read_state(folder.stored, state_name);
  const std::int64_t count = element_count(state.shape);
  expect_part(folder.stored, name, {DType::u8}, Shape{(count + 1) / 2, 1});
  auto codes = [stored = folder.stored, name, state] { return codes_of(stored, name, state); };
  for (const char* ending : {"", ".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map"})
    folder.consume(name + ending);
  folder.consume(state_name);
  folder.result.derive(
      name, {state.shape, state.dtype, [=] { return decoded(codes()); }, codes, state.format});
}

void add_eight_bits(const Folder& folder, const std::string& stem) {
  const std::string name = stem + "weight", scales = stem + "SCB";
  expect_part(folder.stored, name, {DType::i8});
  const Shape shape = folder.stored.shape(name);
  expect_part(folder.stored, scales, {DType::f32}, Shape{shape[0]});
  const std::string order = stem + "weight_format";
  if (folder.stored.contains(order)) {
    const auto number = part(folder.stored, order, {DType::u8}, Shape{}).item<std::int64_t>();
    require(number == 0, "[", formats_operation, "] tensor \"", json::excerpt(order), "\" is ",
            number, "; 0, for rows one after the other, is needed");
  }
  auto codes = [stored = folder.stored, name, scales, shape] {
    quant::GroupedCodes w;
    w.format = quant::Format::llm_int8;
    w.shape = shape;
    w.rows = shape[0];
    w.columns = w.group_columns = shape[1];
    const auto bytes = stored.tensor(name).to_vector<std::int8_t>();
    w.codes.assign(bytes.begin(), bytes.end());
    w.values = quant::signed_bytes();
    w.scales = floats(stored.tensor(scales));
    w.factor = 7.874015718698502e-3F;  // 1 / 127 to the digits of bitsandbytes
    return w;
  };
  for (const std::string& used : {name, scales, order}) folder.consume(used);
  folder.result.derive(
      name, {shape, DType::f32, [=] { return decoded(codes()); }, codes, quant::Format::llm_int8});
}

}  // namespace

void add_bitsandbytes(const Folder& folder) {
  for (std::string_view mark : state_marks)
    for (const std::string& name : folder.stems(mark)) add_four_bits(folder, name, mark);
  for (const std::string& stem : folder.stems("SCB")) add_eight_bits(folder, stem);
}

}  // namespace tilewright::formats
