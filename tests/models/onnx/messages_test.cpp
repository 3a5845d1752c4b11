// Messages of ONNX operators about inputs and attributes that do not fit: the value, and what would
// be right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/onnx/onnx_module.h"
#include "tests/errors.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright::messages_test {
namespace {

using ::testing::HasSubstr;
using namespace testing::onnx;
using Sizes = std::vector<std::int64_t>;

// Zeros, or the integers that are given.
struct Given {
  Sizes sizes;
  Sizes integers = {};
  bool is_missing = false;
};
Given list(const Sizes& integers) { return {{std::ssize(integers)}, integers}; }
const Given missing = {{}, {}, true};

struct Wrong {
  const char* op;
  std::vector<Given> inputs;
  std::string attributes;
  const char* says;
  std::int64_t opset = 17;
};

std::string error_of_node(const Wrong& wrong) {
  GraphParts parts;
  std::vector<std::string> names;
  for (const Given& given : wrong.inputs) {
    names.push_back(given.is_missing ? "" : concat("x", names.size()));
    if (given.is_missing) continue;
    std::int64_t count = 1;
    for (std::int64_t size : given.sizes) count *= size;
    const std::string zeros(static_cast<std::size_t>(count * 4), '\0');
    parts.tensors.push_back(given.integers.empty()
                                ? tensor(names.back(), given.sizes, zeros)
                                : numbers(1, given.sizes) + number(2, is_int64) +
                                      numbers(7, given.integers) + bytes(8, names.back()));
  }
  parts.nodes = {node(wrong.op, names, {"y"}, wrong.attributes)};
  parts.outputs = {bytes(1, "y")};
  ScratchFolder folder;
  const auto module = load_onnx(folder.write("model.onnx", model(graph_of(parts), wrong.opset)));
  return error_of([&] { module->forward({}); });
}

const Given image = {{1, 6, 4, 4}}, matrix = {{2, 3}}, vector = {{3}}, heads = {{1, 2, 3, 4}};

const Wrong wrong_nodes[] = {
    {"Max", {}, "", "it has no inputs; at least one is wanted"},
    {"Concat", {}, attribute("axis", 0), "it has no inputs; at least one is wanted"},
    {"Expand",
     {matrix, list({4, 4})},
     "",
     "[2x3] does not broadcast to [4x4]; sizes must be equal or 1, counted from the last axis"},
    {"DepthToSpace",
     {image},
     attribute("blocksize", 2),
     "blocks of 2 do not fit [1x6x4x4]; four axes are wanted, with a multiple of 4 channels"},
    {"SpaceToDepth",
     {image},
     attribute("blocksize", 3),
     "blocks of 3 do not fit [1x6x4x4]; four axes are wanted, with multiples of 3 as the last two"},
    {"Pad",
     {vector, list({-2, -2})},
     text("mode", "edge"),
     "axis 0 of [3] is padded by -2 and -2; elements are wanted to pad with"},
    {"Pad",
     {matrix, list({1, 1})},
     "",
     "2 axes are padded by [1x1]; 4 numbers are wanted, those in front and then those behind"},
    {"Pad",
     {vector, list({-3, 4})},
     text("mode", "wrap"),
     "axis 0 of [3] is cut by -3 and 4; elements must remain to be repeated"},
    {"Range", {list({1}), list({9}), list({0})}, "", "step is 0; it must not be"},
    {"Trilu", {vector}, "", "[3] is no matrix; at least two axes are wanted"},
    {"Conv",
     {image, {{2, 6, 3, 3}}},
     integers("kernel_shape", {2, 2}),
     "kernel_shape is another than that of [2x6x3x3]; it must be [3x3], or left out"},
    {"ConstantOfShape", {list({2, -1})}, "", "a tensor of the sizes [2x-1]; none must be below 0"},
    {"Constant",
     {},
     text("value_string", "a"),
     "\"value_string\" is text; tensors of texts are not supported"},
    {"Constant",
     {},
     texts("value_strings", {"a", "b"}),
     "\"value_strings\" is text; tensors of texts are not supported"},
    {"EyeLike", {vector}, "", "[3] is no matrix; two axes are wanted"},
    {"GatherND",
     {matrix, {{1, 3}, {0, 0, 0}}},
     "",
     "an index [1x3] does not fit [2x3]; its last axis must have 0 to 2 numbers"},
    {"ScatterND",
     {matrix, {{2, 0}}, {{2, 3}}},
     "",
     "updates [2x3] of [2x3] by an index [2x0]; [2x2x3] is wanted"},
    {"Attention",
     {heads, heads, heads},
     attribute("qk_matmul_output_mode", 4),
     "\"qk_matmul_output_mode\" is 4; 0 to 3 are wanted",
     23},
    {"Attention", {heads, heads, heads}, real("softcap", -1), "is -1; 0 or more is wanted", 23},
    {"Attention",
     {heads, heads, heads},
     attribute("softmax_precision", 7),
     "\"softmax_precision\" is no type of floats",
     23},
    {"Attention",
     {heads, heads, heads},
     attribute("q_num_heads", 3),
     "\"q_num_heads\" is not the 2 heads of the queries",
     23},
    {"Attention",
     {heads, heads, heads, missing, heads},
     "",
     "former keys or values alone are given",
     23},
    {"Attention",
     {heads, heads, heads, missing, heads, heads, list({1})},
     "",
     "given together with nonpad_kv_seqlen; one of both is wanted",
     24},
    {"Attention",
     {heads, heads, heads, missing, missing, missing, list({1, 2})},
     "",
     "nonpad_kv_seqlen [2]; [1] is wanted",
     24},
    {"Attention",
     {{{1, 3, 8}}, {{1, 3, 8}}, {{1, 3, 8}}},
     attribute("q_num_heads", 3) + attribute("kv_num_heads", 1),
     "[1x3x8] in 3 heads; [batch, steps, a multiple of these] is wanted",
     23},
    {"RotaryEmbedding",
     {heads, {{1, 3, 3}}, {{1, 3, 3}}},
     "",
     "cosines [1x3x3] for 4 elements of heads of 4; half as many are wanted",
     23},
    {"RotaryEmbedding",
     {heads, {{9, 2}}, {{9, 2}}, list({0, 1, 2})},
     "",
     "position_ids [3]; [1x3] are wanted",
     23},
    {"RMSNormalization",
     {matrix, vector},
     attribute("stash_type", 7),
     "\"stash_type\" is no type of floats",
     23},
    {"TensorScatter",
     {heads, heads, list({1})},
     "",
     "an update of 3 at 1 of a cache of 3; 0 to 0 are wanted",
     24},
    {"TensorScatter", {heads, heads}, attribute("axis", 0), "\"axis\" is that of the batch", 24},
    {"TensorScatter",
     {heads, {{1, 2, 4, 4}}},
     "",
     "an update f32 [1x2x4x4] along axis 2 of a cache f32 [1x2x3x4]",
     24},
    {"TensorScatter",
     {heads, heads},
     text("mode", "strange"),
     "\"mode\" is neither linear nor circular",
     24},
    {"Cast",
     {matrix},
     attribute("to", 10) + text("round_mode", "strange"),
     "\"round_mode\" is none of up, down and nearest",
     24},
    {"Cast",
     {list({1})},
     attribute("to", 6) + text("round_mode", "strange"),
     "\"round_mode\" is none of up, down and nearest",
     24},
    {"Cast",
     {matrix},
     attribute("to", 24),
     "is the element type 24 (float8e8m0), which is not supported",
     24},
    {"QuantizeLinear",
     {matrix, {{1}}},
     attribute("precision", 6),
     "\"precision\" is i32; floats of 16 bits or more are supported",
     23},
    {"OneHot",
     {list({1, 0}), list({-3}), list({0, 1})},
     "",
     "a depth of -3 and [2] values; a depth from 1 to 2147483646 and two values"},
    {"GroupNormalization",
     {image, {{4}}, {{4}}},
     attribute("num_groups", 4),
     "4 groups of the channels of [1x6x4x4]; axis 1 must be a multiple of the groups",
     18},
    {"LRN",
     {image},
     attribute("size", 0),
     "0 channels of [1x6x4x4]; a size from 1 to 4096, and channels as axis 1, are wanted"},
    {"GlobalAveragePool",
     {matrix},
     "",
     "[2x3] has no axes besides batch and channels; three or more are wanted"},
    {"MaxPool",
     {image},
     integers("kernel_shape", {9, 9}),
     "windows of [9x9] do not fit [1x6x4x4]; each must lie within it and its pads"},
    {"MaxPool",
     {image},
     integers("kernel_shape", {2, 2}) + integers("strides", {1}),
     "the attribute \"strides\" has 1 values; 2 are wanted"},
    {"MaxPool",
     {image},
     integers("kernel_shape", {2, 2}) + integers("strides", {0, 1}),
     "the attribute \"strides\" has the value 0; from 1 on are supported"},
    {"Gemm", {vector, matrix}, "", "are no matrices; two axes each are wanted"},
    {"Det", {matrix}, "", "are no square matrices"},
    {"DequantizeLinear",
     {{{2, 3}, {1, 1, 1, 1, 1, 1}}, {{2}}},
     attribute("axis", 1),
     "scales [2] for axis 1 of [2x3]"},
    {"Resize",
     {{{1, 1, 4}}, missing, missing, list({1, 1, 8})},
     text("mode", "linear") + text("coordinate_transformation_mode", "strange"),
     "is \"strange\", none of half_pixel, half_pixel_symmetric, pytorch_half_pixel"},
    {"Resize",
     {{{1, 1, 4}}, missing, missing, list({1, 1, 9})},
     text("nearest_mode", "strange"),
     "\"nearest_mode\" is \"strange\", none of round_prefer_floor, round_prefer_ceil, floor and"},
    {"Resize",
     {{{1, 1, 4}}, missing, missing, list({1, 1, -8})},
     "",
     "axis 2 of [1x1x4] is resized to -8, by -2; 0 to 2147483646 elements and scales above 0"},
    {"GridSample",
     {image, {{1, 2, 2, 3}}},
     "",
     "[1x6x4x4] is sampled at [1x2x2x3]; places of as many numbers as x has axes behind batch"},
    {"AffineGrid",
     {{{1, 2, 2}}, list({1, 1, 4, 4})},
     "",
     "a map [1x2x2] for the sizes [1x1x4x4]; [Nx2x3] is wanted",
     20},
    {"Col2Im",
     {{{1, 5, 9}}, list({4, 4}), list({2, 2})},
     "",
     "[fold] columns are f32 [1x5x9] of windows [2x2]",
     18},
    {"NonMaxSuppression",
     {{{1, 6, 4}}, {{1, 1, 5}}},
     "",
     "boxes [batch, boxes, 4] and scores [batch, classes, boxes] are wanted"},
    {"DFT", {{{1, 4, 1}}}, attribute("axis", 2), "another than the last is wanted"},
    {"STFT", {{{1, 8, 1}}, list({0}), missing, list({4})}, "", "a step above 0 are wanted"},
    {"STFT",
     {{{1, 8, 1}}, list({2}), missing, list({9})},
     "",
     "frames of 9 of [1x8x1]; 1 to 8 elements are wanted"},
    {"Reshape",
     {matrix, list({-1, -1})},
     "",
     "[2x3] is to have the sizes [-1x-1]; none must be below -1, and one at most -1"},
    {"Reshape",
     {matrix, list({4, -1})},
     "",
     "[2x3] is to have the sizes [4x-1]; all but -1 must divide its 6 elements"},
    {"Reshape",
     {vector, list({3, 0})},
     "",
     "size 1 is to be that of [3], which has no such axis; 0 is for the first 1 sizes alone"},
    {"Unsqueeze", {vector, list({0, 0})}, "", "axis 0 is added twice; each must be another"},
    {"Squeeze", {matrix, list({0})}, "", "axis 0 of [2x3] is to be taken away; its size must be 1"},
    {"Split",
     {vector, list({1, 1})},
     "",
     "parts of sizes [1x1] of an axis of 3; they must add up to that"},
    {"Slice", {vector, list({0}), list({1, 2})}, "", "ends, axes or steps; as many are wanted"},
    {"Slice",
     {vector, list({0}), list({1}), list({0}), list({0})},
     "",
     "a slice has the step 0; one"},
};

TEST(OnnxMessages, SayWhatWouldBeRight) {
  for (const Wrong& wrong : wrong_nodes)
    EXPECT_THAT(error_of_node(wrong), HasSubstr(wrong.says)) << wrong.op;
}

}  // namespace
}  // namespace tilewright::messages_test
