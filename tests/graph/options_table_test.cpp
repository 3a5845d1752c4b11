// Where the options of compile() hold: every cell of the table in docs/options.md, by what can be
// observed of it. Long because each option has an observation of its own here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "dsl/launch/compile.h"
#include "graph/compile/compile.h"
#include "graph/compile/region.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/custom/custom_op.h"
#include "graph/functions/quantized.h"
#include "graph/functions/random/random.h"
#include "runtime/cpu/parallel.h"
#include "tests/errors.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"
#include "tests/source_folder.h"
#include "tests/tensors.h"

namespace tilewright::options_table_test {
namespace {

namespace fs = std::filesystem;
using Function = std::function<Tensor(const Tensor&)>;

constexpr std::int64_t width = 96;
const char* const gpu = "emulated:sm_90a";

Tensor random(const Shape& shape, std::uint64_t seed) {
  return randn(shape, f32, Generator(seed)) * 0.1;
}
Tensor rows_of(std::int64_t rows) { return random({rows, width}, 7); }
void read(const Tensor& x) { static_cast<void>(amax(x).item<float>()); }

// The function in the situation that a column is about. `body` keeps shapes.
struct Situation {
  std::string name;
  bool is(const char* other) const { return name == other; }

  // `inner` are the options of what is called inside, where that is nested.
  Function function(const Function& body, const Options& inner) const {
    auto bodies = [body](const Tensors& t) { return Tensors{body(t[0])}; };
    if (is("break"))
      return [body](const Tensor& t) {
        read(t.slice(0, 0, 1) * 1.0);
        return body(t);
      };
    if (is("cond"))
      return [bodies](const Tensor& t) {
        const Tensor first = sum(t.slice(0, 0, 1));
        return cond(first * first >= 0.0, bodies, [](const Tensors& x) { return x; }, {t})[0];
      };
    if (is("while"))
      return [body](const Tensor& t) {
        auto turn = [&](const Tensors& s) { return Tensors{body(s[0]), s[1] + 1.0}; };
        return while_loop([](const Tensors& s) { return sum(s[1]) < 2.0; }, turn,
                          {t, zeros({1})})[0];
      };
    if (is("scan"))
      return [body](const Tensor& t) {
        auto turn = [&](const Tensors& s, const Tensors&) -> Turn {
          return {{body(s[0])}, {sum(s[0].slice(0, 0, 1))}};
        };
        return scan(turn, {t}, {}, {.turns = 2}).first[0];
      };
    if (is("region"))
      return [part = region("part", [body](const Tensor& t) { return body(t); })](const Tensor& t) {
        return part(t);
      };
    if (is("nested"))
      return [part = compile([body](const Tensor& t) { return body(t); }, inner)](const Tensor& t) {
        return part(t);
      };
    return body;
  }
  Options options(Options asked) const {
    if (is("nested")) asked = {};
    asked.tell_breaks = false;
    if (is("gpu")) asked.device = Device::parse(gpu);
    return asked;
  }
  // Calls it as the column says.
  Tensor call(const Compiled& function) const {
    Tensor x = rows_of(64);
    if (is("buckets")) mark_dynamic(x, 0, {.buckets = {48, 96, 192}});
    Tensor result = function(x);
    if (is("sizes"))
      for (std::int64_t rows : {80, 96, 64}) result = function(rows_of(rows));
    return result;
  }
  Compiled compiled(const Function& body, const Options& asked) const {
    return compile(function(body, asked), options(asked));
  }
};

// An observation: whether the option holds, and the function that was asked.
struct Finding {
  bool holds;
  CompiledFunction function;
};
struct Row {
  std::string option;  // as the table has it
  std::function<Finding(const Situation&)> look;
};

struct Layer {
  Tensor w = random({width, width}, 3);
  Tensor operator()(const Tensor& t) const { return tanh(matmul(t, w)); }
};

std::int64_t total(const CompiledFunction& function, std::int64_t PlanReport::*fact) {
  std::int64_t sum = 0;
  for (const PlanReport& report : function.report()) sum += report.*fact;
  return sum;
}

Finding freezing(const Situation& at) {
  const Layer layer;
  const Tensor scale = random({width}, 4);
  Compiled f =
      at.compiled([=](const Tensor& t) { return layer(t) * exp(scale); }, {.freezing = true});
  at.call(f);
  const bool computes = total(f, &PlanReport::frozen_values) >= 1;
  return {computes && (at.is("gpu") || total(f, &PlanReport::packed_weights) >= 1), f};
}

// A result is overwritten by the next call; in segments results last.
Finding recorded(const Situation& at) {
  Compiled f = at.compiled(Layer(), {.mode = Mode::reduce_overhead});
  const Tensor first = at.call(f);
  const std::string error = error_of([&] {
    at.call(f);
    first.to_vector<float>();
  });
  const bool is_overwritten = error.find("overwritten") != std::string::npos ||
                              error.find("next call") != std::string::npos;
  return {at.is("break") ? error == "no error" : is_overwritten, f};
}

Finding tuned(const Situation& at, Options options) {
  options.tune_seconds = 0.02;
  Compiled f = at.compiled(Layer(), options);
  at.call(f);
  f.wait_until_tuned();
  at.call(f);
  // Code outside of the bodies is tuned; their programs are not.
  const bool has_body = at.is("cond") || at.is("while") || at.is("scan");
  bool is_tuned = false;
  for (const PlanReport& report : f.report())
    if (!report.sizes_vary) is_tuned |= !report.tuning.empty();
  return {is_tuned && !has_body && !at.is("gpu"), f};
}

Finding whole(const Situation& at) {
  const Layer layer;
  auto breaks = [=](const Tensor& t) {
    Tensor y = layer(t);
    if (Tensor z = y * 1.0; true) read(z);
    return y;
  };
  const Options asked{.fullgraph = true};
  // In a body a break is an Error whatever is asked for.
  const bool has_body = at.is("cond") || at.is("while") || at.is("scan");
  Compiled f = at.compiled(has_body ? Function(layer) : Function(breaks), asked);
  const std::string error = error_of([&] { at.call(f); });
  if (has_body) return {error == "no error" && f.report().size() == 1, f};
  return {error.find("fullgraph") != std::string::npos, f};
}

// A file of the function's choices: a line a region, those of bodies among them.
std::vector<std::string> regions_written(const Situation& at, Options options) {
  ScratchFolder folder;
  const fs::path file = folder.path() / "plan";
  options.write_plan = file.string();
  Compiled f = compile(at.function(Layer(), options), at.options(options));
  at.call(f);
  std::ifstream in(file);
  std::vector<std::string> keys;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    for (std::string word, last; words >> word; last = word)
      if (last == "region") keys.push_back(word);
  }
  return keys;
}

Finding unfused(const Situation& at) {
  const Options asked{.backend = Backend::aot_eager};
  Compiled f = at.compiled(Layer(), asked);
  at.call(f);
  if (at.is("nested")) return {false, f};
  return {regions_written(at, asked).size() > regions_written(at, {}).size(), f};
}

// Products of 10 bits are others than those of 23.
Finding imprecise(const Situation& at) {
  Options asked{.matmul_precision = MatmulPrecision::high};
  const Layer layer;
  Options outer = at.options(asked), exact = at.options({});
  outer.device = exact.device = Device::parse(gpu);
  Compiled f = compile(at.function(layer, asked), outer),
           g = compile(at.function(layer, {}), exact);
  return {at.call(f).to_vector<float>() != at.call(g).to_vector<float>(), f};
}

Finding placed(const Situation& at) {
  Options asked{.device = Device::parse(gpu)};
  Compiled f = at.compiled(Layer(), asked);
  at.call(f);
  bool is_there = true;
  for (const PlanReport& report : f.report())
    if (report.graph_break.empty()) is_there &= report.device == gpu;
  return {is_there, f};
}

// Another size of the same class finds all programs compiled; on a GPU each size has its own.
Finding always(const Situation& at) {
  Compiled f = at.compiled(Layer(), {.dynamic = Dynamic::always});
  at.call(f);
  f(rows_of(72));
  return {f.report()[0].sizes_vary, f};
}

Finding never(const Situation& at) {
  Compiled f = at.compiled(Layer(), {.dynamic = Dynamic::never});
  at.call(f);
  f(rows_of(81));
  bool varies = false;
  for (const PlanReport& report : f.report()) varies |= report.sizes_vary;
  return {!varies || at.is("buckets"), f};
}

// Another size, or where sizes are padded, another rank.
Tensor of_another_signature(const Situation& at) {
  return at.is("buckets") ? rows_of(60).reshape({1, 60, width}) : rows_of(300);
}

Finding limited(const Situation& at) {
  Compiled f =
      at.compiled(Layer(), {.max_signatures = 1, .dynamic = Dynamic::never, .max_sizes = 1});
  const std::string error = error_of([&] {
    at.call(f);
    f(of_another_signature(at));
  });
  // Plans for padded sizes count as sizes: one more takes the place of another.
  if (at.is("buckets")) return {error == "no error" && f.report().size() == 1, f};
  return {error.find("max_signatures") != std::string::npos, f};
}

Finding few_sizes(const Situation& at) {
  Compiled f = at.compiled(Layer(), {.dynamic = Dynamic::always, .max_sizes = 1});
  at.call(f);
  for (std::int64_t rows : {170, 180, 190}) f(rows_of(rows));
  std::int64_t plans = 0;
  for (const PlanReport& report : f.report()) plans += report.segment.empty() ? 1 : 0;
  return {plans == 1, f};
}

Finding past_limit(const Situation& at) {
  Compiled f = at.compiled(Layer(), {.max_signatures = 1,
                                     .dynamic = Dynamic::never,
                                     .max_sizes = 1,
                                     .past_limit = PastLimit::eager});
  const std::string error = error_of([&] {
    at.call(f);
    f(of_another_signature(at));
  });
  std::int64_t plans = 0;
  for (const PlanReport& report : f.report()) plans += report.segment.empty() ? 1 : 0;
  return {error == "no error" && plans == 1, f};
}

Finding verified(const Situation& at) {
  auto number = std::make_shared<double>(1);
  const Layer layer;
  Compiled f =
      at.compiled([=](const Tensor& t) { return layer(t) * *number; }, {.verify_capture = 1});
  const float before = at.call(f).to_vector<float>()[0];
  *number = 2;
  float after = 0;
  const std::string error = error_of([&] { after = at.call(f).to_vector<float>()[0]; });
  if (at.is("break")) return {std::abs(after - 2 * before) < 1e-6F, f};
  return {error.find("verify_capture") != std::string::npos, f};
}

// Values of two layers, whose columns are added up, so that no program has all of it.
Finding less_saved(const Situation& at) {
  auto loss = [layer = Layer()](const Tensor& t) {
    auto waves = [&](const Tensor& x) {
      const Tensor h = layer(x), y = h / (1.0 + sum(h * h, {0}, true));
      return sin(y) * exp(cos(y));
    };
    return sum(waves(waves(t)));
  };
  Compiled f = at.compiled([=](const Tensor& t) { return grad(loss)(t); }, {.saved_share = 0.3});
  at.call(f);
  bool is_again = false;
  for (const PlanReport& report : f.report()) is_again |= !report.saving.again.empty();
  return {is_again, f};
}

Finding little_memory(const Situation& at) {
  Compiled f = at.compiled(Layer(), {.memory_limit = 64});
  const std::string error = error_of([&] { at.call(f); });
  return {error.find("memory_limit") != std::string::npos, f};
}

// A gradient of the body, by a rule that is wrong.
Finding compared(const Situation& at) {
  const CustomOp wrong = custom_op(
      "wrong_square", [](std::span<const TensorType> x) { return std::vector<TensorType>{x[0]}; },
      GraphFunction([](std::span<const Tensor> x) { return Tensors{x[0] * x[0]}; }),
      {.derivative = [](std::span<const Tensor> x, std::span<const Tensor>,
                        std::span<const Tensor> g) { return Tensors{g[0] * x[0]}; }});
  auto loss = [=, layer = Layer()](const Tensor& t) { return sum(wrong(layer(t))); };
  Compiled f = at.compiled([=](const Tensor& t) { return grad(loss)(t); }, {.verify_gradients = 1});
  const std::string error = error_of([&] { at.call(f); });
  return {error.find("verify_gradients") != std::string::npos, f};
}

Finding nan_found(const Situation& at) {
  const Layer layer;
  Compiled f = at.compiled([=](const Tensor& t) { return log(square(layer(t)) * -1.0 - 1.0); },
                           {.detect_nan = true});
  const std::string error = error_of([&] { at.call(f); });
  return {error.find("detect_nan") != std::string::npos, f};
}

// The index is computed, so that nobody can look at it before the call.
Finding checked(const Situation& at) {
  const Tensor table = random({8, width}, 5);
  Compiled f = at.compiled(
      [=](const Tensor& t) {
        Tensor ids = (t.slice(1, 0, 1).reshape({-1}) * 0.0 + 100.0).to(i64);
        return t + embedding(ids, table);
      },
      {.index_checks = IndexChecks::all});
  const std::string error = error_of([&] { at.call(f); });
  return {error.find("100") != std::string::npos, f};
}

// The choices of another function are no choices of this one.
Finding locked(const Situation& at) {
  ScratchFolder folder;
  const std::string file = (folder.path() / "plan").string();
  const Layer layer;
  auto other = [=](const Tensor& t) { return exp(matmul(t, layer.w)); };
  Situation inside = at;
  if (at.is("nested")) inside.name = "plain";
  Compiled writes = compile(inside.function(layer, {}), inside.options({.write_plan = file}));
  inside.call(writes);
  const Options asked{.locked_plan = file};
  Compiled same = at.compiled(layer, asked), f = at.compiled(other, asked);
  const std::string error = error_of([&] { at.call(same); });
  EXPECT_EQ(error, "no error") << at.name;
  return {error_of([&] { at.call(f); }) != "no error", f};
}

// A sum into few places, which as many copies of them share as there are threads.
Finding same_on_any_threads(const Situation& at) {
  auto body = [layer = Layer()](const Tensor& t) {
    const Tensor numbers = arange(0, 1 << 15);
    const Tensor values = sin(numbers.to(f32) * 1.7) * t.slice(0, 0, 1).slice(1, 0, 1).reshape({1});
    return layer(t) + zeros({1}, f32).index_add(0, numbers * 0, values);
  };
  std::vector<std::vector<float>> results;
  std::optional<Compiled> last;
  const int before = thread_count();
  for (int threads : {1, 3}) {
    set_thread_count(threads);
    last = at.compiled(body, {.planned_threads = 3});
    results.push_back(at.call(*last).to_vector<float>());
  }
  set_thread_count(before);
  return {results[0] == results[1], *last};
}

// The first row has the bits that it has alone beside four others, by a weight whose scales are
// otherwise multiplied in another order.
Finding invariant(const Situation& at) {
  auto rows_by_weight = [weight = quantize(random({width, width}, 3))](std::int64_t count) {
    return [=](const Tensor& t) {
      return t.index_add(0, arange(0, count), quantized_linear(t.slice(0, 0, count), weight));
    };
  };
  const Options asked{.batch_invariant = true};
  Compiled one = at.compiled(rows_by_weight(1), asked), f = at.compiled(rows_by_weight(5), asked);
  auto first_row = [&](const Compiled& g) { return at.call(g).slice(0, 0, 1).to_vector<float>(); };
  return {first_row(one) == first_row(f), f};
}

// Quick code, until there is full code with the same bits. (Of a function like no other, since
// kernels are shared, and without the folder, where an earlier run left full code.) On a GPU
// nothing runs code of the host, and products in tiles of AMX have full code at once: the function
// has none.
Finding quick(const Situation& at) {
  const Setting nothing_kept("TILEWRIGHT_CACHE_DIR", "off");
  static double number = 0.5;
  number += 0.001;
  auto body = [factor = number](const Tensor& t) { return tanh(t) * factor; };
  const std::int64_t before = dsl::compile_statistics().quick;
  Compiled f = at.compiled(body, {.first_code = FirstCode::quick});
  const std::vector<float> first = at.call(f).to_vector<float>();
  const bool is_quick = at.is("gpu") || dsl::compile_statistics().quick > before;
  finish_compiling();
  EXPECT_EQ(at.call(f).to_vector<float>(), first) << at.name;
  return {is_quick, f};
}

const std::vector<Row> rows = {
    {"`freezing`", freezing},
    {"`mode`: reduce-overhead", recorded},
    {"`mode`: max-autotune",
     [](const Situation& at) { return tuned(at, {.mode = Mode::max_autotune}); }},
    {"`tune_in_background`",
     [](const Situation& at) { return tuned(at, {.tune_in_background = true}); }},
    {"`fullgraph`", whole},
    {"`backend`: aot_eager", unfused},
    {"`matmul_precision`: high", imprecise},
    {"`first_code`: quick", quick},
    {"`planned_threads`", same_on_any_threads},
    {"`batch_invariant`", invariant},
    {"`device`", placed},
    {"`dynamic`: always", always},
    {"`dynamic`: never", never},
    {"`max_signatures`", limited},
    {"`max_sizes`", few_sizes},
    {"`past_limit`: eager", past_limit},
    {"`verify_capture`", verified},
    {"`verify_gradients`", compared},
    {"`detect_nan`", nan_found},
    {"`index_checks`: all", checked},
    {"`saved_share`", less_saved},
    {"`memory_limit`", little_memory},
    {"`locked_plan`", locked},
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const std::size_t begin = cell.find_first_not_of(' '), end = cell.find_last_not_of(' ');
    cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
  }
  return cells;
}

// The table of the page: its columns, and the cells of each option.
struct Table {
  std::vector<std::string> columns;
  std::map<std::string, std::vector<std::string>> rows;
};
Table table_of_page() {
  std::ifstream in(fs::path(source_folder()) / "docs/options.md");
  Table table;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("|") || line.starts_with("|-")) continue;
    std::vector<std::string> cells = cells_of(line);
    const std::string first = cells[0];
    cells.erase(cells.begin());
    if (table.columns.empty())
      table.columns = cells;
    else
      table.rows[first] = cells;
  }
  return table;
}

std::string word_of(const std::string& option) { return option.substr(1, option.find('`', 1) - 1); }

// "holds", or "warns" where explain(), report() and stderr say that it does not; else what is
// wrong.
std::string outcome(const Row& row, const Situation& at) {
  testing::internal::CaptureStderr();
  const Finding found = row.look(at);
  const std::string told = testing::internal::GetCapturedStderr();
  const std::string line = "Options::" + word_of(row.option) + " does not hold";
  bool is_reported = false;
  for (const PlanReport& report : found.function.report())
    for (const UnkeptOption& unkept : report.unkept)
      is_reported |= unkept.option == word_of(row.option);
  const bool is_explained = found.function.explain().find(line) != std::string::npos;
  const bool is_told = told.find(line) != std::string::npos;
  if (found.holds) return is_reported || is_told ? "holds, and warns: " + told : "holds";
  if (is_reported && is_explained && is_told) return "warns";
  return "does not hold, and says so" + std::string(is_reported ? " in report()" : "") +
         (is_explained ? " in explain()" : "") + (is_told ? " on stderr" : "") + "; " + told;
}

class OptionsTable : public testing::TestWithParam<std::size_t> {};

// Cells are about the host, but for those of the column that names a GPU.
bool is_on_host() { return default_device() == Device::cpu(); }

TEST_P(OptionsTable, IsWhatHolds) {
  if (!is_on_host()) GTEST_SKIP() << "only the host has these cells";
  const Row& row = rows[GetParam()];
  const Table table = table_of_page();
  const auto cells = table.rows.find(row.option);
  ASSERT_NE(cells, table.rows.end()) << row.option;
  ASSERT_EQ(cells->second.size(), table.columns.size());
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    EXPECT_EQ(outcome(row, {table.columns[i]}), cells->second[i])
        << row.option << " x " << table.columns[i];
}

INSTANTIATE_TEST_SUITE_P(All, OptionsTable, testing::Range(std::size_t{0}, rows.size()));

TEST(OptionsTablePage, HasTheOptionsThatAreTested) {
  const Table table = table_of_page();
  EXPECT_EQ(table.rows.size(), rows.size());
  EXPECT_GE(table.columns.size() * table.rows.size(), 60U);
}

TEST(UnkeptOptions, AreToldOnceAndNotWhereAskedNotTo) {
  if (!is_on_host()) GTEST_SKIP() << "only the host has packed weights";
  const Tensor w = random({3, width, width}, 8), x = rows_of(64);
  const Function function = [=](const Tensor& t) {
    auto turn = [](const Tensors& s, const Tensors& each) -> Turn {
      return {{tanh(matmul(s[0], each[0]))}, {}};
    };
    return scan(turn, {t}, {w}).first[0];
  };
  for (bool tells : {true, false}) {
    Compiled f = compile(function, {.tell_unkept = tells, .freezing = true});
    testing::internal::CaptureStderr();
    f(x);
    f(rows_of(80));
    f(rows_of(96));
    const std::string told = testing::internal::GetCapturedStderr();
    const std::string line =
        "Options::freezing does not hold: weights of shape 3x96x96 that the "
        "scan at options_table_test.cpp:";
    EXPECT_EQ(told.find(line) != std::string::npos, tells) << told;
    EXPECT_EQ(told.find(line), told.rfind(line));
    EXPECT_THAT(f.explain(), testing::HasSubstr(line));
    EXPECT_THAT(error_of([&] { expect_near(f(x), function(x)); }), "no error");
  }
}

}  // namespace
}  // namespace tilewright::options_table_test
