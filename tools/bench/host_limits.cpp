#include "tools/bench/host_limits.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "dsl/target/target.h"
#include "runtime/cpu/parallel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tilewright::tools {
namespace {

constexpr std::size_t memory_bytes = std::size_t{128} << 20;  // of each block
constexpr std::size_t piece_bytes = std::size_t{1} << 17;
constexpr std::int64_t turns = 20'000;  // of a multiplying loop, a thread

// Memory in large pages, written once, kept to the end of the process.
char* block(int which) {
  static char* blocks[2] = {};
  if (blocks[which] != nullptr) return blocks[which];
  auto* data = static_cast<char*>(std::aligned_alloc(std::size_t{1} << 21, memory_bytes));
  madvise(data, memory_bytes, MADV_HUGEPAGE);
  for (std::size_t i = 0; i < memory_bytes / sizeof(float); ++i)
    reinterpret_cast<float*>(data)[i] = static_cast<float>(i % 1009) / 1009.0F;
  return blocks[which] = data;
}

// A loop over the pieces of memory, all threads.
template <void (*piece)(char* to, const char* from)>
LimitLoop memory_loop(std::string name, double work) {
  block(0), block(1);
  return {std::move(name), work, [] {
            parallel_for(
                memory_bytes / piece_bytes,
                [](void*, std::int64_t begin, std::int64_t end, int) {
                  for (std::int64_t i = begin; i < end; ++i) {
                    std::size_t first = static_cast<std::size_t>(i) * piece_bytes;
                    piece(block(1) + first, block(0) + first);
                  }
                },
                nullptr);
          }};
}

// A loop that every thread runs once; `per_turn` operations of one thread.
template <void (*body)()>
LimitLoop multiply_loop(std::string name, double per_turn) {
  return {std::move(name), per_turn * static_cast<double>(turns) * thread_count(), [] {
            parallel_for(
                thread_count(),
                [](void*, std::int64_t begin, std::int64_t end, int) {
                  for (std::int64_t i = begin; i < end; ++i) body();
                },
                nullptr);
          }};
}

void plain_copy(char* to, const char* from) { std::memcpy(to, from, piece_bytes); }

// Keeps the compiler from removing a value that nobody reads.
template <typename T>
void keep(T& value) {
  asm volatile("" : "+m"(value));
}

void plain_read(char*, const char* from) {
  std::uint64_t sums[8] = {};
  for (std::size_t at = 0; at < piece_bytes; at += 64)
    for (std::size_t i = 0; i < 8; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, from + at + 8 * i, 8);
      sums[i] ^= word;
    }
  for (std::uint64_t& sum : sums) keep(sum);
}

#if defined(__x86_64__)

__attribute__((target("avx"))) void streaming_copy(char* to, const char* from) {
  for (std::size_t at = 0; at < piece_bytes; at += 64) {
    _mm_prefetch(from + at + 4096, _MM_HINT_T0);
    __m256 low = _mm256_load_ps(reinterpret_cast<const float*>(from + at));
    __m256 high = _mm256_load_ps(reinterpret_cast<const float*>(from + at + 32));
    _mm256_stream_ps(reinterpret_cast<float*>(to + at), low);
    _mm256_stream_ps(reinterpret_cast<float*>(to + at + 32), high);
  }
}

// Rows of a quarter of the piece side by side, each fetched ahead, as a product of a matrix and a
// vector reads its weights; or one row.
template <std::size_t rows>
__attribute__((target("avx2"))) void fetching_read(char*, const char* from) {
  __m256i sums[2 * rows] = {};
  constexpr std::size_t row_bytes = piece_bytes / rows;
  for (std::size_t at = 0; at < row_bytes; at += 64)
    for (std::size_t row = 0; row < rows; ++row) {
      const char* line = from + row * row_bytes + at;
      _mm_prefetch(line + (rows == 1 ? 4096 : 1024), _MM_HINT_T0);
      for (std::size_t half = 0; half < 2; ++half)
        sums[2 * row + half] =
            _mm256_xor_si256(sums[2 * row + half],
                             _mm256_load_si256(reinterpret_cast<const __m256i*>(line + 32 * half)));
    }
  for (__m256i& sum : sums) keep(sum);
}

// Enough independent sums to hide the latency: latency times instructions a cycle.
#define TILEWRIGHT_MULTIPLY(name, targets, vector, count, zero, one, instruction) \
  __attribute__((target(targets))) void name() {                                  \
    vector sums[count], factor = one;                                             \
    keep(factor);                                                                 \
    for (auto& sum : sums) sum = zero;                                            \
    for (std::int64_t turn = 0; turn < turns; ++turn)                             \
      _Pragma("GCC unroll 16") for (int i = 0; i < (count); ++i) instruction;     \
    for (auto& sum : sums) keep(sum);                                             \
  }
TILEWRIGHT_MULTIPLY(multiply_fma, "avx2,fma", __m256, 12, _mm256_setzero_ps(), _mm256_set1_ps(0.5F),
                    sums[i] = _mm256_fmadd_ps(factor, factor, sums[i]))
TILEWRIGHT_MULTIPLY(multiply_avx512, "avx512f", __m512, 16, _mm512_setzero_ps(),
                    _mm512_set1_ps(0.5F), sums[i] = _mm512_fmadd_ps(factor, factor, sums[i]))
TILEWRIGHT_MULTIPLY(multiply_bf16, "avx512f,avx512bf16", __m512, 16, _mm512_setzero_ps(),
                    _mm512_set1_ps(0.5F),
                    sums[i] = _mm512_dpbf16_ps(sums[i], (__m512bh)factor, (__m512bh)factor))
TILEWRIGHT_MULTIPLY(multiply_vnni, "avx512f,avx512vnni", __m512i, 16, _mm512_setzero_si512(),
                    _mm512_set1_epi8(1), sums[i] = _mm512_dpbusd_epi32(sums[i], factor, factor))
#undef TILEWRIGHT_MULTIPLY

// Tiles 0 to 3 are sums, 4 to 7 factors.
struct TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

#define TILEWRIGHT_TILES(name, targets, instruction)         \
  __attribute__((target("amx-tile," targets))) void name() { \
    TileShapes shapes;                                       \
    keep(shapes);                                            \
    _tile_loadconfig(&shapes);                               \
    _tile_zero(0);                                           \
    _tile_zero(1);                                           \
    _tile_zero(2);                                           \
    _tile_zero(3);                                           \
    _tile_zero(4);                                           \
    _tile_zero(5);                                           \
    _tile_zero(6);                                           \
    _tile_zero(7);                                           \
    for (std::int64_t turn = 0; turn < turns / 4; ++turn) {  \
      instruction(0, 4, 6);                                  \
      instruction(1, 4, 7);                                  \
      instruction(2, 5, 6);                                  \
      instruction(3, 5, 7);                                  \
    }                                                        \
    _tile_release();                                         \
  }
#define TILEWRIGHT_BF16(a, b, c) _tile_dpbf16ps(a, b, c)
#define TILEWRIGHT_INT8(a, b, c) _tile_dpbssd(a, b, c)
TILEWRIGHT_TILES(tiles_bf16, "amx-bf16", TILEWRIGHT_BF16)
TILEWRIGHT_TILES(tiles_int8, "amx-int8", TILEWRIGHT_INT8)
#undef TILEWRIGHT_TILES
#undef TILEWRIGHT_BF16
#undef TILEWRIGHT_INT8

void add_x86(HostLimit limit, std::vector<LimitLoop>& loops) {
  using enum HostLimit;
  auto has_avx512 = __builtin_cpu_supports("avx512f") != 0;
  const bool has_tiles = dsl::host_names().front() == "amx";
  auto bytes = static_cast<double>(memory_bytes);
  if (limit == copy && __builtin_cpu_supports("avx"))
    loops.push_back(memory_loop<streaming_copy>("non-temporal copy", 2 * bytes));
  if (limit == read && __builtin_cpu_supports("avx2")) {
    loops.push_back(memory_loop<fetching_read<1>>("read, fetched ahead", bytes));
    loops.push_back(memory_loop<fetching_read<4>>("read of 4 rows, fetched ahead", bytes));
  }
  if (limit == f32 && __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"))
    loops.push_back(multiply_loop<multiply_fma>("f32 fma of 8", 12 * 8 * 2));
  if (limit == f32 && has_avx512)
    loops.push_back(multiply_loop<multiply_avx512>("f32 fma of 16", 16 * 16 * 2));
  if (limit == bf16 && has_avx512 && __builtin_cpu_supports("avx512bf16"))
    loops.push_back(multiply_loop<multiply_bf16>("bf16 dot of 2", 16 * 32 * 2));
  if (limit == int8 && has_avx512 && __builtin_cpu_supports("avx512vnni"))
    loops.push_back(multiply_loop<multiply_vnni>("int8 dot of 4", 16 * 64 * 2));
  if (limit == bf16 && has_tiles)
    loops.push_back(multiply_loop<tiles_bf16>("bf16 tiles", 16 * 16 * 32 * 2));
  if (limit == int8 && has_tiles)
    loops.push_back(multiply_loop<tiles_int8>("int8 tiles", 16 * 16 * 64 * 2));
}

#endif

}  // namespace

const char* name_of(HostLimit limit) {
  constexpr const char* names[] = {"none", "copy", "read", "f32", "bf16", "int8"};
  return names[static_cast<int>(limit)];
}

std::vector<LimitLoop> limit_loops(HostLimit limit) {
  std::vector<LimitLoop> loops;
  auto bytes = static_cast<double>(memory_bytes);
  if (limit == HostLimit::none) return loops;
  if (limit == HostLimit::copy) loops.push_back(memory_loop<plain_copy>("memcpy", 2 * bytes));
  if (limit == HostLimit::read) loops.push_back(memory_loop<plain_read>("read", bytes));
#if defined(__x86_64__)
  add_x86(limit, loops);
#endif
  if (loops.empty() && limit != HostLimit::f32) return limit_loops(HostLimit::f32);
  return loops;
}

}  // namespace tilewright::tools
