// The kernels of real models' shapes that tools show by name.
#include "tools/programs/named_kernels.h"

#include <algorithm>

#include "dsl/ir/text/text.h"
#include "graph/functions/quantized.h"
#include "graph/passes/pipeline.h"
#include "graph/run/plan.h"
#include "graph/tensor/capture.h"
#include "tools/bench/adamw.h"
#include "tools/programs/kernel_tensors.h"

namespace tilewright::tools {
namespace {

constexpr DType f8e4m3 = DType::f8e4m3, f8e5m2 = DType::f8e5m2;
constexpr DType i64 = DType::i64;

// Each operand has a scale; here, the product of both.
Tensor scaled_linear_of(const Tensors& a) {
  return (matmul(a[0], a[1].permute({1, 0})) * a[2]).to(DType::bf16);
}
Tensor quantized_linear_of(const Tensors& a) { return quantized_linear(a[0], {a[1], a[2], {}}); }
std::vector<NamedKernel::Argument> quantized(std::int64_t rows, std::int64_t depth,
                                             std::int64_t width, WeightFormat format,
                                             std::int64_t group_size) {
  NamedKernel::Argument weight{DType::i8, {width, depth}};
  if (format == WeightFormat::int4) weight = {DType::u8, {width, depth / 2}};
  return {{bf16, {rows, depth}}, weight, {bf16, {width, depth / group_size}}};
}
Tensor causal_attention_of(const Tensors& a) {
  return scaled_dot_product_attention(a[0], a[1], a[2], {.causal = true});
}
Tensor masked_attention_of(const Tensors& a) {
  return scaled_dot_product_attention(a[0], a[1], a[2], {.mask = a[3]});
}

// The corrections, then each parameter with its gradient and moments.
std::vector<NamedKernel::Argument> arguments_of_adamw() {
  std::vector<NamedKernel::Argument> arguments = {{f32, {2}}};
  for (const Shape& shape : gpt2_parameter_shapes())
    arguments.insert(arguments.end(), 4, {f32, shape});
  return arguments;
}
Tensor adamw_of(const Tensors& a) {
  for (std::size_t i = 1; i < a.size(); i += 4) {
    AdamwState state{a[i], a[i + 1], a[i + 2], a[i + 3]};
    adamw(state, a[0]);
  }
  return a[0];
}

std::vector<NamedKernel> pointwise_cases() {
  return {
      {"add gelu, f32",
       {{f32, {4096, 4096}}, {f32, {4096}}},
       [](const Tensors& a) { return gelu(a[0] + a[1]); }},
      {"silu mul, bf16",
       {{bf16, {4096, 14336}}, {bf16, {4096, 14336}}},
       [](const Tensors& a) { return silu(a[0]) * a[1]; }},
      {"transpose, f32",
       {{f32, {4096, 2048}}},
       [](const Tensors& a) {
         return a[0].permute({1, 0}) + 0.5;
       }},
      {"cat, f16",
       {{f16, {64, 32, 128}}, {f16, {64, 16, 128}}},
       [](const Tensors& a) {
         return cat({a[0], a[1]}, 1);
       }},
      {"embedding, bf16",
       {{i64, {512}}, {bf16, {32000, 4096}}},
       [](const Tensors& a) { return embedding(a[0], a[1]); }},
      {"adamw, 148 tensors", arguments_of_adamw(), adamw_of},
  };
}

std::vector<NamedKernel> row_cases() {
  return {
      {"softmax of 1024, f32", {{f32, {4096, 1024}}}, softmax_of},
      {"softmax of 8192, bf16", {{bf16, {4096, 8192}}}, softmax_of},
      {"softmax of 128256, bf16", {{bf16, {64, 128256}}}, softmax_of},
      {"softmax of 131072, f32", {{f32, {4096, 131072}}}, softmax_of},
      {"layer_norm of 768, f32",
       {{f32, {4096, 768}}, {f32, {768}}, {f32, {768}}},
       [](const Tensors& a) { return layer_norm(a[0], a[1], a[2]); }},
      {"rms_norm of 4096, bf16",
       {{bf16, {4096, 4096}}, {bf16, {4096}}},
       [](const Tensors& a) { return rms_norm(a[0], a[1]); }},
      {"argmax of 128256, f32",
       {{f32, {8, 128256}}},
       [](const Tensors& a) { return argmax(a[0], -1); }},
      {"cross_entropy of 128256, bf16",
       {{bf16, {4096, 128256}}, {i64, {4096}}},
       [](const Tensors& a) { return cross_entropy(a[0], a[1]); }},
      {"cross_entropy of 262144, f32",
       {{f32, {1024, 262144}}, {i64, {1024}}},
       [](const Tensors& a) { return cross_entropy(a[0], a[1]); }},
      {"sum over rows, f32",
       {{f32, {4096, 4096}}},
       [](const Tensors& a) { return sum(a[0], {0}); }},
  };
}

std::vector<NamedKernel> product_cases() {
  return {
      {"matmul 4096, f16",
       {{f16, {4096, 4096}}, {f16, {4096, 4096}}},
       [](const Tensors& a) { return matmul(a[0], a[1]); }},
      {"matmul 512, bf16",
       {{bf16, {512, 512}}, {bf16, {512, 512}}},
       [](const Tensors& a) { return matmul(a[0], a[1]); }},
      {"matmul 2048, f32",
       {{f32, {2048, 2048}}, {f32, {2048, 2048}}},
       [](const Tensors& a) { return matmul(a[0], a[1]); }},
      {"matmul 2048, tf32",
       {{f32, {2048, 2048}}, {f32, {2048, 2048}}},
       [](const Tensors& a) { return matmul(a[0], a[1]); },
       MatmulPrecision::high},
      {"linear, 4096 rows, tf32",
       {{f32, {4096, 4096}}, {f32, {4096, 4096}}},
       linear_of,
       MatmulPrecision::high},
      {"scaled linear, 4096 rows, f8",
       {{f8e4m3, {4096, 4096}}, {f8e4m3, {4096, 4096}}, {f32, {1}}},
       scaled_linear_of},
      {"scaled linear, 16 rows, f8",
       {{f8e5m2, {16, 4096}}, {f8e5m2, {4096, 4096}}, {f32, {1}}},
       scaled_linear_of},
      {"scaled matmul 2048, f8",
       {{f8e4m3, {2048, 2048}}, {f8e4m3, {2048, 2048}}, {f32, {1}}},
       [](const Tensors& a) { return (matmul(a[0], a[1]) * a[2]).to(bf16); }},
      // Strides that TMA does not take.
      {"matmul 3001 of odd strides, bf16",
       {{bf16, {3001, 3071}}, {bf16, {3071, 3003}}},
       [](const Tensors& a) { return matmul(a[0], a[1]); }},
      {"linear, 4096 rows, bf16", {{bf16, {4096, 4096}}, {bf16, {4096, 4096}}}, linear_of},
      {"linear, 1 row, bf16", {{bf16, {1, 4096}}, {bf16, {4096, 4096}}}, linear_of},
      {"matmul of 1 row, bf16",
       {{bf16, {1, 4096}}, {bf16, {4096, 4096}}},
       [](const Tensors& a) { return matmul(a[0], a[1]); }},
      {"linear, 2 rows, f16", {{f16, {2, 4096}}, {f16, {14336, 4096}}}, linear_of},
      {"rms_norm linear, 1 row, bf16",
       {{bf16, {1, 4096}}, {bf16, {4096}}, {bf16, {6144, 4096}}},
       [](const Tensors& a) { return linear(rms_norm(a[0], a[1]), a[2]); }},
      {"matmul 512 of depth 4096, bf16",
       {{bf16, {512, 4096}}, {bf16, {4096, 512}}},
       [](const Tensors& a) { return relu(matmul(a[0], a[1])); }},
      {"gemv_int8", quantized(1, 4096, 4096, WeightFormat::int8, 128), quantized_linear_of},
      {"gemv_int4", quantized(1, 4096, 4096, WeightFormat::int4, 128), quantized_linear_of},
      {"gemv_int8, 4 rows", quantized(4, 4096, 4096, WeightFormat::int8, 4096),
       quantized_linear_of},
      {"gemv_int4, 8 rows", quantized(8, 4096, 4096, WeightFormat::int4, 64), quantized_linear_of},
      {"linear, 8 rows, bf16", {{bf16, {8, 4096}}, {bf16, {4096, 4096}}}, linear_of},
      {"linear bias gelu, f16",
       {{f16, {2048, 1024}}, {f16, {4096, 1024}}, {f16, {4096}}},
       [](const Tensors& a) { return gelu(linear(a[0], a[1], a[2])); }},
      {"rms_norm linear, bf16",
       {{bf16, {2048, 4096}}, {bf16, {4096}}, {bf16, {4096, 4096}}},
       [](const Tensors& a) { return linear(rms_norm(a[0], a[1]), a[2]); }},
      {"stream-K matmul 3072, bf16",
       {{bf16, {3072, 3072}}, {bf16, {3072, 3072}}},
       [](const Tensors& a) { return relu(matmul(a[0], a[1])); }},
      {"batched matmul, f16",
       {{f16, {16, 512, 64}}, {f16, {16, 64, 512}}},
       [](const Tensors& a) { return matmul(a[0], a[1]); }},
  };
}

std::vector<NamedKernel> attention_cases() {
  auto of = [](const char* name, DType dtype, std::int64_t rows, std::int64_t keys,
               std::int64_t size) {
    return NamedKernel{
        name,
        {{dtype, {1, 32, rows, size}}, {dtype, {1, 8, keys, size}}, {dtype, {1, 8, keys, size}}},
        causal_attention_of};
  };
  return {of("attention of 2048, bf16", bf16, 2048, 2048, 128),
          of("attention of 1000, f16", f16, 1000, 1000, 64),
          of("attention of 512, f32", f32, 512, 512, 64),
          {"attention of 512, tf32",
           {{f32, {1, 32, 512, 64}}, {f32, {1, 8, 512, 64}}, {f32, {1, 8, 512, 64}}},
           causal_attention_of,
           MatmulPrecision::high},
          of("attention of 1 row, bf16", bf16, 1, 4096, 128),
          {"attention to a window, bf16",
           {{bf16, {1, 32, 2048, 128}}, {bf16, {1, 8, 2048, 128}}, {bf16, {1, 8, 2048, 128}}},
           [](const Tensors& a) {
             return scaled_dot_product_attention(a[0], a[1], a[2], {.causal = true, .window = 512});
           }},
          {"attention of keys that a mask shows, bf16",
           {{bf16, {4, 16, 512, 64}},
            {bf16, {4, 16, 512, 64}},
            {bf16, {4, 16, 512, 64}},
            {DType::boolean, {4, 1, 1, 512}}},
           masked_attention_of},
          {"attention with a bias, bf16",
           {{bf16, {4, 16, 512, 128}},
            {bf16, {4, 16, 512, 128}},
            {bf16, {4, 16, 512, 128}},
            {f32, {1, 16, 512, 512}}},
           masked_attention_of},
          {"attention with a bias, f32",
           {{f32, {4, 16, 512, 64}},
            {f32, {4, 16, 512, 64}},
            {f32, {4, 16, 512, 64}},
            {f32, {1, 16, 512, 512}}},
           masked_attention_of}};
}

}  // namespace

std::vector<NamedKernel> named_kernels(const std::vector<std::string>& words) {
  std::vector<NamedKernel> kernels;
  for (auto* list : {pointwise_cases, row_cases, product_cases, attention_cases})
    for (NamedKernel& kernel : list())
      if (is_named(kernel, words)) kernels.push_back(std::move(kernel));
  return kernels;
}

bool is_named(const NamedKernel& kernel, const std::vector<std::string>& words) {
  return words.empty() || std::ranges::any_of(words, [&](const std::string& word) {
           return kernel.name.find(word) != std::string::npos;
         });
}

graph::Graph graph_of(const NamedKernel& kernel) {
  graph::Capture capture;
  std::vector<Tensor> symbols;
  for (const NamedKernel::Argument& argument : kernel.arguments)
    symbols.push_back(capture.placeholder(argument.dtype, argument.shape));
  graph::Captured captured = capture.finish({kernel.function(symbols)});
  return graph::run_passes(captured.graph);
}

void each_region(const NamedKernel& kernel, const Device& device,
                 const std::function<void(const graph::TaskList&, const graph::Region&)>& each) {
  graph::Graph graph = graph_of(kernel);
  graph::TaskList list = graph::make_tasks(graph);
  if (device.target().is_gpu() && kernel.precision == MatmulPrecision::high)
    list.f32_products = ir::InputPrecision::tf32;
  for (const graph::FusedRegion& fused : graph::fuse_tasks(list, true)) each(list, fused.region);
}

std::vector<NamedProgram> programs_of(const NamedKernel& kernel, const Device& device) {
  auto plan =
      graph::make_plan(graph_of(kernel),
                       {.interpret = true, .matmul_precision = kernel.precision, .device = device});
  std::vector<NamedProgram> programs;
  for (std::size_t i = 0; i < plan->programs().size(); ++i)
    programs.push_back({ir::parse(plan->program_text(i)), plan->programs()[i].batch});
  return programs;
}

dsl::gpu::Ptx ptx_of(const NamedProgram& program, const dsl::Target& target) {
  std::optional<LaunchTable> table;
  if (program.launches > 1)
    table = dsl::gpu::launch_table(program.function, static_cast<std::size_t>(program.launches));
  return dsl::gpu::generate_ptx(program.function, target, table);
}

}  // namespace tilewright::tools
