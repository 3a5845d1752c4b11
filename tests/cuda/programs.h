// Tile programs for the tests of GPUs.
#pragma once

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/passes/pipeline.h"
#include "runtime/gpu_code.h"

namespace tilewright::cuda {

// y = scale x + offset for n elements, 128 a block; parameters x, y, n (i32), scale (f32).
inline ir::Function scale_program(double offset = 1) {
  using namespace dsl;
  Tracer tracer("scale");
  Tile x = tracer.pointer_param("x", f32), y = tracer.pointer_param("y", f32),
       n = tracer.scalar_param("n", i32), scale = tracer.scalar_param("scale", f32);
  Tile i = cast(program_id(0), i32) * 128 + dsl::arange(0, 128);
  store(y + i, load(x + i, i < n, 0) * scale + offset, i < n);
  return tracer.finish();
}

// y of two neighbours is the sum of their x, 128 elements a block; parameters x, y.
inline ir::Function pair_program() {
  using namespace dsl;
  Tracer tracer("pair");
  Tile x = tracer.pointer_param("x", f32), y = tracer.pointer_param("y", f32);
  form_clusters(2);
  Tile i = cast(program_id(0), i32) * 128 + dsl::arange(0, 128);
  store(y + i, cluster_reduce(load(x + i), ir::ReduceKind::sum));
  return tracer.finish();
}

// c = a b, bf16 of 256x256, with blocks of 128x128: with roles and tensor maps on Hopper.
inline ir::Function product_program(int cluster = 1) {
  using namespace dsl;
  Tracer tracer("product");
  if (cluster > 1) tracer.set_cluster(cluster);
  Tile a = tracer.pointer_param("a", bf16), b = tracer.pointer_param("b", bf16),
       out = tracer.pointer_param("c", f32);
  constexpr int size = 256, block = 128, depth = 64;
  Desc da = make_desc(a, {size, size}, {size, 1}), db = make_desc(b, {size, size}, {size, 1}),
       dc = make_desc(out, {size, size}, {size, 1});
  Tile row = program_id(0) * block, column = program_id(1) * block;
  Var acc = dsl::full({block, block}, 0, f32);
  for (Tile i : range(0, size, depth))
    acc = dot(load(da, {row, i}, {block, depth}), load(db, {i, column}, {depth, block}), acc);
  store(dc, {row, column}, acc);
  return tracer.finish();
}

inline dsl::gpu::Ptx ptx_of(ir::Function function, const char* target) {
  dsl::run_passes(function, {.target = dsl::target_named(target)});
  return dsl::gpu::generate_ptx(function, dsl::target_named(target));
}

inline std::shared_ptr<const Artifact> artifact_of(ir::Function function) {
  dsl::run_passes(function, {.target = dsl::target_named("sm_90a")});
  return dsl::gpu::generate_gpu_code(function, dsl::target_named("sm_90a"));
}

}  // namespace tilewright::cuda
