#include "tests/property/code_programs.h"

#include <functional>

#include "graph/functions/quantized.h"
#include "graph/lower/flat.h"
#include "graph/lower/lower.h"
#include "graph/passes/pipeline.h"
#include "graph/regions/fuse.h"
#include "graph/tensor/capture.h"
#include "runtime/base/error.h"
#include "tests/property/random_graph.h"
#include "tests/property/random_tile.h"

namespace tilewright {
namespace {

using namespace graph;

std::string launch_of(const LoweredRegion& lowered, const LoweredProgram& program) {
  std::string text = lowered.kind + " grid";
  for (std::int64_t size : program.grid.size) text += concat(" ", size);
  text += " memory";
  for (std::uint32_t index : program.memory) text += concat(" ", index);
  for (const Scratch& scratch : lowered.scratch) text += concat(" scratch ", scratch.elements);
  for (const BlockSize& one : all_block_sizes())
    if (std::int64_t size = lowered.blocks.*one.size; size != 0)
      text += concat(" ", one.name, " ", size);
  return text;
}

// The programs of all regions of a graph, as a plan makes them.
void lower_all(const Graph& captured, const std::string& name, const dsl::Target& target, bool tf32,
               std::vector<CodeProgram>& to) {
  Graph graph = run_passes(captured);
  TaskList list = make_tasks(graph);
  if (tf32) list.f32_products = ir::InputPrecision::tf32;
  RegionLimits limits;
  limits.rows_of_computed_operands = 64;  // as plans for GPUs have it
  std::vector<FusedRegion> regions = fuse_tasks(list, true, limits);
  find_families(list, regions, target);
  for (std::size_t i = 0; i < regions.size(); ++i) {
    LoweredRegion lowered = lower(list, regions[i].region, target);
    for (std::size_t k = 0; k < lowered.programs.size(); ++k)
      to.push_back({concat(name, ".", i, ".", k), std::move(lowered.programs[k].function),
                    launch_of(lowered, lowered.programs[k])});
  }
}

struct Model {
  std::string name;
  std::function<Tensor(Capture& capture)> result;
  bool tf32 = false;
};

Tensor feed_forward(Capture& c, std::int64_t rows, DType dtype) {
  Tensor x = c.placeholder(dtype, {rows, 768}), up = c.placeholder(dtype, {3072, 768});
  Tensor bias = c.placeholder(dtype, {3072}), down = c.placeholder(dtype, {768, 3072});
  return linear(gelu(linear(x, up, bias)), down) + x;
}

Tensor product(Capture& c, std::int64_t m, std::int64_t k, std::int64_t n, DType dtype) {
  return matmul(c.placeholder(dtype, {m, k}), c.placeholder(dtype, {k, n}));
}

Tensor quantized(Capture& c, std::int64_t rows, WeightFormat format, Activations activations) {
  constexpr std::int64_t n = 512, k = 1024, group = 64;
  QuantizedWeight weight;
  weight.values = format == WeightFormat::int4 ? c.placeholder(DType::u8, {n, k / 2})
                                               : c.placeholder(DType::i8, {n, k});
  weight.scales = c.placeholder(f32, {n, format == WeightFormat::int4 ? k / group : 1});
  weight.activations = activations;
  return quantized_linear(c.placeholder(DType::bf16, {rows, k}), weight);
}

Tensor attention(Capture& c, std::int64_t rows, std::int64_t keys, DType dtype, bool cached,
                 std::int64_t window = 0) {
  Tensor q = c.placeholder(dtype, {1, 8, rows, 64}), k = c.placeholder(dtype, {1, 2, keys, 64});
  Tensor v = c.placeholder(dtype, {1, 2, keys, 64});
  AttentionOptions options{.causal = true, .window = window};
  if (cached) options.position = c.placeholder(i64, {1});
  return scaled_dot_product_attention(q, k, v, options);
}

std::vector<Model> models() {
  const DType bf16 = DType::bf16;
  return {
      {"softmax",
       [](Capture& c) {
         return softmax(c.placeholder(f32, {512, 4096}), -1);
       }},
      {"softmax_long",
       [=](Capture& c) {
         return softmax(c.placeholder(bf16, {64, 50257}), -1);
       }},
      {"softmax_middle",
       [](Capture& c) {
         return softmax(c.placeholder(f32, {8, 64, 96}), 1);
       }},
      {"layer_norm",
       [](Capture& c) {
         return layer_norm(c.placeholder(f32, {512, 1000}), c.placeholder(f32, {1000}),
                           c.placeholder(f32, {1000}));
       }},
      {"rms_norm",
       [=](Capture& c) {
         Tensor x = c.placeholder(bf16, {33, 2048}) + c.placeholder(bf16, {33, 2048});
         return rms_norm(x, c.placeholder(bf16, {2048}), 1e-5);
       }},
      {"cross_entropy",
       [](Capture& c) {
         return cross_entropy(c.placeholder(f32, {128, 5000}), c.placeholder(i64, {128}));
       }},
      {"mean_of_rows",
       [](Capture& c) {
         return mean(c.placeholder(f32, {3000, 40}), {0});
       }},
      {"variance",
       [](Capture& c) {
         return var(c.placeholder(f32, {300, 50}), {0, 1});
       }},
      {"argmax",
       [=](Capture& c) {
         return argmax(c.placeholder(bf16, {7, 32000}), -1);
       }},
      {"pointwise",
       [](Capture& c) {
         Tensor x = c.placeholder(f32, {1000, 1000});
         return where(x > 0, exp(x) * sin(x), tanh(x) / (square(x) + 1)) + log1p(abs(x));
       }},
      {"integers",
       [](Capture& c) {
         Tensor x = c.placeholder(i32, {777});
         return floor_divide(x * 3, 7) + remainder(x, 5) + shift_right(x, 2);
       }},
      {"transposition",
       [](Capture& c) {
         return relu(c.placeholder(f32, {512, 768}).permute({1, 0}));
       }},
      {"embedding",
       [=](Capture& c) {
         return embedding(c.placeholder(i64, {77}), c.placeholder(bf16, {1000, 256})) * 2.0;
       }},
      {"cat",
       [](Capture& c) {
         Tensor x = c.placeholder(f32, {64, 33});
         return cat({x * 2.0, relu(c.placeholder(f32, {64, 10})), x}, 1);
       }},
      {"feed_forward_1", [=](Capture& c) { return feed_forward(c, 1, bf16); }},
      {"feed_forward_8", [](Capture& c) { return feed_forward(c, 8, f32); }},
      {"feed_forward_200", [=](Capture& c) { return feed_forward(c, 200, bf16); }},
      {"feed_forward_f32", [](Capture& c) { return feed_forward(c, 256, f32); }},
      {"feed_forward_tf32", [](Capture& c) { return feed_forward(c, 256, f32); }, true},
      {"product", [=](Capture& c) { return product(c, 1024, 1024, 1024, bf16); }},
      {"product_f16", [](Capture& c) { return product(c, 96, 80, 112, DType::f16); }},
      {"product_deep", [=](Capture& c) { return product(c, 64, 16384, 64, bf16); }},
      {"product_tail", [=](Capture& c) { return product(c, 2048, 4096, 2304, bf16); }},
      {"product_ragged", [](Capture& c) { return product(c, 37, 53, 71, f32); }},
      {"product_i8",
       [](Capture& c) {
         return matmul(c.placeholder(DType::i8, {128, 256}), c.placeholder(DType::i8, {256, 64}));
       }},
      {"product_float8",
       [](Capture& c) {
         return matmul(c.placeholder(DType::f8e4m3, {128, 256}),
                       c.placeholder(DType::f8e4m3, {256, 64}));
       }},
      {"int8_1",
       [](Capture& c) { return quantized(c, 1, WeightFormat::int8, Activations::floating); }},
      {"int4_1",
       [](Capture& c) { return quantized(c, 1, WeightFormat::int4, Activations::floating); }},
      {"int4_64",
       [](Capture& c) { return quantized(c, 64, WeightFormat::int4, Activations::floating); }},
      {"int8_activations",
       [](Capture& c) { return quantized(c, 64, WeightFormat::int8, Activations::int8); }},
      {"attention", [=](Capture& c) { return attention(c, 512, 512, bf16, false); }},
      {"attention_f32", [](Capture& c) { return attention(c, 100, 100, f32, false); }},
      {"attention_window", [=](Capture& c) { return attention(c, 256, 256, bf16, false, 64); }},
      {"attention_step", [=](Capture& c) { return attention(c, 1, 2048, bf16, true); }},
      {"attention_mask",
       [=](Capture& c) {
         Tensor x = c.placeholder(bf16, {2, 4, 200, 64});
         return scaled_dot_product_attention(
             x, x, x, {.mask = c.placeholder(DType::boolean, {2, 1, 1, 200})});
       }},
      {"attention_bias",
       [](Capture& c) {
         Tensor x = c.placeholder(f32, {2, 4, 100, 64});
         return scaled_dot_product_attention(x, x, x, {.mask = c.placeholder(f32, {4, 100, 100})});
       }},
  };
}

}  // namespace

std::vector<CodeProgram> programs_of_models(const dsl::Target& target) {
  std::vector<CodeProgram> programs;
  for (const Model& model : models()) {
    Capture capture;
    Tensor result = model.result(capture);
    Graph graph = capture.finish({result}).graph;
    lower_all(graph, model.name, target, model.tf32, programs);
  }
  return programs;
}

std::vector<CodeProgram> programs_of_random_graphs(const dsl::Target& target) {
  constexpr std::uint64_t graphs = 16;
  std::vector<CodeProgram> programs;
  for (std::uint64_t seed = 0; seed < graphs; ++seed)
    lower_all(random_graph(seed).graph, concat("graph_", seed), target, false, programs);
  return programs;
}

std::vector<CodeProgram> random_tile_programs_for(const dsl::Target& target) {
  constexpr std::uint64_t count = 24;
  std::vector<CodeProgram> programs;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    ir::Function function = random_tile_program(seed).function;
    if (target.is_gpu() || function.cluster == 1)
      programs.push_back({concat("tile_", seed), std::move(function), ""});
  }
  return programs;
}

}  // namespace tilewright
