// Programs that were exported without run_decompositions(), against what PyTorch makes of them
// (tools/undecomposed_cases.py writes the folder undecomposed): layers under their own names, and
// writes in place.
#include <gmock/gmock.h>

#include <filesystem>

#include "graph/compile/compile.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "models/exported/aten/names.h"
#include "models/exported/copied_views.h"
#include "models/exported/exported_module.h"
#include "tests/errors.h"
#include "tests/models/exported_call.h"
#include "tests/models/exported_cases.h"
#include "tests/source_folder.h"
#include "tests/tensors.h"

namespace tilewright::exported_undecomposed_test {
namespace {

using testing::case_of;
using testing::expect_near;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::integers;
using testing::OneCall;
using testing::tensors_of;

const std::filesystem::path folder = source_folder() / "tests/models/undecomposed";

class Undecomposed : public ::testing::TestWithParam<const char*> {};

TEST_P(Undecomposed, ComputesWhatPyTorchDoes) {
  const auto call = case_of(folder, GetParam());
  auto module = load_exported(folder / concat(GetParam(), ".pt2"));
  std::vector<Tensor> inputs = tensors_of(call["inputs"]);
  expect_near(module->forward(inputs), call["outputs"]);
  expect_near(inputs, call["after"]);
  // A program with state has another state in the next call, and breaks where two views write to
  // it.
  const std::string name = GetParam();
  const bool has_state = name == "buffers" || name == "learned";
  module = load_exported(folder / concat(GetParam(), ".pt2"));
  // How many are unique is read on the host.
  const bool breaks = has_state || name == "choices";
  auto fast = compile(*module, {.fullgraph = !breaks, .tell_breaks = false});
  for (int repeat = 0; repeat < (has_state ? 1 : 2); ++repeat) {
    SCOPED_TRACE(repeat);
    inputs = tensors_of(call["inputs"]);
    expect_near(fast(inputs), call["outputs"]);
    expect_near(inputs, call["after"]);
  }
}
INSTANTIATE_TEST_SUITE_P(Programs, Undecomposed,
                         ::testing::Values("vision", "writes", "aliases", "buffers", "sequences",
                                           "shapes", "losses", "seen_anew", "choices", "windows",
                                           "special", "equations", "numbers", "mixed", "learned",
                                           "attention"),
                         [](const auto& of) { return std::string(of.param); });

// Where PyTorch has a view and this library a copy, a write is refused and not lost.
TEST(OperatorNames, WritesToViewsThatAreCopiesHereAreRefused) {
  exported::Program program;
  program.file = "model.pt2";
  program.value_names = {"x", "view", "written"};
  auto named = [](int id) { return exported::ArgumentValue(exported::TensorName{id}); };
  exported::Node view{"diagonal", "aten.diagonal.default", {{"self", named(0)}}, {1}, ""};
  exported::Node write{"fill_", "aten.fill_.Scalar", {{"self", named(1)}}, {2}, "model.py:7"};
  auto said = [&] { return error_of([&] { exported::settle_written_views(program); }); };
  program.nodes = {view, write};
  EXPECT_THAT(said(),
              HasSubstr("model.pt2: \"fill_\" (aten.fill_.Scalar) writes to what "
                        "\"diagonal\" (aten.diagonal.default) is a view of in PyTorch, and a "
                        "copy here, from model.py:7"));
  // Or to the tensor of such a view that is used later.
  program.nodes[1].arguments[0].value = named(0);
  EXPECT_EQ(said(), "no error");
  program.outputs.push_back({exported::Output::Kind::user, 1, "view"});
  EXPECT_THAT(said(), HasSubstr("writes to what \"diagonal\""));
  std::swap(program.nodes[0], program.nodes[1]);
  EXPECT_EQ(said(), "no error");
  // Also where it is the tensor that a result is to be written to.
  view.target = "aten.view.dtype";
  const exported::Node given{
      "exp", "aten.exp.out", {{"self", named(0)}, {"out", named(1)}}, {2}, ""};
  program.nodes = {view, given};
  EXPECT_THAT(said(), HasSubstr("\"exp\" (aten.exp.out) writes to what \"diagonal\" "
                                "(aten.view.dtype) is a view of in PyTorch, and a copy here"));
  program.nodes[1].arguments.front().value = named(1);
  program.nodes[1].arguments.back().value = named(2);
  EXPECT_EQ(said(), "no error");
}

// A view of an operand that lay in another order in PyTorch may be a copy: it has to be a view
// where a write to it, or one to its operand before it is read, would be lost.
TEST(OperatorNames, ViewsThatAreWrittenHaveToShareMemory) {
  exported::Program program;
  program.value_names = {"x", "turned", "view", "written"};
  auto named = [](int id) { return exported::ArgumentValue(exported::TensorName{id}); };
  auto shares = [&](int written, bool is_read_after) {
    program.nodes = {{"t", "aten.t.default", {{"self", named(0)}}, {1}, ""},
                     {"view", "aten.view.default", {{"self", named(1)}}, {2}, ""},
                     {"add_", "aten.add_.Tensor", {{"self", named(written)}}, {3}, ""}};
    program.outputs.clear();
    if (is_read_after) program.outputs.push_back({exported::Output::Kind::user, 2, "view"});
    exported::settle_written_views(program);
    return program.nodes[1].arguments.back().name == "shares_memory";
  };
  EXPECT_TRUE(shares(2, false));
  EXPECT_TRUE(shares(0, true));
  EXPECT_FALSE(shares(0, false));
}

// PyTorch decomposes a write through an unfold with gaps wrongly, so that no one is sent there.
TEST(OperatorNames, WritesThroughAnUnfoldAreRefusedWithAnotherAdvice) {
  exported::Program program;
  program.value_names = {"x", "view", "written"};
  auto named = [](int id) { return exported::ArgumentValue(exported::TensorName{id}); };
  auto said = [&](const char* target, int written) {
    program.nodes = {{"view", target, {{"self", named(0)}}, {1}, ""},
                     {"add_", "aten.add_.Tensor", {{"self", named(written)}}, {2}, ""}};
    return error_of([&] { exported::settle_written_views(program); });
  };
  program.outputs.push_back({exported::Output::Kind::user, 1, "view"});
  EXPECT_THAT(said("aten.unfold.default", 1),
              AllOf(HasSubstr("write to the tensor itself, by slices or index_put_"),
                    Not(HasSubstr("export it with run_decompositions()"))));
  // Its reads after a write to the tensor are decomposed rightly, and so are other views.
  EXPECT_THAT(said("aten.unfold.default", 0), HasSubstr("export it with run_decompositions()"));
  for (const char* view : {"aten.as_strided.default", "aten.view.dtype", "aten.diagonal.default"})
    EXPECT_THAT(said(view, 1), HasSubstr("export it with run_decompositions()"));
}

TEST(OperatorNames, SeveralStandForOneRow) {
  auto is_known = [](const char* name) { return exported::find_operator(name).has_value(); };
  for (const char* name :
       {"aten.multiply.Tensor", "aten.multiply_.Tensor", "aten.__ior__.Tensor",
        "aten.relu_.default", "aten.slice_copy.Tensor", "aten._unsafe_view.default",
        "aten.unsafe_chunk.default", "aten.normal_.default", "aten.special_xlogy.other_scalar",
        "aten.arctan2_.default"})
    EXPECT_TRUE(is_known(name)) << name;
  // Changing the view of a tensor is no write, and an operator without a row has no in-place form.
  for (const char* name :
       {"aten.squeeze_.default", "aten.transpose_.int", "aten.resize_.default",
        "aten.unsqueeze_.default", "aten.t_.default", "aten.swapaxes_.default"}) {
    ASSERT_TRUE(is_known(name)) << name;
    EXPECT_FALSE(exported::find_operator(name)->writes()) << name;
    EXPECT_TRUE(exported::is_view(name)) << name;
  }
  for (const char* name : {"aten.as_strided_.default", "aten.set_.source_Tensor",
                           "aten.hash_tensor_.default", "aten.relu", "relu_", "aten..", "aten._.x"})
    EXPECT_FALSE(is_known(name)) << name;
}

TEST(OperatorNames, AWriteGoesToTheFirstArgument) {
  Tensor x = full({2, 3}, -1).clone();
  Tensor y = OneCall("aten.relu_.default").with("self", x).one();
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(6));
  // The same memory, as the dtype that it has.
  y.copy_from(full({2, 3}, 4));
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(6, 4));
  Tensor whole = full({3}, 7, i64).clone();
  OneCall("aten.div_.Tensor_mode")
      .with("self", whole)
      .with("other", full({}, 2.0F))
      .with("rounding_mode", std::string("floor"))
      .one();
  EXPECT_EQ(whole.to_vector<std::int64_t>(), std::vector<std::int64_t>(3, 3));
  // Which has to fit.
  EXPECT_THAT(
      error_of([&] {
        OneCall("aten.add_.Tensor").with("self", x).with("other", ones({4, 2, 3})).one();
      }),
      HasSubstr("aten.add_.Tensor writes to a tensor [2x3] a value of another shape, [4x2x3]"));
}

// Attention of a query that may look at nothing.
TEST(OperatorNames, ARowThatIsMaskedWhollyIsZero) {
  Tensor x = ramp({1, 1, 3, 8}, 0.1F);
  Tensor mask = Tensor::from(std::vector<float>{1, 0, 0, 0, 0, 0, 1, 1, 1}, {3, 3}) > 0.5;
  Tensor y = OneCall("aten.scaled_dot_product_attention.default")
                 .with("query", x)
                 .with("key", x)
                 .with("value", x)
                 .with("attn_mask", mask)
                 .one();
  EXPECT_EQ(y.select(2, 1).to_vector<float>(), std::vector<float>(8));
  EXPECT_FALSE(any(isnan(y)).item<bool>());
}

TEST(OperatorNames, SumsAreOfTheDtypeThatIsAskedFor) {
  Tensor flags = ones({4}, DType::boolean);
  EXPECT_EQ(OneCall("aten.sum.default").with("self", flags).with("dtype", i32).one().dtype(), i32);
  EXPECT_EQ(OneCall("aten.any.default").with("self", ones({4}, u8)).one().dtype(), u8);
  EXPECT_EQ(OneCall("aten.any.default").with("self", flags).one().dtype(), DType::boolean);
}

TEST(OperatorNames, ArgumentsThatCannotBeAreNamed) {
  Tensor x = ones({2, 4, 4});
  auto said = [](const OneCall& call) { return error_of([&] { call.one(); }); };
  EXPECT_THAT(said(OneCall("aten.pixel_shuffle.default")
                       .with("self", x)
                       .with("upscale_factor", std::int64_t{2})),
              HasSubstr("[pixel_shuffle] the factor is 2, for a tensor [2x4x4]"));
  EXPECT_THAT(
      said(OneCall("aten.channel_shuffle.default").with("self", x).with("groups", std::int64_t{3})),
      HasSubstr("[channel_shuffle] 3 groups, for a tensor [2x4x4]"));
  EXPECT_THAT(said(OneCall("aten.pad.default")
                       .with("self", x)
                       .with("pad", integers({1, 1}))
                       .with("mode", std::string("mirror"))),
              HasSubstr("\"mode\" is none of constant, reflect, replicate and circular"));
  EXPECT_THAT(said(OneCall("aten.conv2d.padding")
                       .with("input", ones({1, 1, 4, 4}))
                       .with("weight", ones({1, 1, 3, 3}))
                       .with("padding", std::string("half"))),
              HasSubstr("\"padding\" is neither same nor valid"));
  EXPECT_THAT(said(OneCall("aten.mse_loss.default")
                       .with("self", x)
                       .with("target", x)
                       .with("reduction", std::int64_t{3})),
              HasSubstr("\"reduction\" must be 0 (none), 1 (mean) or 2 (sum)"));
  EXPECT_THAT(said(OneCall("aten.quantile.scalar").with("self", x).with("q", 1.5)),
              HasSubstr("[quantile] q is 1.5"));
  EXPECT_THAT(said(OneCall("aten.unflatten.int")
                       .with("self", x)
                       .with("dim", std::int64_t{5})
                       .with("sizes", integers({2, 2}))),
              HasSubstr("\"dim\" is 5"));
  EXPECT_THAT(said(OneCall("aten.chunk.default").with("self", x).with("chunks", std::int64_t{0})),
              HasSubstr("[chunk] 0 parts"));
}

}  // namespace
}  // namespace tilewright::exported_undecomposed_test
