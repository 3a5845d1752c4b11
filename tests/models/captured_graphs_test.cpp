// What is captured says what the user wrote: it is the same for every device, and for every
// processor, whose algorithms are chosen when a graph is compiled. Of all models that PyTorch has
// exported; decoder_families_test.cpp looks at each family of decoders.
//
// TILEWRIGHT_CAPTURED_GRAPHS names a file that the texts are written to, so that processes on
// different processors (TILEWRIGHT_CPU) can be compared: tests/house/captured_graphs_test.sh.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>

#include "graph/functions/convolving/convolution.h"
#include "graph/functions/linear_algebra/reflections.h"
#include "graph/functions/linear_algebra/solving.h"
#include "graph/functions/linear_algebra/spectra.h"
#include "graph/functions/pooling/pooling.h"
#include "graph/functions/recurrent/recurrent.h"
#include "graph/functions/reducing/class_losses.h"
#include "graph/functions/reducing/norms.h"
#include "graph/functions/special/incomplete_gamma.h"
#include "graph/ir/text.h"
#include "graph/tensor/capture.h"
#include "models/exported/exported_module.h"
#include "runtime/base/error.h"
#include "tests/models/exported_corpus.h"
#include "tests/setting.h"

namespace tilewright::captured_graphs_test {
namespace {

using Texts = std::map<std::string, std::string>;

std::string captured_text(const std::vector<Tensor>& inputs,
                          const std::function<std::vector<Tensor>(std::vector<Tensor>)>& function) {
  graph::Capture capture;
  std::vector<Tensor> symbols;
  for (const Tensor& input : inputs)
    symbols.push_back(capture.placeholder(input.dtype(), input.shape()));
  return graph::print(capture.finish(function(symbols)).graph);
}

Texts texts_of_models() {
  Texts texts;
  for (const testing::CorpusCase& model : testing::corpus_cases("models")) {
    const auto module = load_exported(model.program);
    texts[model.name] =
        captured_text(testing::corpus_runs(model)[0].inputs,
                      [&](const std::vector<Tensor>& x) { return module->forward(x); });
  }
  return texts;
}

// Functions whose algorithm depends on the device, in 16 bits too.
Texts texts_of_functions() {
  Texts texts;
  for (DType dtype : {f32, f16}) {
    const Tensor image = zeros({2, 16, 8, 8}, dtype), weight = zeros({16, 16, 3, 3}, dtype);
    texts[concat("convolutions ", dtype)] =
        captured_text({image, weight}, [](const std::vector<Tensor>& x) -> std::vector<Tensor> {
          const Tensor y = conv2d(x[0], x[1], {}, {.padding = {1}});
          return {max_pool2d(conv_transpose2d(y, x[1], {}, {.stride = {2}}), {3})};
        });
  }
  texts["factors"] =
      captured_text({zeros({2, 5, 5})}, [](const std::vector<Tensor>& x) -> std::vector<Tensor> {
        return {svd(x[0]).values, eigh(x[0]).first, inverse(x[0]), qr(x[0]).first, cholesky(x[0])};
      });
  const Tensor image = zeros({2, 4, 3}), channels = zeros({4}), classes = zeros({2, 3}, i64);
  texts["norms and losses"] = captured_text(
      {image, channels, classes}, [](const std::vector<Tensor>& x) -> std::vector<Tensor> {
        return {batch_norm_inference(x[0], x[1], x[1], x[1], {}),
                batch_norm_training(x[0], {}, x[1], {}, {}).output, group_norm(x[0], 2, x[1], x[1]),
                nll_loss(x[0], x[2]),
                cross_entropy(x[0], x[2], x[1], {.reduction = LossReduction::sum})};
      });
  texts["series and layers"] =
      captured_text({zeros({5, 2, 3}), zeros({8, 3}), zeros({8, 2}), zeros({8})},
                    [](const std::vector<Tensor>& x) -> std::vector<Tensor> {
                      const LstmResult y = lstm(x[0], {}, {{x[1], x[2], {}, x[3]}});
                      return {y.output, y.cell, igamma(x[0], x[0]), igammac(x[0], x[0])};
                    });
  return texts;
}

Texts all_texts() {
  Texts texts = texts_of_functions();
  texts.merge(texts_of_models());
  return texts;
}

TEST(CapturedGraphs, AreTheSameOnEveryDevice) {
  const Texts host = [] {
    Setting device("TILEWRIGHT_DEVICE", "cpu");
    return all_texts();
  }();
  for (const char* name : {"emulated:sm_80", "emulated:sm_90a"}) {
    Setting device("TILEWRIGHT_DEVICE", name);
    for (const auto& [what, text] : all_texts())
      EXPECT_EQ(text, host.at(what)) << what << " on " << name;
  }
  if (const char* path = std::getenv("TILEWRIGHT_CAPTURED_GRAPHS")) {
    std::ofstream file(path);
    for (const auto& [what, text] : host) file << what << "\n" << text;
  }
}

TEST(CapturedGraphs, NameTheFunctionThatTheUserCalled) {
  const Texts texts = texts_of_functions();
  for (const char* name : {"conv2d(", "conv_transpose2d(", "max_pool2d("})
    EXPECT_NE(texts.at("convolutions f16").find(concat("custom=", name)), std::string::npos)
        << texts.at("convolutions f16");
  for (const char* name : {"svd(", "eigh(", "inverse", "qr(", "cholesky("})
    EXPECT_NE(texts.at("factors").find(concat("custom=", name)), std::string::npos)
        << texts.at("factors");
  for (const char* name :
       {"batch_norm(", "batch_norm_training(", "group_norm(", "nll_loss(", "cross_entropy("})
    EXPECT_NE(texts.at("norms and losses").find(concat("custom=", name)), std::string::npos)
        << texts.at("norms and losses");
  for (const char* name : {"lstm(", "igamma", "igammac"})
    EXPECT_NE(texts.at("series and layers").find(concat("custom=", name)), std::string::npos)
        << texts.at("series and layers");
}

TEST(CapturedGraphs, OfNamedFunctionsReadBack) {
  for (const auto& [what, text] : texts_of_functions())
    EXPECT_EQ(graph::print(graph::parse(text)), text) << what;
}

}  // namespace
}  // namespace tilewright::captured_graphs_test
