// Matrix instructions against loops that were written from the layouts' tables.
#include <array>
#include <cmath>

#include "dsl/target/number_formats.h"
#include "tests/emulator/emulated.h"

namespace tilewright::dsl::matrices_test {
namespace {

using emulator::Format;

// Loads `count` words of thread %tid from PTR into %NAME0, ...
std::string load_words(const std::string& name, const std::string& pointer, int count,
                       const std::string& type) {
  std::string n = std::to_string(count), text;
  text += "%" + name + "first = mul i32 %tid, " + n + "\n";
  for (int i = 0; i < count; ++i) {
    std::string at = "%" + name + "at" + std::to_string(i);
    text += at + "i = add i32 %" + name + "first, " + std::to_string(i) + "\n";
    text += at + " = getelementptr i32, ptr addrspace(1) " + pointer + ", i32 " + at + "i\n";
    text += "%" + name + std::to_string(i) + " = load " + type + ", ptr addrspace(1) " + at + "\n";
  }
  return text;
}

std::string store_results(const std::string& aggregate, int count, const std::string& type) {
  std::string text, all;
  for (int i = 0; i < count; ++i) all += (i ? ", " : "") + type;
  text += "%out = mul i32 %tid, " + std::to_string(count) + "\n";
  for (int i = 0; i < count; ++i) {
    std::string n = std::to_string(i);
    std::string element = count == 1 ? aggregate : "%r" + n;
    if (count > 1) text += element + " = extractvalue {" + all + "} " + aggregate + ", " + n + "\n";
    text += "%o" + n + "i = add i32 %out, " + n + "\n";
    text += "%o" + n + " = getelementptr i32, ptr addrspace(1) %c, i32 %o" + n + "i\n";
    text += "store " + type + " " + element + ", ptr addrspace(1) %o" + n + "\n";
  }
  return text + "ret void\n";
}

std::uint32_t random_bits(std::uint32_t& state) {
  state = state * 1664525U + 1013904223U;
  return state >> 8 ^ state << 11;
}

struct MmaCase {
  const char* name;
  Format format;
  int depth;
};

class EmulatedMma : public testing::TestWithParam<MmaCase> {};

// An element of small magnitude.
std::uint32_t random_element(Format format, std::uint32_t& state) {
  float value = static_cast<float>(static_cast<int>(random_bits(state) % 33) - 16) / 8;
  switch (format) {
    case Format::bf16: return bfloat16_bits(value);
    case Format::f16: return half_bits(value);
    case Format::tf32: return std::bit_cast<std::uint32_t>(value);
    case Format::e4m3:
    case Format::e5m2: return random_bits(state) & 0xBF;
    case Format::s8: return random_bits(state) & 0xFF;
  }
  return 0;
}

// Row-major 16 x depth and depth x 8 by the definitions of the PTX manual: element i of a lane's
// fragment of a, with p elements in a word, is at row (g or g + 8 by bit of the register) and
// column.
TEST_P(EmulatedMma, MultipliesAsTheManualLaysOut) {
  const auto [name, format, depth] = GetParam();
  int per_word = 4 / emulator::bytes_of(format), bits = 32 / per_word;
  std::uint32_t state = 5;
  std::vector<std::uint32_t> a(16 * 64), b(8 * 64), words(32 * 6);
  for (auto& e : a) e = random_element(format, state);
  for (auto& e : b) e = random_element(format, state);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 6 * per_word; ++i) {
      int group = lane >> 2, in_group = lane % 4, r = i / per_word, e = i % per_word;
      std::uint32_t element = 0;
      if (r < 4) {
        int row = r == 0 || r == 2 ? group : group + 8;
        int column = in_group * per_word + e + (r < 2 ? 0 : 4 * per_word);
        element = a[static_cast<std::size_t>(row * depth + column)];
      } else {
        int row = in_group * per_word + e + (r == 4 ? 0 : 4 * per_word);
        element = b[static_cast<std::size_t>(row * 8 + group)];
      }
      words[static_cast<std::size_t>(lane * 6 + r)] |= element << (bits * e);
    }
  bool is_integer = format == Format::s8;
  std::string type = is_integer ? "i32" : "float", arguments;
  for (int i = 0; i < 6; ++i) arguments += "i32 %x" + std::to_string(i) + ", ";
  for (int i = 0; i < 4; ++i) arguments += (i ? ", " : "") + type + " %y" + std::to_string(i);
  std::vector<float> start(128);
  for (std::size_t i = 0; i < 128; ++i)
    start[i] =
        is_integer ? std::bit_cast<float>(static_cast<std::int32_t>(i)) : static_cast<float>(i);
  std::vector<std::uint32_t> out(128);
  std::string aggregate = "{" + type + ", " + type + ", " + type + ", " + type + "}";
  run_emulated(kernel_text(load_words("x", "%a", 6, "i32") + load_words("y", "%b", 4, type) +
                           "%d = call " + aggregate + " @td." + name + "(" + arguments + ")\n" +
                           store_results("%d", 4, type)),
               {32, 0},
               {pointer_argument(words.data()),
                pointer_argument(start.data()),
                pointer_argument(out.data()),
                {}});
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      int row = (lane >> 2) + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
      double sum = lane * 4 + i;
      for (int k = 0; k < depth; ++k)
        sum += static_cast<double>(
                   emulator::element_value(format, a[static_cast<std::size_t>(row * depth + k)])) *
               static_cast<double>(
                   emulator::element_value(format, b[static_cast<std::size_t>(k * 8 + column)]));
      std::uint32_t got = out[static_cast<std::size_t>(lane * 4 + i)];
      if (is_integer)
        ASSERT_EQ(static_cast<std::int32_t>(got), sum) << lane << " " << i;
      else
        ASSERT_NEAR(std::bit_cast<float>(got), sum, 1e-5 * (1 + std::abs(sum))) << lane << " " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(, EmulatedMma,
                         testing::Values(MmaCase{"mma_m16n8k16_bf16", Format::bf16, 16},
                                         MmaCase{"mma_m16n8k16_f16", Format::f16, 16},
                                         MmaCase{"mma_m16n8k8_tf32", Format::tf32, 8},
                                         MmaCase{"mma_m16n8k32_s8", Format::s8, 32},
                                         MmaCase{"mma_m16n8k32_e4m3", Format::e4m3, 32},
                                         MmaCase{"mma_m16n8k32_e5m2", Format::e5m2, 32}),
                         [](const auto& info) { return std::string(info.param.name); });

// Shared memory holds four matrices one after the other, 8 rows of 16 bytes each; element e of
// matrix m is the number 64 m + e.
std::vector<std::uint32_t> loaded_matrices(const std::string& operation, int count) {
  std::vector<std::uint32_t> out(static_cast<std::size_t>(32 * count));
  std::string result = "{";
  for (int i = 0; i < count; ++i) result += i ? ", i32" : "i32";
  result = count == 1 ? "i32" : result + "}";
  std::string fill;
  for (int i = 0; i < 4; ++i) {
    std::string n = std::to_string(i);
    fill += "%word" + n + " = add i32 %tid, " + std::to_string(32 * i) + "\n%low" + n +
            " = mul i32 %word" + n + ", 2\n%high" + n + " = add i32 %low" + n + ", 1\n%top" + n +
            " = shl i32 %high" + n + ", 16\n%pair" + n + " = or i32 %low" + n + ", %top" + n +
            "\n%at" + n + " = getelementptr i32, ptr addrspace(3) %shared, i32 %word" + n +
            "\nstore i32 %pair" + n + ", ptr addrspace(3) %at" + n + "\n";
  }
  run_emulated(kernel_text(fill + R"(
  call void @td.barrier()
  %bytes = mul i32 %tid, 16
  %row = getelementptr i8, ptr addrspace(3) %shared, i32 %bytes
  %m = call )" + result + " @td." +
                           operation + "(ptr addrspace(3) %row)\n" +
                           store_results("%m", count, "i32")),
               {32, 512}, {{}, {}, pointer_argument(out.data()), {}});
  return out;
}

TEST(EmulatedLdmatrix, DealsRowsToLanes) {
  for (int count : {1, 2, 4}) {
    auto out = loaded_matrices("ldmatrix_x" + std::to_string(count), count);
    for (int lane = 0; lane < 32; ++lane)
      for (int m = 0; m < count; ++m) {
        auto element = static_cast<std::uint32_t>(64 * m + lane / 4 * 8 + lane % 4 * 2);
        ASSERT_EQ(out[static_cast<std::size_t>(lane * count + m)], element | (element + 1) << 16);
      }
  }
}

TEST(EmulatedLdmatrix, DealsColumnsToLanesWhereTransposed) {
  for (int count : {1, 2, 4}) {
    auto out = loaded_matrices("ldmatrix_x" + std::to_string(count) + "_trans", count);
    for (int lane = 0; lane < 32; ++lane)
      for (int m = 0; m < count; ++m) {
        auto element = static_cast<std::uint32_t>(64 * m + lane % 4 * 2 * 8 + lane / 4);
        ASSERT_EQ(out[static_cast<std::size_t>(lane * count + m)], element | (element + 8) << 16);
      }
  }
}

TEST(EmulatedCopies, FillWithZerosAndFinishInOrder) {
  alignas(16) std::uint32_t in[128], out[128];
  for (std::uint32_t i = 0; i < 128; ++i) in[i] = i + 1;
  run_emulated(kernel_text(R"(
  %byte = mul i32 %tid, 16
  %to = getelementptr i8, ptr addrspace(3) %shared, i32 %byte
  %from = getelementptr i8, ptr addrspace(1) %a, i32 %byte
  call void @td.cp_async_16(ptr addrspace(3) %to, ptr addrspace(1) %from, i32 8)
  call void @td.cp_async_commit()
  call void @td.cp_async_commit()
  call void @td.cp_async_wait_1()
  %v = load <4 x i32>, ptr addrspace(3) %to
  %out = getelementptr i8, ptr addrspace(1) %c, i32 %byte
  store <4 x i32> %v, ptr addrspace(1) %out
  ret void)"),
               {32, 512}, {pointer_argument(in), {}, pointer_argument(out), {}});
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], i % 4 < 2 ? i + 1 : 0);
}

TEST(NumberFormats, E4m3HasItsCorners) {
  EXPECT_EQ(e4m3_value(0x7E), 448.0F);
  EXPECT_EQ(e4m3_value(0x38), 1.0F);
  EXPECT_EQ(e4m3_value(0x81), -0.001953125F);
  EXPECT_TRUE(std::isnan(e4m3_value(0x7F)));
}

}  // namespace
}  // namespace tilewright::dsl::matrices_test
