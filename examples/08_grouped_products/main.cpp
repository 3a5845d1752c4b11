// Lesson 8, grouped products. You learn to give one launch work of different sizes, as the experts
// of a mixture have it: a table in memory says where each matrix lies and how large it is, and a
// program looks up there what it is to do. A launch for each product would leave cores without
// work, and would cost more than a small product does.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=<prefix> && cmake --build build &&
//   build/grouped_products
#include <tilewright/tilewright.h>
#include <iostream>
#include <string>
#include <vector>

namespace tw = tilewright;
using namespace tilewright::dsl;

namespace {

// A row of the table: the number of the group's first program, its sizes, and where its matrices
// begin in the memory of all.
struct Group {
  std::int64_t first, m, n, k, a, b, c;
};
constexpr std::int64_t columns_of_table = sizeof(Group) / sizeof(std::int64_t);

void multiply(Pointer table, Pointer a, Pointer b, Pointer c, Scalar groups, Constexpr most,
              Constexpr bm, Constexpr bn, Constexpr bk) {
  // The program's group is the last that begins at it or before; no loop is needed to find it.
  Tile id = program_id(0), lane = cast(arange(0, most), tw::i64);
  Tile begins_before = lane < groups && load(table + lane * columns_of_table, lane < groups) <= id;
  Tile group = sum(cast(begins_before, tw::i64), 0) - 1;
  auto entry = [&](int column) { return load(table + group * columns_of_table + column); };
  Tile m = entry(1), n = entry(2), k = entry(3);

  Tile within = id - entry(0), across = cdiv(n, bn);
  Tile row = within / across * bm, column = within % across * bn;
  Desc left = make_desc(a + entry(4), {m, k}, {k, 1});
  Desc right = make_desc(b + entry(5), {k, n}, {n, 1});
  Var total = zeros({bm, bn}, tw::f32);
  for (Tile i : range(0, k, bk))
    total = dot(load(left, {row, i}, {bm, bk}), load(right, {i, column}, {bk, bn}), total);
  store(make_desc(c + entry(6), {m, n}, {n, 1}), {row, column}, total);
}

const Kernel grouped("grouped_products", multiply,
                     {"table", "a", "b", "c", "groups", "most", "bm", "bn", "bk"});

// Matrices of one kind lie behind each other.
struct Products {
  std::vector<Group> groups;
  tw::Tensor a, b, c;
  std::int64_t programs, block;
};

Products laid_out(const std::vector<tw::Tensor>& a, const std::vector<tw::Tensor>& b,
                  std::int64_t block) {
  std::vector<Group> groups;
  std::vector<tw::Tensor> flat_a, flat_b;
  Group next{};
  for (std::size_t i = 0; i < a.size(); ++i) {
    next.m = a[i].size(0), next.n = b[i].size(1), next.k = a[i].size(1);
    groups.push_back(next);
    next.first += cdiv(next.m, block) * cdiv(next.n, block);
    next.a += next.m * next.k, next.b += next.k * next.n, next.c += next.m * next.n;
    flat_a.push_back(a[i].reshape({-1}));
    flat_b.push_back(b[i].reshape({-1}));
  }
  return {groups, tw::cat(flat_a, 0), tw::cat(flat_b, 0), tw::zeros({next.c}), next.first, block};
}

void multiply_all(const Products& all) {
  const auto* numbers = reinterpret_cast<const std::int64_t*>(all.groups.data());
  grouped.launch(all.programs, std::span(numbers, all.groups.size() * columns_of_table), all.a,
                 all.b, all.c, all.groups.size(), 64, all.block, all.block, 32);
}

}  // namespace

int main() {
  // Tokens of six experts, one of which got none.
  const std::int64_t inner = 40, outer = 50;
  tw::Generator generator(1);
  std::vector<tw::Tensor> a, b;
  for (std::int64_t tokens : {70, 3, 0, 33, 1, 96}) {
    a.push_back(tw::randn({tokens, inner}, tw::f32, generator));
    b.push_back(tw::randn({inner, outer}, tw::f32, generator));
  }
  bool fits = true;
  const Products all = laid_out(a, b, 32);
  multiply_all(all);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Group& group = all.groups[i];
    tw::Tensor c = all.c.slice(0, group.c, group.c + group.m * group.n);
    tw::Tensor error = tw::abs(c.reshape({group.m, group.n}) - tw::matmul(a[i], b[i]));
    bool is_right = tw::all(error < 1e-4).item<bool>();
    std::cout << group.m << " rows, " << cdiv(group.m, 32) * cdiv(group.n, 32)
              << " programs: " << (is_right ? "right" : "wrong") << '\n';
    fits = fits && is_right;
  }

  // A figure, which differs from run to run: the speed beside that of what compile() makes, which
  // is a launch for each product.
  if (tw::default_device() == tw::Device::cpu()) {
    std::vector<tw::Tensor> c, d;
    for (std::int64_t tokens = 1; tokens <= 48; ++tokens) {
      c.push_back(tw::randn({tokens, 128}, tw::f32, generator));
      d.push_back(tw::randn({128, 128}, tw::f32, generator));
    }
    auto compiled =
        tw::compile([](const std::vector<tw::Tensor>& x, const std::vector<tw::Tensor>& y) {
          std::vector<tw::Tensor> all;
          for (std::size_t i = 0; i < x.size(); ++i) all.push_back(tw::matmul(x[i], y[i]));
          return all;
        });
    const Products large = laid_out(c, d, 64);
    std::vector<double> seconds =
        tw::autotune::interleaved_medians({[&] { multiply_all(large); }, [&] { compiled(c, d); }});
    std::cerr << "speed beside compile()'s: " << seconds[1] / seconds[0] << '\n';
  }
  return fits ? 0 : 1;
}
