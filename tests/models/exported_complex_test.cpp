// Programs with complex numbers and Fourier transforms, against what PyTorch makes of them
// (tools/complex_cases.py writes the folder complex), and what such programs may not have.
#include <gmock/gmock.h>

#include <complex>
#include <filesystem>

#include "graph/compile/compile.h"
#include "models/exported/exported_module.h"
#include "tests/errors.h"
#include "tests/models/exported_call.h"
#include "tests/models/exported_cases.h"
#include "tests/models/exported_files.h"
#include "tests/scratch_folder.h"
#include "tests/source_folder.h"

namespace tilewright::exported_complex_test {
namespace {

using exported::ComplexTensor;
using exported::ComplexType;
using testing::case_of;
using testing::expect_near;
using ::testing::HasSubstr;
using testing::integers;
using testing::OneCall;
using testing::tensors_of;
using Floats = std::vector<float>;

const std::filesystem::path folder = source_folder() / "tests/models/complex";

class ComplexPrograms : public ::testing::TestWithParam<const char*> {};

TEST_P(ComplexPrograms, ComputeWhatPyTorchDoes) {
  const std::string name = GetParam();
  const auto call = case_of(folder, name);
  for (const std::string& file : {name + ".pt2", name + "_decomposed.pt2"}) {
    SCOPED_TRACE(file);
    const std::vector<Tensor> inputs = tensors_of(call["inputs"]);
    expect_near(load_exported(folder / file)->forward(inputs), call["outputs"]);
    auto module = load_exported(folder / file, {.reading = Reading::mapped});
    // Writing in place through views breaks the graph.
    auto fast = compile(*module, {.tell_breaks = false});
    expect_near(fast(inputs), call["outputs"]);
  }
}
INSTANTIATE_TEST_SUITE_P(Programs, ComplexPrograms,
                         ::testing::Values("arithmetic", "functions", "arranging", "products",
                                           "transforms", "frames", "rotary", "state_space"),
                         [](const auto& of) { return std::string(of.param); });

TEST(ExportedComplex, ProgramsTakeBatchesOfAnySize) {
  auto module = load_exported(folder / "rotary_decomposed.pt2");
  auto fast = compile(*module, {.fullgraph = true});
  const Tensor x = tensors_of(case_of(folder, "rotary")["inputs"])[0];
  for (std::int64_t batch : {1, 2, 5}) {
    const Tensor many = x.slice(0, 0, 1).expand({batch, 5, 3, 8}).contiguous();
    EXPECT_EQ(fast({many})[0].slice(0, batch - 1, batch).to_vector<float>(),
              module->forward({many})[0].slice(0, 0, 1).to_vector<float>());
  }
}

TEST(ExportedComplex, TensorsOfTheCallerAreDescribedAsPairs) {
  auto module = load_exported(folder / "products.pt2");
  EXPECT_EQ(module->inputs()[0].shape, (Shape{2, 3, 4, 2}));
  EXPECT_EQ(module->inputs()[0].dtype, f32);
  EXPECT_THAT(error_of([&] {
                module->forward({zeros({2, 3, 4}), zeros({2, 4, 2, 2})});
              }),
              HasSubstr("input"));
}

ComplexTensor complex_of(const Floats& pairs) {
  return ComplexTensor::of_pairs(
      Tensor::from(pairs, {static_cast<std::int64_t>(pairs.size()) / 2, 2}));
}
Floats pairs_of(const exported::Value& value) {
  return std::get<ComplexTensor>(value).pairs().to_vector<float>();
}
OneCall of_self(const std::string& target, const Floats& pairs) {
  return OneCall(target).with_value("self", complex_of(pairs));
}

TEST(ExportedComplex, QuotientsAndMagnitudesDoNotOverflow) {
  EXPECT_EQ(of_self("aten.abs.default", {3e30F, 4e30F, 3e-30F, -4e-30F}).one().to_vector<float>(),
            (Floats{5e30F, 5e-30F}));
  EXPECT_EQ(pairs_of(of_self("aten.div.Tensor", {2e30F, 2e30F})
                         .with_value("other", complex_of({1e30F, 1e30F}))
                         .value()),
            (Floats{2, 0}));
  EXPECT_EQ(pairs_of(of_self("aten.sqrt.default", {-4, 0, 0, 2, 0, 0}).value()),
            (Floats{0, 2, 1, 1, 0, 0}));
}

// (1 + 2i)(3 - i) = 5 + 5i, and 2i (3 - i) = 2 + 6i.
TEST(ExportedComplex, ProductsOfAxesAreThoseOfPyTorch) {
  auto of_both = [](const std::string& target) {
    return of_self(target, {1, 2, 0, 2}).with_value("other", complex_of({3, -1, 3, -1}));
  };
  EXPECT_EQ(pairs_of(of_both("aten.inner.default").value()), (Floats{7, 11}));
  EXPECT_EQ(pairs_of(of_both("aten.tensordot.default")
                         .with("dims_self", integers({0}))
                         .with("dims_other", integers({0}))
                         .value()),
            (Floats{7, 11}));
  EXPECT_EQ(pairs_of(of_both("aten.kron.default").value()), (Floats{5, 5, 5, 5, 2, 6, 2, 6}));
  EXPECT_EQ(of_self("aten.linalg_norm.default", {3, 4, 0, 12}).one().to_vector<float>(),
            (Floats{13}));
}

TEST(ExportedComplex, PairsThatAProgramSeesAreTheTensorItself) {
  const Tensor pairs = Tensor::from(Floats{1, 2, 3, 4}, {2, 2});
  const exported::Value z = OneCall("aten.view_as_complex.default").with("self", pairs).value();
  const Tensor again = OneCall("aten.view_as_real.default").with_value("self", z).one();
  EXPECT_EQ(again.data(), pairs.data());
  EXPECT_EQ(OneCall("aten.imag.default").with_value("self", z).one().to_vector<float>(),
            (Floats{2, 4}));
}

TEST(ExportedComplex, OperatorsWithoutAMeaningAreRefused) {
  auto said = [](const OneCall& call) { return error_of([&] { call.value(); }); };
  EXPECT_THAT(said(of_self("aten.relu.default", {1, 2})),
              HasSubstr("aten.relu.default is given complex numbers, for which it is not "
                        "supported"));
  EXPECT_THAT(said(OneCall("aten.view_as_real.default").with("self", zeros({2}))),
              HasSubstr("aten.view_as_real.default is of complex tensors, and is given real ones"));
  EXPECT_THAT(said(OneCall("aten.view_as_complex.default").with("self", zeros({3}))),
              HasSubstr("floats with a last axis of 2 are wanted"));
  EXPECT_THAT(said(of_self("aten.div.Tensor_mode", {1, 2}).with("other", 2.0)),
              HasSubstr("aten.div.Tensor_mode is given complex numbers"));
  EXPECT_THAT(said(of_self("aten.add.Tensor", {1, 2})
                       .with("other", 1.0)
                       .with("alpha", std::complex<double>(0, 1))),
              HasSubstr("\"alpha\" is complex, which is not supported"));
  EXPECT_THAT(
      said(of_self("aten.inverse.default", {1, 2, 3, 4})),
      HasSubstr("[inverse] the operand is f32 [2]; matrices [.., m, n] of floats are wanted"));
  EXPECT_THAT(
      said(OneCall("aten.view.dtype").with("self", zeros({3})).with("dtype", ComplexType{f32})),
      HasSubstr("has an odd number of f32 along the last axis; pairs are wanted"));
  EXPECT_THAT(said(OneCall("aten.view.dtype").with("self", zeros({})).with("dtype", f64)),
              HasSubstr("[view] the bits of f32 [scalar] are seen as f64; the last axis must be a "
                        "multiple of 2"));
}

// A complex parameter of one element, and how it lies.
std::string error_of_program(const std::string& target, const std::string& stride) {
  testing::ProgramText program;
  const std::string facts =
      testing::tensor_facts(testing::sizes_of({1}), 10, R"([{"as_int": )" + stride + "}]");
  program.tensors = R"("x": )" + facts + R"(, "p_w": )" + facts;
  program.nodes = testing::node(target, {testing::tensor_argument("self", "x")}, "y");
  ScratchFolder scratch;
  scratch.write("net.pt2",
                testing::exported_file(program, {{"data/weights/model_weights_config.json",
                                                  testing::weights_table(testing::weight_row(
                                                      "net.weight", "weight_0", facts))}}));
  return error_of([&] { load_exported(scratch.path() / "net.pt2"); });
}

TEST(ExportedComplex, ProgramsWithOperatorsThatHaveNoMeaningAreRefusedWhenTheyAreLoaded) {
  EXPECT_EQ(error_of_program("torch.ops.aten.exp.default", "1"), "no error");
  EXPECT_THAT(error_of_program("torch.ops.aten.erf.default", "1"),
              HasSubstr("1 operator is not supported:\n  aten.erf.default of complex numbers, 1 "
                        "time, first at net.py:7"));
}

TEST(ExportedComplex, StridesThatPassTheStorageAreRefused) {
  EXPECT_THAT(error_of_program("torch.ops.aten.exp.default", "9223372036854775807"),
              HasSubstr("a stride or its offset is too great"));
}

TEST(ExportedComplex, TransformsThatCannotBeAreRefused) {
  auto said = [](const OneCall& call) { return error_of([&] { call.value(); }); };
  const Tensor x = zeros({4, 8});
  auto real = [&](std::int64_t axis, std::int64_t norm) {
    return OneCall("aten._fft_r2c.default")
        .with("self", x)
        .with("dim", integers({axis}))
        .with("normalization", norm)
        .with("onesided", true);
  };
  EXPECT_EQ(said(real(1, 2)), "no error");
  EXPECT_THAT(said(real(2, 0)), HasSubstr("\"dim\" has the axis 2; there are 2"));
  EXPECT_THAT(said(real(1, 3)), HasSubstr("\"normalization\" is 3; 0, 1 and 2 are known"));
  EXPECT_THAT(
      said(OneCall("aten.fft_fft.default").with("self", x).with("norm", std::string("none"))),
      HasSubstr("\"norm\" is not one of backward, ortho and forward"));
  EXPECT_THAT(said(OneCall("aten.fft_fft.default").with("self", x).with("n", std::int64_t{0})),
              HasSubstr("a transform of 0 points"));
  EXPECT_THAT(
      said(OneCall("aten.fft_rfft.default").with("self", x).with("n", std::int64_t{1} << 40)),
      HasSubstr("there are from 1 to 16777216"));
  auto frames = [&](std::int64_t points, std::int64_t step) {
    return OneCall("aten.stft.default")
        .with("self", x)
        .with("n_fft", points)
        .with("hop_length", step);
  };
  EXPECT_THAT(said(frames(9, 2)), HasSubstr("\"n_fft\" is 9; the signal is [4x8]"));
  EXPECT_THAT(said(frames(0, 2)), HasSubstr("\"n_fft\" is 0"));
  EXPECT_THAT(said(frames(4, 0)), HasSubstr("\"hop_length\" is 0"));
  EXPECT_THAT(said(frames(4, 2).with("win_length", std::int64_t{5})),
              HasSubstr("\"win_length\" is 5; n_fft is 4"));
  EXPECT_THAT(said(frames(4, 2).with("window", zeros({3}))),
              HasSubstr("\"window\" is [3]; [4] is wanted"));
  EXPECT_THAT(said(OneCall("aten.istft.default").with("self", x).with("n_fft", std::int64_t{5})),
              HasSubstr("3 bins are wanted"));
}

}  // namespace
}  // namespace tilewright::exported_complex_test
