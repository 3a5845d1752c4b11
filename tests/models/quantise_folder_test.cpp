// Quantised copies of folders: that they load, how near they are, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "models/decoder/load_model.h"
#include "models/decoder/model_weights.h"
#include "models/quantise/quantise_folder.h"
#include "models/weights/safetensors.h"
#include "models/weights/safetensors_writer.h"
#include "tests/errors.h"
#include "tests/models/folders.h"

namespace tilewright::quantise_folder_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

class Quantised : public ::testing::TestWithParam<std::pair<const char*, double>> {
 protected:
  testing::ScratchFolder scratch_;
  fs::path out() const { return scratch_.path() / "out"; }
};
// The greatest error of an element, as a share of the greatest that has the same scale: half of
// the widest gap of the format's values, and for nested scales their own error.
INSTANTIATE_TEST_SUITE_P(Formats, Quantised,
                         ::testing::Values(std::pair{"nf4", 0.152}, std::pair{"nf4-double", 0.17},
                                           std::pair{"fp4", 0.168}, std::pair{"int8", 0.004},
                                           std::pair{"fp8", 0.036}));

std::vector<float> floats_of(const Weights& weights, const std::string& name) {
  return weights.tensor(name).to(f32).to_vector<float>();
}

// Equal for elements of a matrix that have one scale.
std::size_t scale_of(std::string_view format, std::size_t element, std::size_t width) {
  const std::size_t row = element / width, column = element % width;
  if (format == "int8") return row;
  if (format == "fp8") return row / 128 * width + column / 128;  // squares
  return element / 64;
}

TEST_P(Quantised, FoldersHoldTheSameWeightsToTheirBits) {
  TILEWRIGHT_TRAINED_MODEL(folder, "tiny-llama3.2");
  const auto [format, most] = GetParam();
  const QuantisedFolder result = quantise_folder(*folder, format, out());
  EXPECT_LT(result.bytes_after, result.bytes_before);
  const Weights before = model_weights(*folder), after = model_weights(out());
  std::int64_t quantised = 0;
  double worst = 0;
  for (const std::string& name : before.names()) {
    const std::vector<float> a = floats_of(before, name), b = floats_of(after, name);
    ASSERT_EQ(a.size(), b.size()) << name;
    if (!after.format(name)) {
      EXPECT_EQ(a, b) << name;
      continue;
    }
    ++quantised;
    const auto width = static_cast<std::size_t>(before.shape(name)[1]);
    std::map<std::size_t, double> greatest;
    for (std::size_t i = 0; i < a.size(); ++i) {
      double& so_far = greatest[scale_of(format, i, width)];
      so_far = std::max(so_far, std::abs(static_cast<double>(a[i])));
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double error = std::abs(static_cast<double>(a[i]) - b[i]);
      worst = std::max(worst, error / greatest[scale_of(format, i, width)]);
    }
  }
  EXPECT_EQ(quantised, result.quantised);
  EXPECT_GT(quantised, 0);
  EXPECT_LT(worst, most);
  EXPECT_GT(worst, most / 8) << "the bound is loose";
  EXPECT_TRUE(fs::exists(out() / "tokenizer.json"));
}

TEST(QuantiseFolder, WritesShardsAndTheirIndex) {
  TILEWRIGHT_TRAINED_MODEL(folder, "tiny-llama3.2");
  testing::ScratchFolder scratch;
  const fs::path whole = scratch.path() / "whole", parts = scratch.path() / "parts";
  quantise_folder(*folder, "nf4", whole);
  // The same folder in two shards.
  const fs::path shards = scratch.path() / "shards";
  fs::create_directory(shards);
  fs::copy_file(*folder / "config.json", shards / "config.json");
  const Weights all = Weights::open(*folder);
  std::map<std::string, Tensor> tensors[2];
  json places;
  int number = 0;
  for (const std::string& name : all.names()) {
    tensors[number % 2][name] = all.tensor(name);
    places[name] = concat("part", number % 2, ".safetensors");
    ++number;
  }
  for (int i : {0, 1}) save_safetensors(shards / concat("part", i, ".safetensors"), tensors[i]);
  std::ofstream(shards / "model.safetensors.index.json") << json{{"weight_map", places}};
  quantise_folder(shards, "nf4", parts);
  const Weights a = model_weights(whole), b = model_weights(parts);
  ASSERT_EQ(a.names().size(), b.names().size());
  for (const std::string& name : a.names()) EXPECT_EQ(floats_of(a, name), floats_of(b, name));
  EXPECT_THAT(error_of([&] { load_model(parts); }), "no error");
}

// Experts that a file has one by one are matrices as others; their routers are kept.
TEST(QuantiseFolder, KeepsWhatChoosesAmongExperts) {
  testing::ScratchFolder scratch;
  for (const auto& [name, router] :
       {std::pair{"mixtral", "block_sparse_moe.gate"}, std::pair{"qwen2moe", "mlp.gate"},
        std::pair{"olmoe", "mlp.gate"}}) {
    TILEWRIGHT_TRAINED_MODEL(folder, std::string("published/moe-") + name);
    const fs::path out = scratch.path() / name;
    quantise_folder(*folder, "nf4", out);
    const json config = json::parse(testing::read_file(out / "config.json"));
    EXPECT_THAT(config.at("quantization_config").at("llm_int8_skip_modules"),
                ::testing::Contains(router));
    const Weights weights = model_weights(out);
    for (const std::string& weight : weights.names()) {
      const bool is_kept = weight.find(concat(router, ".weight")) != std::string::npos ||
                           weight.find("shared_expert_gate") != std::string::npos;
      EXPECT_TRUE(!is_kept || !weights.format(weight)) << weight;
    }
    std::string notes;
    load_model(out, {.note = [&](const std::string& note) { notes += note + "\n"; }});
    EXPECT_THAT(notes, HasSubstr("weights stay packed"));
    // Rows of the others' last matrices are no whole groups.
    const bool has_whole_groups = name == std::string_view("mixtral");
    EXPECT_TRUE(!has_whole_groups || notes.find("expanded") == std::string::npos) << notes;
  }
}

TEST(QuantiseFolder, RefusesWhatItCannotDo) {
  TILEWRIGHT_TRAINED_MODEL(folder, "tiny-llama3.2");
  TILEWRIGHT_TRAINED_MODEL(gpt2, "tiny-gpt2");
  testing::ScratchFolder scratch;
  const fs::path out = scratch.path() / "out";
  auto error = [&](const fs::path& from, const char* format) {
    return error_of([&] { quantise_folder(from, format, out); });
  };
  EXPECT_THAT(error(*folder, "nf5"), HasSubstr("[quantize] the format is \"nf5\"; known are nf4,"));
  EXPECT_THAT(error(*gpt2, "nf4"), HasSubstr("model_type is \"gpt2\", which has weights of [in, "
                                             "out]; a family with plain linear layers is needed"));
  EXPECT_EQ(error(*folder, "nf4"), "no error");
  EXPECT_THAT(error(*folder, "nf4"), HasSubstr("has files; a new or an empty folder is needed"));
  EXPECT_THAT(error_of([&] { quantise_folder(out, "int8", scratch.path() / "again"); }),
              HasSubstr("has a quantization_config already"));
  scratch.write("file", "");
  EXPECT_THAT(error_of([&] { quantise_folder(*folder, "nf4", scratch.path() / "file" / "x"); }),
              HasSubstr("cannot be made"));
}

TEST(QuantiseFolder, RefusesNumbersThatAreNotFinite) {
  testing::ScratchFolder scratch;
  std::ofstream(scratch.path() / "config.json")
      << R"({"model_type":"bert","hidden_size":4,"num_hidden_layers":1,"num_attention_heads":2,)"
      << R"("intermediate_size":8,"vocab_size":7,"max_position_embeddings":16})";
  Tensor weight = zeros({4, 4}, f32);
  weight.slice(0, 1, 2).copy_from(zeros({1, 4}, f32) + INFINITY);
  save_safetensors(scratch.path() / "model.safetensors", {{"a.weight", weight}});
  EXPECT_THAT(error_of([&] { quantise_folder(scratch.path(), "int8", scratch.path() / "out"); }),
              HasSubstr("tensor \"a.weight\" has numbers that are not finite"));
}

TEST(SafetensorsWriter, WritesWhatIsSavedAtOnce) {
  testing::ScratchFolder scratch;
  const fs::path at_once = scratch.path() / "a", in_pieces = scratch.path() / "b";
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  save_safetensors(at_once, {{"x", Tensor::from(values, {2, 3})}});
  SafetensorsWriter writer(in_pieces, {{"x", f32, {2, 3}}});
  const auto bytes = std::as_bytes(std::span(values));
  writer.write(bytes.first(9));
  EXPECT_THROW(writer.commit(), InternalError);
  writer.write(bytes.subspan(9));
  EXPECT_THROW(writer.write(bytes.first(1)), InternalError);
  SafetensorsWriter again(in_pieces, {{"x", f32, {2, 3}}});
  again.write(bytes);
  again.commit();
  EXPECT_EQ(testing::read_file(at_once), testing::read_file(in_pieces));
}

}  // namespace
}  // namespace tilewright::quantise_folder_test
