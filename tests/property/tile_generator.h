// Writes the body of one random tile program (random_tile.h) and says what its parameters need.
//
// It draws operations. Those it does not are cluster_reduce, which one GPU alone has, print and
// assert, which give nothing, atomic and inline_asm, and reductions that join bits: kernels of
// words draw the last three (word_programs_test.cpp), as they do all words that are made of
// operations.
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "dsl/ir/builder.h"
#include "runtime/artifact.h"

namespace tilewright {

struct GeneratedParam {
  DType dtype;
  std::int64_t count;
  bool written;
  std::optional<std::int64_t> value;  // of a scalar; random where there is none
};

class TileGenerator {
 public:
  TileGenerator(ir::Function& function, const Grid& grid, std::mt19937_64& random)
      : builder_(function), grid_(grid), random_(random) {}
  void run();
  const std::vector<GeneratedParam>& params() const { return params_; }

 private:
  // A value that operations may use: floating ones are at most `range` in magnitude (where inputs
  // are finite), `exact` ones are the same for every implementation.
  struct Entry {
    ir::Value value;
    bool exact = true;
    double range = 2;
  };

  // By value: types move when values are added.
  ir::Type type(ir::Value value) { return builder_.function().type(value); }
  ir::Type type(const Entry& entry) { return type(entry.value); }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  template <typename T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(static_cast<std::int64_t>(from.size()))];
  }
  // A cache policy that loads and stores have, more often none.
  ir::CachePolicy cache() {
    using ir::CachePolicy;
    return pick({CachePolicy::normal, CachePolicy::normal, CachePolicy::normal,
                 CachePolicy::evict_first, CachePolicy::evict_last, CachePolicy::no_allocate,
                 CachePolicy::cg});
  }
  Entry any() { return pool_[static_cast<std::size_t>(below(std::ssize(pool_)))]; }
  void keep(Entry entry);

  // Building blocks.
  ir::Value append(ir::Op op, std::vector<ir::Value> operands, ir::Immediate immediate = {}) {
    return builder_.append(op, std::move(operands), std::move(immediate));
  }
  ir::Value pointer_param(DType dtype, std::int64_t count, bool written);
  ir::Value size(std::int64_t value);  // i64 scalar: a constant, or a parameter
  ir::Value splat(ir::Value scalar, const Shape& shape);
  ir::Value number(double value, const ir::Type& like);
  ir::Value index_tile(ir::Value base, const Shape& shape);
  ir::Value condition(const Shape& shape);  // a bool tile that differs along the elements
  ir::Value loaded(DType dtype, const Shape& shape, ir::Value start, std::int64_t count);
  Entry like(const Entry& entry);      // of the same type
  Entry floating(bool exact = false);  // any floating entry
  Entry integer();
  Entry fresh(DType dtype, const Shape& shape);
  Entry tamed(Entry entry, double range);
  Shape shape();
  DType dtype();

  static constexpr std::int64_t most = 1 << 11;  // elements of a tile

  // Steps, each of which adds to the pool.
  void step();
  void load_block();
  void unary();
  void binary();
  void ternary();
  void convert();
  void reinterpret();
  void through_float8(const Entry& entry);
  void change_shape();  // tile_shapes.cpp
  void reduce();
  void dot();
  ir::Precision precision(DType operand);
  void loop();
  void branch();
  void blocked_product();
  Entry unary_of(ir::Op op, Entry x);
  Entry binary_of(ir::Op op, Entry a, Entry b);
  Entry mixed(const Entry& a, const Entry& b);  // of one type, no larger than either
  void store_tile(const Entry& entry);
  void store_block(const Entry& entry);

  ir::Builder builder_;
  const Grid& grid_;
  std::mt19937_64& random_;
  std::vector<GeneratedParam> params_;
  std::vector<Entry> pool_;
  ir::Value program_ = 0, row_ = 0, column_ = 0;  // linear program number; its coordinates
};

}  // namespace tilewright
