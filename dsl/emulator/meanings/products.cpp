// The products of a warpgroup: d = a b + d, from descriptors of shared memory, asynchronously.
//
// A product is computed when it is waited for, from shared memory as it is then; until then nobody
// may write what it reads. The call itself returns tokens instead of accumulators: NaNs that encode
// which product and which register they stand for. A later product resolves tokens to the sums they
// stand for; the wait, through which the accumulators pass, replaces tokens of finished products by
// numbers. So an accumulator that did not pass through a wait shows as NaN in the result.
#include <algorithm>
#include <cstring>

#include "dsl/emulator/meanings.h"
#include "dsl/emulator/thread_block.h"

namespace tilewright::dsl::emulator {
namespace {

using Lanes = std::span<const Call* const>;

constexpr int rows = 64;
constexpr std::size_t finished_products_kept = 32;

constexpr std::uint32_t token_mark = 0x7FC00000, token_mask = 0xFFC00000;
constexpr std::uint32_t serials = 0x3FFF;  // serials count from 1

std::uint32_t token(std::uint32_t serial, int index) {
  return token_mark | serial << 8 | static_cast<std::uint32_t>(index);
}

// An operand in shared memory as its descriptor lays it out: K-major, or with m or n innermost.
class SharedOperand {
 public:
  SharedOperand(const SharedMemory& shared, std::uint64_t descriptor, int element_bytes,
                bool is_transposed)
      : base_(reinterpret_cast<std::uintptr_t>(shared.base())),
        start_(descriptor << 4 & 0x3FFF0),
        leading_(descriptor >> 16 << 4 & 0x3FFF0),
        stride_(descriptor >> 32 << 4 & 0x3FFF0),
        element_bytes_(static_cast<std::uintptr_t>(element_bytes)),
        is_transposed_(is_transposed) {
    constexpr std::array swizzles = {Swizzle::none, Swizzle::bytes128, Swizzle::bytes64,
                                     Swizzle::bytes32};
    swizzle_ = swizzles[descriptor >> 62];
  }

  // The address of element (row or column `mn`, `k`).
  std::byte* at(int mn, int k) const {
    auto i = static_cast<std::uintptr_t>(mn), j = static_cast<std::uintptr_t>(k);
    std::uintptr_t offset =
        start_ + (is_transposed_ ? transposed_offset(i, j) : offset_of(i, j * element_bytes_));
    return reinterpret_cast<std::byte*>(swizzled(base_ + (offset & 0x3FFFF), swizzle_));
  }

  // Calls f(address) for every 16 bytes of `extent` rows or columns.
  template <typename F>
  void for_each_chunk(int extent, int depth, F f) const {
    int per_chunk = chunk_bytes / static_cast<int>(element_bytes_);
    for (int mn = 0; mn < extent; mn += is_transposed_ ? per_chunk : 1)
      for (int k = 0; k < depth; k += is_transposed_ ? 1 : per_chunk) f(at(mn, k));
  }

 private:
  // Groups of 8 rows, each of one span of the swizzle; without one, of 16-byte columns.
  std::uintptr_t offset_of(std::uintptr_t row, std::uintptr_t byte) const {
    auto span = static_cast<std::uintptr_t>(swizzle_);
    std::uintptr_t place = row / 8 * stride_ + row % 8 * span;
    return swizzle_ == Swizzle::none ? place + byte / 16 * leading_ + byte % 16 : place + byte;
  }
  // Groups of 8 k, each of spans of m or n.
  std::uintptr_t transposed_offset(std::uintptr_t mn, std::uintptr_t k) const {
    auto span = static_cast<std::uintptr_t>(swizzle_), elements = span / element_bytes_;
    bool is_plain = swizzle_ == Swizzle::none;
    return mn / elements * (is_plain ? stride_ : leading_) + mn % elements * element_bytes_ +
           k % 8 * span + k / 8 * (is_plain ? leading_ : stride_);
  }

  std::uintptr_t base_, start_, leading_, stride_, element_bytes_;
  bool is_transposed_;
  Swizzle swizzle_ = Swizzle::none;
};

SharedOperand a_of(ThreadBlock& block, const Product& product) {
  const WgmmaForm& form = *product.site->product;
  return {block.shared(), product.a, bytes_of(form.format), form.transposes_a};
}

SharedOperand b_of(ThreadBlock& block, const Product& product) {
  const WgmmaForm& form = *product.site->product;
  return {block.shared(), product.b, bytes_of(form.format), form.transposes_b};
}

// Calls f(address) for every 16 bytes of shared memory that a product reads.
template <typename F>
void for_each_source(ThreadBlock& block, const Product& product, F f) {
  const WgmmaForm& form = *product.site->product;
  if (!form.a_in_registers) a_of(block, product).for_each_chunk(rows, form.depth(), f);
  b_of(block, product).for_each_chunk(form.columns, form.depth(), f);
}

float element_at(Format format, const std::byte* address) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, address, static_cast<std::size_t>(bytes_of(format)));
  return element_value(format, bits);
}

// Row-major 64 x depth.
std::vector<float> left_of(ThreadBlock& block, const Product& product) {
  const WgmmaForm& form = *product.site->product;
  int depth = form.depth(), per_word = 4 / bytes_of(form.format);
  std::vector<float> left(static_cast<std::size_t>(rows * depth));
  if (!form.a_in_registers) {
    SharedOperand a = a_of(block, product);
    for (int i = 0; i < rows * depth; ++i)
      left[static_cast<std::size_t>(i)] = element_at(form.format, a.at(i / depth, i % depth));
    return left;
  }
  // As in mma: each warp has 16 rows.
  for (int thread = 0; thread < warpgroup_threads; ++thread)
    for (int r = 0; r < 4; ++r)
      for (int e = 0; e < per_word; ++e) {
        int row = thread / 32 * 16 + thread % 32 / 4 + r % 2 * 8;
        int k = (thread % 4 + r / 2 * 4) * per_word + e;
        left[static_cast<std::size_t>(row * depth + k)] = packed_element(
            form.format, product.a_registers[static_cast<std::size_t>(thread * 4 + r)], e);
      }
  return left;
}

// Row-major depth x columns.
std::vector<float> right_of(ThreadBlock& block, const Product& product) {
  const WgmmaForm& form = *product.site->product;
  SharedOperand b = b_of(block, product);
  std::vector<float> right(static_cast<std::size_t>(form.depth() * form.columns));
  for (int n = 0; n < form.columns; ++n)
    for (int k = 0; k < form.depth(); ++k)
      right[static_cast<std::size_t>(k * form.columns + n)] = element_at(form.format, b.at(n, k));
  return right;
}

// The number that a register of a thread stands for.
std::uint32_t resolved(const ProductQueue& queue, int thread, std::uint32_t value) {
  if ((value & token_mask) != token_mark) return value;
  std::uint32_t serial = value >> 8 & serials;
  auto found = std::find_if(queue.products.begin(), queue.products.end(),
                            [&](const Product& p) { return p.serial == serial; });
  if (found == queue.products.end() || !found->is_finished) return value;
  int count = found->site->product->accumulators();
  auto index = static_cast<int>(value & 0xFF);
  return index < count ? found->accumulators[static_cast<std::size_t>(thread * count + index)]
                       : value;
}

// Where accumulator `i` of a thread is in d: pairs of columns, in rows g and g + 8.
int row_of(int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + (i / 2 % 2) * 8; }
int column_of(int thread, int i) { return i / 4 * 8 + thread % 4 * 2 + i % 2; }

template <typename Sum>
void multiply(ThreadBlock& block, const ProductQueue& queue, Product& product) {
  const WgmmaForm& form = *product.site->product;
  int n = form.columns, depth = form.depth(), count = form.accumulators();
  std::vector<float> left = left_of(block, product), right = right_of(block, product);
  std::vector<Sum> sums(static_cast<std::size_t>(rows * n));
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < depth; ++k) {
      Sum factor = static_cast<Sum>(left[static_cast<std::size_t>(row * depth + k)]);
      const float* from = &right[static_cast<std::size_t>(k * n)];
      Sum* to = &sums[static_cast<std::size_t>(row * n)];
      for (int column = 0; column < n; ++column)
        to[column] += factor * static_cast<Sum>(from[column]);
    }
  for (int thread = 0; thread < warpgroup_threads; ++thread)
    for (int i = 0; i < count; ++i) {
      std::uint32_t& place = product.accumulators[static_cast<std::size_t>(thread * count + i)];
      Sum before = product.adds ? std::bit_cast<Sum>(resolved(queue, thread, place)) : Sum{0};
      Sum sum = sums[static_cast<std::size_t>(row_of(thread, i) * n + column_of(thread, i))];
      place = std::bit_cast<std::uint32_t>(static_cast<Sum>(before + sum));
    }
}

void finish(ThreadBlock& block, const ProductQueue& queue, Product& product) {
  if (product.site->product->format == Format::s8)
    multiply<std::int32_t>(block, queue, product);
  else
    multiply<float>(block, queue, product);
  for_each_source(block, product,
                  [&](const std::byte* chunk) { block.shared().end_read(chunk, chunk_bytes); });
  product.is_finished = true;
}

// Collects the operands of 128 threads into one of the products of a call; the descriptors must be
// the same for all threads. The first product takes the accumulators of the call, the others those
// of the product before.
Product product_of(ThreadBlock& block, Lanes lanes, int step, std::uint32_t serial_before) {
  const Call& first = *lanes.front();
  const WgmmaForm& form = *first.site.product;
  auto count = static_cast<std::size_t>(form.accumulators());
  std::size_t a_words = form.a_in_registers ? 4 : 0, each = (a_words ? a_words : 1) + 1;
  std::size_t a_at = count + static_cast<std::size_t>(step) * each, b_at = a_at + each - 1;
  std::size_t scale_at = count + static_cast<std::size_t>(form.steps) * each;
  Product product;
  product.site = &first.site;
  product.a = a_words ? 0 : first.operands[a_at].u64;
  product.b = first.operands[b_at].u64;
  product.adds = step > 0 || first.operands[scale_at].u32 != 0;
  for (const Call* lane : lanes) {
    if (lane->operands[b_at].u64 != product.b ||
        (!a_words && lane->operands[a_at].u64 != product.a) ||
        (step == 0 && (lane->operands[scale_at].u32 != 0) != product.adds))
      block.fault(lane->thread, lane->site,
                  "descriptors and scale must be the same in all threads of a warpgroup");
    for (std::size_t i = 0; i < count; ++i)
      product.accumulators.push_back(step == 0 ? lane->operands[i].u32
                                               : token(serial_before, static_cast<int>(i)));
    for (std::size_t i = 0; i < a_words; ++i)
      product.a_registers.push_back(lane->operands[a_at + i].u32);
  }
  return product;
}

void issue(ThreadBlock& block, Lanes lanes) {
  const Call& first = *lanes.front();
  const WgmmaForm& form = *first.site.product;
  ProductQueue& queue = block.products(first.thread);
  if (!queue.is_fenced)
    block.fault(first.thread, first.site,
                "registers are used without wgmma_fence since the last wgmma_wait");
  for (int step = 0; step < form.steps; ++step) {
    Product product = product_of(block, lanes, step, queue.serial);
    for_each_source(block, product, [&](std::byte* chunk) {
      block.check_shared_place(first, chunk, chunk_bytes, chunk_bytes);
      block.raise_if(block.shared().begin_read(chunk, chunk_bytes, first.thread.number,
                                               first.site.index, block.clocks()),
                     first, AccessMode::read, chunk);
    });
    queue.serial = queue.serial % serials + 1;
    product.serial = queue.serial;
    product.group = queue.committed;
    queue.products.push_back(std::move(product));
  }
  for (const Call* lane : lanes)
    for (int i = 0; i < form.accumulators(); ++i) lane->results[i].u32 = token(queue.serial, i);
}

void wait_for_groups(ThreadBlock& block, Lanes lanes) {
  const Call& first = *lanes.front();
  const WgmmaWait& wait = *first.site.product_wait;
  ProductQueue& queue = block.products(first.thread);
  for (Product& product : queue.products)
    if (!product.is_finished && product.group < queue.committed - wait.groups)
      finish(block, queue, product);
  for (std::size_t l = 0; l < lanes.size(); ++l)
    for (int i = 0; i < wait.accumulators; ++i)
      lanes[l]->results[i].u32 = resolved(queue, static_cast<int>(l), lanes[l]->operands[i].u32);
  while (queue.products.size() > finished_products_kept && queue.products.front().is_finished)
    queue.products.pop_front();
  queue.is_fenced = false;
  // The histories record the first thread for all of them, so it publishes what all have done.
  Clocks::Knowledge knowledge;
  block.clocks().release(first.thread.number, knowledge);
  for (const Call* lane : lanes.subspan(1)) block.clocks().acquire(lane->thread.number, knowledge);
}

}  // namespace

void wgmma_fence(const Call& call) {
  call.block.gather(call, warpgroup_threads, [](ThreadBlock& block, Lanes lanes) {
    block.products(lanes.front()->thread).is_fenced = true;
  });
}

void wgmma_commit(const Call& call) {
  call.block.gather(call, warpgroup_threads, [](ThreadBlock& block, Lanes lanes) {
    ++block.products(lanes.front()->thread).committed;
  });
}

void wgmma(const Call& call) { call.block.gather(call, warpgroup_threads, &issue); }

void wgmma_wait(const Call& call) { call.block.gather(call, warpgroup_threads, &wait_for_groups); }

}  // namespace tilewright::dsl::emulator
