#include "tests/amx_emulator.h"

#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

namespace tilewright::dsl {
namespace {

struct Shape {
  int rows = 0, row_bytes = 0;
};
struct TileRegister {
  Shape shape;
  std::array<std::array<std::uint8_t, 64>, 16> rows{};
};
thread_local std::array<TileRegister, 8> tiles;
thread_local bool is_configured = false;

// An instruction with a VEX prefix of three bytes, as far as those of AMX use it.
struct Instruction {
  enum class Prefix : std::uint8_t { none, x66, xf3, xf2 };
  Prefix prefix;
  std::uint8_t opcode, mod, reg, rm, other_reg;  // other_reg: VEX.vvvv
  std::uintptr_t address = 0, index = 0;         // of memory: the index not added
  int length = 0;
};

std::uintptr_t value_of(const ucontext_t& context, int number) {
  constexpr int places[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                            REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[places[number]]);
}

std::optional<Instruction> decode(const ucontext_t& context) {
  auto* code = reinterpret_cast<const std::uint8_t*>(context.uc_mcontext.gregs[REG_RIP]);
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2) return std::nullopt;  // the map 0F38
  const int index_high = (code[1] & 0x40) == 0 ? 8 : 0, base_high = (code[1] & 0x20) == 0 ? 8 : 0;
  if ((code[2] & 0x84) != 0) return std::nullopt;  // W0, 128 bits
  Instruction i;
  i.prefix = static_cast<Instruction::Prefix>(code[2] & 3);
  i.other_reg = (~code[2] >> 3) & 15;
  i.opcode = code[3];
  i.mod = code[4] >> 6;
  i.reg = (code[4] >> 3) & 7;
  i.rm = code[4] & 7;
  i.length = 5;
  if (i.mod == 3) return i;
  int base = i.rm + base_high;
  if (i.rm == 4) {
    const std::uint8_t sib = code[i.length++];
    const int index = ((sib >> 3) & 7) + index_high;
    if (index != 4) i.index = value_of(context, index) << (sib >> 6);
    base = (sib & 7) + base_high;
  }
  if (i.mod == 0 && (base & 7) == 5) {
    if (i.rm == 4) return std::nullopt;  // no base
    std::int32_t offset = 0;             // from the next instruction
    std::memcpy(&offset, code + i.length, 4);
    i.length += 4;
    i.address = reinterpret_cast<std::uintptr_t>(code) + static_cast<std::uintptr_t>(i.length) +
                static_cast<std::uintptr_t>(std::intptr_t{offset});
    return i;
  }
  std::int32_t offset = 0;
  if (i.mod == 1) offset = static_cast<std::int8_t>(code[i.length++]);
  if (i.mod == 2) {
    std::memcpy(&offset, code + i.length, 4);
    i.length += 4;
  }
  i.address = value_of(context, base) + static_cast<std::uintptr_t>(std::intptr_t{offset});
  return i;
}

bool configure(const void* from) {
  std::array<std::uint8_t, 64> bytes{};
  std::memcpy(bytes.data(), from, bytes.size());
  if (bytes[0] != 1 || bytes[1] != 0) return false;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    std::uint16_t row_bytes = 0;
    std::memcpy(&row_bytes, &bytes[16 + 2 * t], 2);
    const int rows = bytes[48 + t];
    if (rows > 16 || row_bytes > 64 || row_bytes % 4 != 0) return false;
    tiles[t] = {{rows, row_bytes}, {}};
  }
  is_configured = true;
  return true;
}

void load(TileRegister& tile, const Instruction& i) {
  tile.rows = {};
  for (int row = 0; row < tile.shape.rows; ++row)
    std::memcpy(
        tile.rows[static_cast<std::size_t>(row)].data(),
        reinterpret_cast<const void*>(i.address + static_cast<std::uintptr_t>(row) * i.index),
        static_cast<std::size_t>(tile.shape.row_bytes));
}

void store(const TileRegister& tile, const Instruction& i) {
  for (int row = 0; row < tile.shape.rows; ++row)
    std::memcpy(reinterpret_cast<void*>(i.address + static_cast<std::uintptr_t>(row) * i.index),
                tile.rows[static_cast<std::size_t>(row)].data(),
                static_cast<std::size_t>(tile.shape.row_bytes));
}

template <typename Word>
using Row = std::array<Word, 16>;
template <typename Word>
Row<Word> row_of(const TileRegister& tile, int row) {
  return std::bit_cast<Row<Word>>(tile.rows[static_cast<std::size_t>(row)]);
}
template <typename Word>
void set_row(TileRegister& tile, int row, const Row<Word>& words) {
  tile.rows[static_cast<std::size_t>(row)] = std::bit_cast<std::array<std::uint8_t, 64>>(words);
}

// Denormals are flushed to zero, before and after.
float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x; }
float low(std::uint32_t pair) { return flushed(std::bit_cast<float>(pair << 16)); }
float high(std::uint32_t pair) { return flushed(std::bit_cast<float>(pair & 0xffff0000U)); }

// The first and the second of all pairs are summed up apart.
__attribute__((target("fma"))) void multiply_bf16(TileRegister& c, const TileRegister& a,
                                                  const TileRegister& b) {
  for (int m = 0; m < c.shape.rows; ++m) {
    Row<float> first{}, second{}, sum = row_of<float>(c, m);
    const auto left = row_of<std::uint32_t>(a, m);
    for (int k = 0; k < a.shape.row_bytes / 4; ++k) {
      const auto right = row_of<std::uint32_t>(b, k);
      const float x = low(left[static_cast<std::size_t>(k)]),
                  y = high(left[static_cast<std::size_t>(k)]);
      for (std::size_t n = 0; n < 16; ++n) {
        first[n] = flushed(std::fma(x, low(right[n]), first[n]));
        second[n] = flushed(std::fma(y, high(right[n]), second[n]));
      }
    }
    for (std::size_t n = 0; n < 16; ++n)
      sum[n] = flushed(flushed(sum[n]) + flushed(first[n] + second[n]));
    set_row(c, m, sum);
  }
}

void multiply_int8(TileRegister& c, const TileRegister& a, const TileRegister& b) {
  auto part = [](std::uint32_t word, int i) {
    return std::int32_t{static_cast<std::int8_t>(word >> (8 * i))};
  };
  for (int m = 0; m < c.shape.rows; ++m) {
    auto sum = row_of<std::uint32_t>(c, m);
    const auto left = row_of<std::uint32_t>(a, m);
    for (int k = 0; k < a.shape.row_bytes / 4; ++k) {
      const auto right = row_of<std::uint32_t>(b, k);
      for (std::size_t n = 0; n < 16; ++n)
        for (int i = 0; i < 4; ++i)
          sum[n] += static_cast<std::uint32_t>(part(left[static_cast<std::size_t>(k)], i) *
                                               part(right[n], i));
    }
    set_row(c, m, sum);
  }
}

// True if the shapes of a product's tiles match.
bool fit(const TileRegister& c, const TileRegister& a, const TileRegister& b) {
  return a.shape.rows == c.shape.rows && b.shape.row_bytes == c.shape.row_bytes &&
         b.shape.rows * 4 == a.shape.row_bytes && &a != &b && &a != &c && &b != &c;
}

bool execute(const Instruction& i) {
  using enum Instruction::Prefix;
  const bool memory = i.mod != 3;
  if (i.opcode == 0x49 && i.prefix == none) {
    if (memory) return configure(reinterpret_cast<const void*>(i.address));  // ldtilecfg
    tiles = {};                                                              // tilerelease
    is_configured = false;
    return true;
  }
  if (!is_configured) return false;
  TileRegister& tile = tiles[i.reg];
  if (i.opcode == 0x49 && i.prefix == xf2 && !memory) {  // tilezero
    tile.rows = {};
    return true;
  }
  if (i.opcode == 0x4b && memory) {
    if (i.prefix == none) return false;
    if (i.prefix == xf3)  // tilestored
      store(tile, i);
    else  // tileloadd, tileloaddt1
      load(tile, i);
    return true;
  }
  if (memory || i.other_reg > 7) return false;
  const TileRegister &a = tiles[i.rm], &b = tiles[i.other_reg];
  if (!fit(tile, a, b)) return false;
  if (i.opcode == 0x5c && i.prefix == xf3) {  // tdpbf16ps
    multiply_bf16(tile, a, b);
    return true;
  }
  if (i.opcode == 0x5e && i.prefix == xf2) {  // tdpbssd
    multiply_int8(tile, a, b);
    return true;
  }
  return false;
}

struct sigaction before;

void on_illegal_instruction(int signal, siginfo_t* info, void* context_address) {
  auto& context = *static_cast<ucontext_t*>(context_address);
  auto instruction = decode(context);
  if (instruction && execute(*instruction)) {
    context.uc_mcontext.gregs[REG_RIP] += instruction->length;
    return;
  }
  // As if there were no emulator: the instruction is tried again.
  (void)info;
  sigaction(signal, &before, nullptr);
}

}  // namespace

bool can_run_amx() {
  static const bool can = [] {
    auto names = host_names();
    if (names.front() == "amx") return true;
    if (names.front() != "avx512_bf16") return false;
    struct sigaction action = {};
    action.sa_sigaction = on_illegal_instruction;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    return sigaction(SIGILL, &action, &before) == 0;
  }();
  return can;
}

namespace {

// On request, a whole test program runs as on such a processor.
const bool is_asked_for = [] {
  const char* cpu = std::getenv("TILEWRIGHT_CPU");
  if (cpu == nullptr || std::string_view(cpu) != "amx" || !can_run_amx()) return false;
  assume_host("amx");
  return true;
}();

}  // namespace

}  // namespace tilewright::dsl
