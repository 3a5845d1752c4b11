// The target of a kernel's compilation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/hash.h"

namespace tilewright::dsl {

// The code generator's facts about a GPU architecture, a row of targets.def. All zero for a host.
struct GpuFacts {
  std::string_view name;          // LLVM's
  int capability = 0;             // compute capability, major and minor: 80, 120
  bool runs_on_no_other = false;  // else its code runs on newer GPUs, too
  // The oldest version of PTX with the features that most kernels use, for the widest range of
  // drivers.
  int ptx = 0;

  // Multiprocessors of the largest GPU of this capability: at least as many blocks of threads run
  // at once.
  int multiprocessors = 1;
  // The capacity of a multiprocessor.
  int threads = 0, blocks = 0, registers = 65536;
  std::int64_t shared_bytes = 0;
  // Estimates of rates that are reached: operations of products of 16 bits by a multiprocessor, and
  // bytes of memory by all of them.
  double operations_a_ns = 0, memory_bytes_a_ns = 0;

  bool converts_float8 = false;    // between floats of 8 bits and f16, by instructions
  bool multiplies_float8 = false;  // by instructions of a warp (mma.sync)
  bool overlaps_launches =
      false;  // a kernel begins before the one before it ended (griddepcontrol)
  // Copies by threads (cp.async) that say which data is evicted first. From 9.0 on ptxas (13.1 too)
  // makes illegal instructions of them.
  bool orders_evictions_of_copies = false;
  bool has_clusters = false;            // of blocks that reach each other's shared memory
  bool has_tensor_copies = false;       // of blocks of memory by an engine (TMA)
  bool has_warpgroup_products = false;  // from shared memory, by four warps (wgmma)
};

// The host's instruction set, or a GPU's, as the code generator uses it. `lanes` is how many f32
// elements one vector register of the host holds: 4 (SSE), 8 (AVX2), 16 (AVX-512).
struct Target {
  std::string features;  // LLVM feature string, "+avx2,+fma,..."
  std::string cpu;       // LLVM CPU name for scheduling
  int lanes = 8;
  bool has_fma = true;
  // Instructions that multiply the elements of words of 4 bytes, pairs or fours, and add up the
  // products (word_products.def), and one that rounds f32 to elements of pairs.
  bool has_dots = false;
  // Registers of 16 rows of 64 bytes, AMX, by which all these are multiplied 16 times as fast.
  bool has_tiles = false;
  // True if vectors of pairs multiply more in a second than fmas of f32 do. (Not on Intel's
  // processors: they start one every other cycle, and two fmas in each cycle.)
  bool has_fast_pairs = false;
  // True if the hardware prefetcher follows the reads of a loop, best a single stream, so that
  // prefetch instructions only disturb. (So measured on Zen 5. Intel's processors need them.)
  bool reads_ahead = false;
  bool is_arm = false;  // of 64 bits, for which code is made and not run
  int sm = 0;           // compute capability of an NVIDIA GPU, which names its row; 0: the host
  bool is_gpu() const { return sm != 0; }
  const GpuFacts& gpu() const;
  // With many rows, pairs are multiplied rather than their values as f32.
  bool packs_pairs() const { return has_fast_pairs || has_tiles; }
  bool has_avx512() const { return lanes == 16; }
  unsigned vector_registers() const { return has_avx512() ? 32 : 16; }
  bool operator==(const Target&) const = default;
  Hash hash() const {
    return Hasher()
        .add(features)
        .add(cpu)
        .add(lanes)
        .add(has_fast_pairs)
        .add(has_tiles)
        .add(reads_ahead)
        .add(sm)
        .finish();
  }
};

// Bytes of shared memory that a block of a GPU may have: all but those that the system takes.
constexpr std::int64_t system_shared_bytes = 1024;
std::int64_t shared_memory_limit(const Target& gpu);
// LLVM's feature for a version of PTX.
std::string ptx_feature(int version);

// The best this machine can run, found from CPUID at run time (never from the CPU's name alone);
// TILEWRIGHT_CPU narrows it to one of `host_names()`. Found once.
const Target& host_target();
// Those that this processor runs, the best first, of amx, avx512_bf16, avx512, avx2 and sse. (Asks
// the system for the registers of AMX, which must be requested.)
std::vector<std::string_view> host_names();
// Makes this process compile for that host, whatever its processor is; an emulator runs the missing
// instructions. To be called before `host_target()`. Raises `Error` for an unknown name.
void assume_host(const std::string& name);
// By name: the host's as in TILEWRIGHT_CPU, a foreign host's (neon), or a GPU's. Raises `Error`
// listing the names if unknown.
Target target_named(const std::string& name);
std::vector<std::string_view> gpu_names();  // the oldest first
std::string known_gpus();                   // their names as text: "sm_80, sm_86, ..."
// The newest of them whose code a GPU of this compute capability runs.
Target target_of_gpu(int major, int minor);

}  // namespace tilewright::dsl
