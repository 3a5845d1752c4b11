// The products of a warpgroup, from images of shared memory that are laid out here by formulas of
// their own.
#include <cmath>

#include "dsl/target/wgmma_form.h"
#include "tests/emulator/emulated.h"

namespace tilewright::dsl::products_test {
namespace {

using emulator::Format;
using emulator::WgmmaForm;

struct Layout {
  const char* name;
  int span;  // bytes of a swizzle's span; 16 if there is none
  std::uint64_t code;
};
constexpr Layout layouts[] = {
    {"plain", 16, 0}, {"swizzle128", 128, 1}, {"swizzle64", 64, 2}, {"swizzle32", 32, 3}};

// Where byte `byte` of row `row` lies, K-major: rows of one span, or blocks of 8 rows by 16 bytes,
// the blocks of one row side by side.
int k_major(const Layout& layout, int row, int byte) {
  if (layout.span == 16) return row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16;
  int exchange = row * layout.span / 128 % (layout.span / 16) * 16;
  return row * layout.span + (byte ^ exchange);
}

std::uint64_t k_major_descriptor(const Layout& layout, int start) {
  std::uint64_t stride = layout.span == 16 ? 256 : 8 * static_cast<std::uint64_t>(layout.span);
  return static_cast<std::uint64_t>(start) >> 4 | (128ULL >> 4) << 16 | (stride >> 4) << 32 |
         layout.code << 62;
}

// Where element (mn, k) of 16 bits lies with mn innermost: slabs of 64 mn by 16 k, 128-byte
// swizzle.
int mn_major(int mn, int k) { return mn / 64 * 2048 + k * 128 + (mn % 64 * 2 ^ k % 8 * 16); }

std::uint64_t mn_major_descriptor(int start) {
  return static_cast<std::uint64_t>(start) >> 4 | (2048ULL >> 4) << 16 | (1024ULL >> 4) << 32 |
         1ULL << 62;
}

struct Case {
  const char* name;
  Layout layout;
};

class EmulatedProducts : public testing::TestWithParam<Case> {};

constexpr int b_start = 16384, image_bytes = 49152;

// Copies the image from %a to shared memory, word by word, and makes it known to products.
const std::string copy_image = R"(
  br label %copy
copy:
  %w = phi i32 [%tid, %begin], [%w2, %copy]
  %from = getelementptr i32, ptr addrspace(1) %a, i32 %w
  %to = getelementptr i32, ptr addrspace(3) %shared, i32 %w
  %word = load i32, ptr addrspace(1) %from
  store i32 %word, ptr addrspace(3) %to
  %w2 = add i32 %w, 128
  %more = icmp ult i32 %w2, 12288
  br i1 %more, label %copy, label %copied
copied:
  call void @td.fence_proxy_async()
  call void @td.barrier()
  call void @td.wgmma_fence()
  %base = ptrtoint ptr addrspace(3) %shared to i64
  %low = and i64 %base, 262143
  %start = lshr i64 %low, 4
)";

std::string repeated(const std::string& type, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i ? ", " : "") + type;
  return text;
}

std::string product_text(const std::string& name, const WgmmaForm& form, std::uint64_t a,
                         std::uint64_t b) {
  int count = form.accumulators();
  std::string type = form.format == Format::s8 ? "i32" : "float";
  std::string zero = type + (type == "i32" ? " 3" : " 3.0");
  std::string sums = "{" + repeated(type, count) + "}";
  std::string text = copy_image, arguments;
  text += "%da = or i64 %start, " + std::to_string(static_cast<std::int64_t>(a)) + "\n";
  text += "%db = add i64 %start, " + std::to_string(static_cast<std::int64_t>(b)) + "\n";
  arguments = repeated(zero, count) + ", ";
  for (int i = 0; i < 4 && form.a_in_registers; ++i) {
    std::string n = std::to_string(i);
    text += "%r" + n + "at = mul i32 %tid, 4\n%r" + n + "i = add i32 %r" + n + "at, " + n + "\n%r" +
            n + "p = getelementptr i32, ptr addrspace(1) %b, i32 %r" + n + "i\n%r" + n +
            " = load i32, ptr addrspace(1) %r" + n + "p\n";
    arguments += "i32 %r" + n + ", ";
  }
  if (!form.a_in_registers) arguments += "i64 %da, ";
  text += "%d = call " + sums + " @td." + name + "(" + arguments + "i64 %db, i32 1)\n";
  text += "call void @td.wgmma_commit()\n";
  std::string passed;
  for (int i = 0; i < count; ++i) {
    std::string n = std::to_string(i);
    text += "%t" + n + " = extractvalue " + sums + " %d, " + n + "\n";
    passed += (i ? ", " : "") + type + " %t" + n;
  }
  text += "%f = call " + sums + " @td.wgmma_wait_0_" + form.accumulator_letter() +
          std::to_string(count) + "(" + passed + ")\n";
  for (int i = 0; i < count; ++i) {
    std::string n = std::to_string(i);
    text += "%f" + n + " = extractvalue " + sums + " %f, " + n + "\n%o" + n + "m = mul i32 %tid, " +
            std::to_string(count) + "\n%o" + n + "i = add i32 %o" + n + "m, " + n + "\n%o" + n +
            " = getelementptr i32, ptr addrspace(1) %c, i32 %o" + n + "i\nstore " + type + " %f" +
            n + ", ptr addrspace(1) %o" + n + "\n";
  }
  return text + "ret void\n";
}

TEST_P(EmulatedProducts, MultiplyAsTheManualLaysOut) {
  const auto [name, layout] = GetParam();
  WgmmaForm form = *emulator::parse_wgmma(name);
  int n = form.columns, depth = form.depth(), size = emulator::bytes_of(form.format);
  std::vector<std::byte> image(image_bytes, std::byte{0});
  std::vector<std::uint32_t> a(static_cast<std::size_t>(64 * depth)),
      b(static_cast<std::size_t>(n * depth)), registers(512);
  std::uint32_t state = 11;
  auto element = [&] {
    state = state * 1664525U + 1013904223U;
    auto number = static_cast<int>(state >> 16 & 15) - 8;
    switch (form.format) {
      case Format::bf16: return std::uint32_t{bfloat16_bits(static_cast<float>(number))};
      case Format::f16: return std::uint32_t{half_bits(static_cast<float>(number))};
      case Format::tf32: return std::bit_cast<std::uint32_t>(static_cast<float>(number));
      case Format::e4m3:
      case Format::e5m2: return state >> 16 & 0xBF;
      case Format::s8: return static_cast<std::uint32_t>(number) & 0xFF;
    }
    return 0U;
  };
  auto place = [&](int at, std::uint32_t bits) {
    std::memcpy(&image[static_cast<std::size_t>(at)], &bits, static_cast<std::size_t>(size));
  };
  for (int i = 0; i < 64 * depth; ++i) {
    std::uint32_t bits = a[static_cast<std::size_t>(i)] = element();
    int row = i / depth, k = i % depth;
    place(form.transposes_a ? mn_major(row, k) : k_major(layout, row, k * size), bits);
    // Registers: warp by 16 rows, lane by row and words of 4 bytes.
    int byte = k * size, word = byte / 4, thread = row / 16 * 32 + row % 8 * 4 + word % 4;
    int r = row % 16 / 8 + word / 4 * 2;
    registers[static_cast<std::size_t>(thread * 4 + r)] |= bits << (byte % 4 * 8);
  }
  for (int i = 0; i < n * depth; ++i) {
    std::uint32_t bits = b[static_cast<std::size_t>(i)] = element();
    int column = i / depth, k = i % depth;
    place(b_start + (form.transposes_b ? mn_major(column, k) : k_major(layout, column, k * size)),
          bits);
  }
  std::vector<std::uint32_t> out(static_cast<std::size_t>(64 * n));
  run_emulated(
      kernel_text(product_text(
          name, form, form.transposes_a ? mn_major_descriptor(0) : k_major_descriptor(layout, 0),
          form.transposes_b ? mn_major_descriptor(b_start) : k_major_descriptor(layout, b_start))),
      {128, image_bytes},
      {pointer_argument(image.data()),
       pointer_argument(registers.data()),
       pointer_argument(out.data()),
       {}});
  for (int thread = 0; thread < 128; ++thread)
    for (int i = 0; i < n / 2; ++i) {
      int row = thread / 32 * 16 + thread % 32 / 4 + (i & 2) * 4;
      int column = i / 4 * 8 + thread % 4 * 2 + (i & 1);
      double sum = 3;
      for (int k = 0; k < depth; ++k)
        sum += static_cast<double>(emulator::element_value(
                   form.format, a[static_cast<std::size_t>(row * depth + k)])) *
               static_cast<double>(emulator::element_value(
                   form.format, b[static_cast<std::size_t>(column * depth + k)]));
      std::uint32_t got = out[static_cast<std::size_t>(thread * (n / 2) + i)];
      double value = form.format == Format::s8 ? static_cast<double>(static_cast<std::int32_t>(got))
                                               : std::bit_cast<float>(got);
      ASSERT_NEAR(value, sum, 1e-4 * (1 + std::abs(sum))) << row << " " << column;
    }
}

INSTANTIATE_TEST_SUITE_P(
    , EmulatedProducts,
    testing::Values(
        Case{"wgmma_m64n64k16_bf16_ss", layouts[0]}, Case{"wgmma_m64n128k16_bf16_ss", layouts[1]},
        Case{"wgmma_m64n96k16_bf16_ss", layouts[2]}, Case{"wgmma_m64n8k16_f16_ss", layouts[3]},
        Case{"wgmma_m64n256k16_bf16_rs", layouts[1]},
        Case{"wgmma_m64n128k16_bf16_rs_tb", layouts[1]},
        Case{"wgmma_m64n64k16_f16_ss_ta_tb", layouts[1]},
        Case{"wgmma_m64n64k8_tf32_ss", layouts[1]}, Case{"wgmma_m64n64k32_e4m3_ss", layouts[1]},
        Case{"wgmma_m64n32k32_e4m3_rs", layouts[2]}, Case{"wgmma_m64n64k32_e5m2_ss", layouts[1]},
        Case{"wgmma_m64n32k32_s8_ss", layouts[1]}, Case{"wgmma_m64n48k32_s8_rs", layouts[0]}),
    [](const auto& info) { return std::string(info.param.name) + "_" + info.param.layout.name; });

TEST(WgmmaForm, IsReadFromItsName) {
  auto form = emulator::parse_wgmma("wgmma_m64n128k16_bf16_rs_tb");
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->columns, 128);
  EXPECT_TRUE(form->a_in_registers && form->transposes_b);
  for (const char* name :
       {"wgmma_m64n12k16_bf16_ss", "wgmma_m64n264k16_bf16_ss", "wgmma_m64n64k8_bf16_ss",
        "wgmma_m64n40k32_s8_ss", "wgmma_m64n64k32_e4m3_ss_tb", "wgmma_m64n64k16_bf16",
        "wgmma_m64n64k16_bf16_rs_ta", "wgmma_fence"})
    EXPECT_FALSE(emulator::parse_wgmma(name).has_value()) << name;
  EXPECT_EQ(emulator::parse_wgmma_wait("wgmma_wait_1_f64")->accumulators, 64);
  EXPECT_FALSE(emulator::parse_wgmma_wait("wgmma_wait_1").has_value());
}

// p: whether the first product is added to what is there; q is true, for those that follow.
TEST(WgmmaForm, OnlyTheFirstOfItsProductsMayBeginAnew) {
  for (const char* operands : {"ss", "rs"}) {
    std::string text =
        emulator::ptx_of(*emulator::parse_wgmma(concat("wgmma_m64n8k16_bf16_", operands, "_x3")));
    std::string order;
    for (std::size_t at = 0; (at = text.find("wgmma.mma_async", at)) != text.npos; ++at) {
      std::string product = text.substr(at, text.find(';', at) - at);
      EXPECT_NE(product.find(", p,") == product.npos, product.find(", q,") == product.npos);
      order += product.find(", p,") == product.npos ? 'q' : 'p';
    }
    EXPECT_EQ(order, "pqq") << text;
  }
}

}  // namespace
}  // namespace tilewright::dsl::products_test
