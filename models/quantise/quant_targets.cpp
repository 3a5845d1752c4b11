#include "models/quantise/quant_targets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "models/weights/convert.h"
#include "runtime/base/error.h"

namespace tilewright::quantising {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::int64_t block = 64, nested_block = 256, tile = 128;
constexpr std::int64_t elements_of_piece = 1 << 20;

// The values of bitsandbytes' tables, by their codes.
constexpr std::array<float, 16> nf4_values = {
    -1.0F,         -0.6961928F, -0.52507305F, -0.39491748F, -0.28444138F, -0.18477343F,
    -0.091050036F, 0.0F,        0.0795803F,   0.1609302F,   0.2461123F,   0.33791524F,
    0.44070983F,   0.562617F,   0.72295684F,  1.0F};
constexpr std::array<float, 16> fp4_values = {
    0.0F, 0.0052083335F,  0.6666667F,  1.0F,  0.33333334F,  0.5F,  0.16666667F,  0.25F,
    0.0F, -0.0052083335F, -0.6666667F, -1.0F, -0.33333334F, -0.5F, -0.16666667F, -0.25F};

// Finds the code of the nearest value, of two equally near ones the first of the table.
template <std::size_t count>
class Nearest {
 public:
  explicit Nearest(const std::array<float, count>& values) {
    std::iota(codes_.begin(), codes_.end(), std::uint8_t{0});
    std::ranges::stable_sort(codes_, {}, [&](std::uint8_t code) { return values[code]; });
    for (std::size_t i = count - 1; i-- > 0;) {
      const float low = values[codes_[i]], high = values[codes_[i + 1]];
      // Nothing is nearest to the second of two equal values.
      ends_[i] = low == high ? ends_[i + 1] : (low + high) / 2;
    }
  }
  std::uint8_t operator()(float value) const {
    std::size_t at = 0;  // how many ends lie below the value
    for (std::size_t step = count / 2; step > 0; step /= 2)
      if (ends_[at + step - 1] < value) at += step;
    return codes_[at];
  }

 private:
  std::array<std::uint8_t, count> codes_;  // by their values
  std::array<float, count> ends_ = {};     // between neighbours
};

float greatest(std::span<const float> values) {
  float most = 0;
  for (float value : values) most = std::max(most, std::abs(value));
  return most;
}

template <typename T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
Bytes bytes_of(std::string_view text) {
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}
template <std::size_t count>
Bytes bytes_of(const std::array<float, count>& values) {
  return bytes_of(std::vector<float>(values.begin(), values.end()));
}

std::int64_t groups(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

void encode_by_table(std::span<const float> values, EncodedWeight& weight,
                     const Nearest<16>& nearest) {
  weight.codes.assign((values.size() + 1) / 2, std::byte{0});
  for (std::size_t begin = 0; begin < values.size(); begin += block) {
    const auto own = values.subspan(begin, std::min<std::size_t>(block, values.size() - begin));
    const float scale = greatest(own);
    weight.scales.push_back(scale);
    const float divisor = scale == 0 ? 1 : scale;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const unsigned code = nearest(own[i] / divisor);
      weight.codes[(begin + i) / 2] |= std::byte((begin + i) % 2 == 0 ? code << 4 : code);
    }
  }
}

std::string_view python_name(DType dtype) {
  if (dtype == DType::f16) return "float16";
  return size_bytes(dtype) == 2 ? "bfloat16" : "float32";
}

// The JSON text beside a weight of 4 bits, filled up so that what follows stays aligned.
std::string state_text(std::string_view type, const Shape& shape, DType dtype,
                       std::string_view nested) {
  std::string text =
      concat("{\"quant_type\": \"", type, "\", \"blocksize\": ", block, ", \"dtype\": \"",
             python_name(dtype), "\", \"shape\": [", shape[0], ", ", shape[1], "]", nested, "}");
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

constexpr std::size_t nested_text_bytes = 96;  // the numbers of a nested state, filled up

// The numbers of scales that are codes themselves. The offset is known once all scales are, but
// the tensor's size must be known before, so that the text has a fixed length.
std::string nested_text(double offset) {
  char text[nested_text_bytes + 1];
  std::snprintf(
      text, sizeof text,
      ", \"nested_blocksize\": %d, \"nested_dtype\": \"float32\", \"nested_offset\": %.9g",
      static_cast<int>(nested_block), offset);
  std::string result = text;
  result.append(nested_text_bytes - result.size(), ' ');
  return result;
}

std::vector<NewTensor> four_bits(const std::string& name, const Shape& shape, DType dtype,
                                 std::string_view type, bool is_nested) {
  const std::int64_t count = element_count(shape), blocks = groups(count, block);
  std::vector<NewTensor> tensors = {
      {name, DType::u8, {(count + 1) / 2, 1}},
      {name + ".absmax", is_nested ? DType::u8 : DType::f32, {blocks}},
      {name + ".quant_map", DType::f32, {16}}};
  if (is_nested) {
    tensors.push_back({name + ".nested_absmax", DType::f32, {groups(blocks, nested_block)}});
    tensors.push_back({name + ".nested_quant_map", DType::f32, {256}});
  }
  const std::string text = state_text(type, shape, dtype, is_nested ? nested_text(0) : "");
  tensors.push_back(
      {concat(name, ".quant_state.bitsandbytes__", type), DType::u8, {std::ssize(text)}});
  return tensors;
}

std::int64_t flat_piece(const Shape&) { return elements_of_piece; }

std::vector<NewTensor> nf4_tensors(const std::string& name, const Shape& shape, DType dtype) {
  return four_bits(name, shape, dtype, "nf4", false);
}
std::vector<NewTensor> nested_tensors(const std::string& name, const Shape& shape, DType dtype) {
  return four_bits(name, shape, dtype, "nf4", true);
}
std::vector<NewTensor> fp4_tensors(const std::string& name, const Shape& shape, DType dtype) {
  return four_bits(name, shape, dtype, "fp4", false);
}

void encode_nf4(std::span<const float> values, EncodedWeight& weight) {
  static const Nearest<16> nearest(nf4_values);
  encode_by_table(values, weight, nearest);
}
void encode_fp4(std::span<const float> values, EncodedWeight& weight) {
  static const Nearest<16> nearest(fp4_values);
  encode_by_table(values, weight, nearest);
}

std::vector<Bytes> nf4_rest(const EncodedWeight& w) {
  return {bytes_of(w.scales), bytes_of(nf4_values),
          bytes_of(state_text("nf4", w.shape, w.dtype, ""))};
}
std::vector<Bytes> fp4_rest(const EncodedWeight& w) {
  return {bytes_of(w.scales), bytes_of(fp4_values),
          bytes_of(state_text("fp4", w.shape, w.dtype, ""))};
}

// 256 values that lie the denser the nearer they are to 0 (Dettmers 2016), as bitsandbytes makes
// them for 8 bits with a sign.
std::array<float, 256> dynamic_values() {
  std::vector<double> values = {0, 1};
  for (int exponent = -6; exponent <= 0; ++exponent) {
    const int steps = 1 << (exponent + 6);
    const double step = 0.9 / steps;
    for (int i = 0; i < steps; ++i) {
      const double middle = (0.1 + step * (i + 0.5)) * std::pow(10.0, exponent);
      values.push_back(middle);
      values.push_back(-middle);
    }
  }
  std::ranges::sort(values);
  std::array<float, 256> result;
  check(values.size() == result.size(), "a table of 8 bits has 256 values");
  std::ranges::copy(values, result.begin());
  return result;
}

std::vector<Bytes> nested_rest(const EncodedWeight& w) {
  static const std::array<float, 256> table = dynamic_values();
  static const Nearest<256> nearest(table);
  const double sum = std::accumulate(w.scales.begin(), w.scales.end(), 0.0);
  const auto offset = static_cast<float>(sum / static_cast<double>(w.scales.size()));
  std::vector<std::uint8_t> codes;
  std::vector<float> outer;
  for (std::size_t begin = 0; begin < w.scales.size(); begin += nested_block) {
    const std::size_t end = std::min<std::size_t>(begin + nested_block, w.scales.size());
    float most = 0;
    for (std::size_t i = begin; i < end; ++i) most = std::max(most, std::abs(w.scales[i] - offset));
    outer.push_back(most);
    for (std::size_t i = begin; i < end; ++i)
      codes.push_back(nearest((w.scales[i] - offset) / (most == 0 ? 1 : most)));
  }
  return {bytes_of(codes), bytes_of(nf4_values), bytes_of(outer), bytes_of(table),
          bytes_of(state_text("nf4", w.shape, w.dtype, nested_text(offset)))};
}

// "a.weight" -> "a."
std::string stem_of(const std::string& name) {
  return name.substr(0, name.size() - std::string_view("weight").size());
}

std::vector<NewTensor> int8_tensors(const std::string& name, const Shape& shape, DType) {
  return {{name, DType::i8, shape},
          {stem_of(name) + "SCB", DType::f32, {shape[0]}},
          {stem_of(name) + "weight_format", DType::u8, {}}};
}
std::int64_t whole_rows(const Shape& shape) {
  return shape[1] * std::max<std::int64_t>(elements_of_piece / shape[1], 1);
}
void encode_int8(std::span<const float> values, EncodedWeight& weight) {
  const auto columns = static_cast<std::size_t>(weight.shape[1]);
  weight.codes.resize(values.size());
  for (std::size_t begin = 0; begin < values.size(); begin += columns) {
    const auto row = values.subspan(begin, columns);
    const float most = greatest(row);
    weight.scales.push_back(most);
    const float factor = most == 0 ? 0 : 127.0F / most;
    for (std::size_t i = 0; i < columns; ++i)
      weight.codes[begin + i] = std::byte(
          static_cast<unsigned char>(static_cast<std::int8_t>(std::nearbyint(row[i] * factor))));
  }
}
std::vector<Bytes> int8_rest(const EncodedWeight& w) {
  return {bytes_of(w.scales), Bytes(1, std::byte{0})};  // rows one after the other
}

std::vector<NewTensor> fp8_tensors(const std::string& name, const Shape& shape, DType) {
  return {{name, DType::f8e4m3, shape},
          {name + "_scale_inv", DType::f32, {groups(shape[0], tile), groups(shape[1], tile)}}};
}
std::int64_t rows_of_tiles(const Shape& shape) { return shape[1] * tile; }
void encode_fp8(std::span<const float> values, EncodedWeight& weight) {
  constexpr float greatest_float8 = 448;
  const auto columns = static_cast<std::size_t>(weight.shape[1]), wide = std::size_t{tile};
  std::vector<float> scales(static_cast<std::size_t>(groups(weight.shape[1], tile)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& scale = scales[i % columns / wide];
    scale = std::max(scale, std::abs(values[i]));
  }
  for (float& scale : scales) scale = scale == 0 ? 1 : scale / greatest_float8;
  std::vector<float> scaled(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    scaled[i] =
        std::clamp(values[i] / scales[i % columns / wide], -greatest_float8, greatest_float8);
  weight.codes.resize(values.size());
  weights::convert(scaled.data(), DType::f32, weight.codes.data(), DType::f8e4m3,
                   std::ssize(scaled));
  weight.scales.insert(weight.scales.end(), scales.begin(), scales.end());
}
std::vector<Bytes> fp8_rest(const EncodedWeight& w) { return {bytes_of(w.scales)}; }

std::string four_bits_config(std::string_view type, bool is_nested, std::string_view dtype,
                             std::string_view kept) {
  return concat(R"({"quant_method":"bitsandbytes","load_in_4bit":true,"load_in_8bit":false,)",
                R"("_load_in_4bit":true,"_load_in_8bit":false,"bnb_4bit_quant_type":")", type,
                R"(","bnb_4bit_use_double_quant":)", is_nested ? "true" : "false",
                R"(,"bnb_4bit_compute_dtype":")", dtype,
                R"(","bnb_4bit_quant_storage":"uint8","llm_int8_skip_modules":)", kept, "}");
}
std::string nf4_config(std::string_view dtype, std::string_view kept) {
  return four_bits_config("nf4", false, dtype, kept);
}
std::string nested_config(std::string_view dtype, std::string_view kept) {
  return four_bits_config("nf4", true, dtype, kept);
}
std::string fp4_config(std::string_view dtype, std::string_view kept) {
  return four_bits_config("fp4", false, dtype, kept);
}
std::string int8_config(std::string_view, std::string_view kept) {
  return concat(R"({"quant_method":"bitsandbytes","load_in_4bit":false,"load_in_8bit":true,)"
                R"("_load_in_4bit":false,"_load_in_8bit":true,"llm_int8_threshold":6.0,)"
                R"("llm_int8_enable_fp32_cpu_offload":false,"llm_int8_has_fp16_weight":false,)"
                R"("llm_int8_skip_modules":)",
                kept, "}");
}
std::string fp8_config(std::string_view, std::string_view kept) {
  return concat(
      R"({"quant_method":"fp8","activation_scheme":"dynamic","fmt":"e4m3","weight_block_size":)"
      R"([128,128],"modules_to_not_convert":)",
      kept, "}");
}

constexpr QuantTarget targets[] = {
    {"nf4", nf4_tensors, flat_piece, encode_nf4, nf4_rest, nf4_config},
    {"nf4-double", nested_tensors, flat_piece, encode_nf4, nested_rest, nested_config},
    {"fp4", fp4_tensors, flat_piece, encode_fp4, fp4_rest, fp4_config},
    {"int8", int8_tensors, whole_rows, encode_int8, int8_rest, int8_config},
    {"fp8", fp8_tensors, rows_of_tiles, encode_fp8, fp8_rest, fp8_config},
};

}  // namespace

std::span<const QuantTarget> quant_targets() { return targets; }

}  // namespace tilewright::quantising
