// GPTQ and AWQ: [in, out] seen from the left, integers of 2, 4 or 8 bits in words, with a scale and
// a zero point for each group of rows.
#include <algorithm>
#include <numeric>

#include "graph/quant/words.h"
#include "models/files/reader.h"
#include "models/formats/stored_parts.h"
#include "runtime/base/error.h"

namespace tilewright::formats {
namespace {

// The settings of both. Names end in qweight, qzeros, scales, g_idx.
struct Settings {
  quant::Format format = quant::Format::gptq;
  int bits = 4;
  std::int64_t group = 128;  // -1: all rows are one
  int stored_less = 0;       // a zero point is stored less this
};

struct Sizes {
  std::int64_t in, out, groups;
};

std::vector<std::int32_t> words_of(const Weights& stored, const std::string& name) {
  return stored.tensor(name).to_vector<std::int32_t>();
}

bool is_awq(const Settings& settings) { return settings.format == quant::Format::awq; }

Sizes checked_sizes(const Weights& stored, const std::string& stem, const Settings& settings) {
  const std::int64_t each = 32 / settings.bits;
  expect_part(stored, stem + "qweight", {DType::i32});
  const Shape words = stored.shape(stem + "qweight");
  require(words.rank() == 2 && words[0] > 0 && words[1] > 0, "[", formats_operation, "] tensor \"",
          json::excerpt(stem + "qweight"), "\" is ", words, "; a matrix of words is needed");
  Sizes sizes = {};
  sizes.in = is_awq(settings) ? words[0] : words[0] * each;
  sizes.out = is_awq(settings) ? words[1] * each : words[1];
  const std::int64_t group = settings.group < 0 ? sizes.in : settings.group;
  sizes.groups = (sizes.in + group - 1) / group;
  require(!is_awq(settings) || sizes.in % group == 0, "[", formats_operation, "] tensor \"",
          json::excerpt(stem + "qweight"), "\" is of ", sizes.in, " rows in groups of ", group,
          "; whole groups are needed");
  require(sizes.out % each == 0, "[", formats_operation, "] tensor \"",
          json::excerpt(stem + "qweight"), "\" is of ", sizes.out, " columns; a multiple of ", each,
          " is needed, whose zero points fill words");
  expect_part(stored, stem + "scales", scale_dtypes(), Shape{sizes.groups, sizes.out});
  expect_part(stored, stem + "qzeros", {DType::i32}, Shape{sizes.groups, sizes.out / each});
  if (!is_awq(settings) && stored.contains(stem + "g_idx"))
    expect_part(stored, stem + "g_idx", {DType::i32}, Shape{sizes.in});
  return sizes;
}

// The groups of rows as they are stored; none where neighbours are in a group.
std::vector<std::int32_t> group_of_rows(const Weights& stored, const std::string& stem,
                                        const Settings& settings, const Sizes& sizes) {
  const std::string name = stem + "g_idx";
  if (is_awq(settings) || !stored.contains(name)) return {};
  std::vector<std::int32_t> groups = words_of(stored, name);
  const std::int64_t group = settings.group < 0 ? sizes.in : settings.group;
  bool in_order = true;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    require(groups[i] >= 0 && groups[i] < sizes.groups, "[", formats_operation, "] tensor \"",
            json::excerpt(name), "\" has the group ", groups[i], " at ", i, "; there are ",
            sizes.groups);
    in_order &= groups[i] == static_cast<std::int64_t>(i) / group;
  }
  return in_order ? std::vector<std::int32_t>{} : groups;
}

// [groups, out] as [out, groups].
std::vector<float> by_rows(const std::vector<float>& values, const Sizes& sizes) {
  std::vector<float> result(values.size());
  for (std::int64_t g = 0; g < sizes.groups; ++g)
    for (std::int64_t o = 0; o < sizes.out; ++o)
      result[static_cast<std::size_t>(o * sizes.groups + g)] =
          values[static_cast<std::size_t>(g * sizes.out + o)];
  return result;
}

quant::GroupedCodes codes_of(const Weights& stored, const std::string& stem,
                             const Settings& settings, const Sizes& sizes) {
  const auto words = words_of(stored, stem + "qweight"), zeros = words_of(stored, stem + "qzeros");
  const auto codes = is_awq(settings) ? quant::interleaved_codes(words)
                                      : quant::codes_down(words, sizes.out, settings.bits);
  const auto points =
      is_awq(settings) ? quant::interleaved_codes(zeros) : quant::codes_along(zeros, settings.bits);
  quant::GroupedCodes w;
  w.format = settings.format;
  w.shape = {sizes.out, sizes.in};
  w.rows = sizes.out;
  w.columns = sizes.in;
  w.group_columns = settings.group < 0 ? sizes.in : settings.group;
  w.codes = quant::turned(codes, sizes.out);
  w.values = quant::integers_from(0);
  std::vector<float> zero_points(points.size());
  for (std::size_t i = 0; i < points.size(); ++i)
    zero_points[i] = static_cast<float>(points[i] + settings.stored_less);
  w.zeros = by_rows(zero_points, sizes);
  const Tensor scales = stored.tensor(stem + "scales");
  w.scales = by_rows(floats(scales), sizes);
  w.scale_dtype = w.rounded.emplace(scales.dtype());
  w.group_of_column = group_of_rows(stored, stem, settings, sizes);
  return w;
}

void add(const Folder& folder, const Settings& settings) {
  for (const std::string& stem : folder.stems("qweight")) {
    const Sizes sizes = checked_sizes(folder.stored, stem, settings);
    auto codes = [stored = folder.stored, stem, settings, sizes] {
      return codes_of(stored, stem, settings, sizes);
    };
    for (const char* ending : {"qweight", "qzeros", "scales", "g_idx"})
      folder.consume(stem + ending);
    folder.result.derive(stem + "weight", {{sizes.out, sizes.in},
                                           folder.stored.dtype(stem + "scales"),
                                           [=] { return decoded(codes()); },
                                           codes,
                                           settings.format});
  }
}

std::int64_t group_size(const ConfigFields& config) {
  const std::int64_t group = config.integer("group_size");
  if (group != -1)
    check_config_range(formats_operation, config.what(), "group_size", group, 1, 1 << 20);
  return group;
}

}  // namespace

void add_gptq(const Folder& folder) {
  const ConfigFields& config = folder.config;
  Settings settings;
  settings.bits = static_cast<int>(config.integer("bits"));
  if (settings.bits != 2 && settings.bits != 4 && settings.bits != 8)
    refuse_setting(config, "bits", concat(settings.bits), "2, 4 or 8 is needed");
  settings.group = group_size(config);
  const std::string form = config.text("checkpoint_format", "gptq");
  if (form != "gptq" && form != "gptq_v2")
    refuse_setting(config, "checkpoint_format", form, "gptq or gptq_v2 is needed");
  settings.stored_less = form == "gptq" ? 1 : 0;
  add(folder, settings);
}

void add_awq(const Folder& folder) {
  const ConfigFields& config = folder.config;
  Settings settings;
  settings.format = quant::Format::awq;
  const std::int64_t bits = config.integer("bits");
  if (bits != 4) refuse_setting(config, "bits", concat(bits), "4 is needed");
  settings.group = group_size(config);
  std::string form = config.text("version", "gemm");
  std::ranges::transform(form, form.begin(), [](unsigned char c) { return std::tolower(c); });
  if (form != "gemm") refuse_setting(config, "version", form, "gemm is needed");
  if (!config.boolean("zero_point", true))
    refuse_setting(config, "zero_point", "false", "true is needed");
  add(folder, settings);
}

}  // namespace tilewright::formats
