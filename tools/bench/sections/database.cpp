// The section database: what a look-up among a million rows of tuning costs, and a merge of two
// such databases. The promise is 50 us and 30 s.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "autotune/database/exchange.h"
#include "models/layers/random.h"
#include "runtime/base/error.h"
#include "tools/bench/device_clock.h"
#include "tools/bench/section.h"
#include "tools/console/temporary_folder.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {
namespace {

using namespace autotune;

constexpr std::int64_t configurations = 50;  // of each key

TuningKey key_of(std::int64_t rows) {
  TuningKey key;
  key.kernel = "rows_gelu";
  key.kernel_hash = Hash{1, 2};
  key.problem = Record().set("rows", rows).set("columns", std::int64_t{4096}).set("dtype", "f32");
  key.device = Record().set("name", "bench");
  key.compiler = Record().set("version", "bench");
  return key;
}

void fill(TuningDatabase& database, std::int64_t first, std::int64_t keys, double ns) {
  constexpr std::int64_t date_ms = 1'767'225'600'000;  // 2026-01-01
  std::vector<TuningRow> rows;
  for (std::int64_t key = first; key < first + keys; ++key) {
    for (std::int64_t i = 1; i <= configurations; ++i) {
      double least = ns + static_cast<double>(i);
      Observation seen{.date_ms = date_ms, .samples_ns = {least, least + 0.5, least + 1}};
      rows.emplace_back(key_of(key), autotune::Configuration().set("rows", i), seen);
    }
    if (rows.size() < 20'000 && key + 1 < first + keys) continue;
    require(database.store(std::exchange(rows, {})), "[bench] the rows were not kept");
  }
}

}  // namespace

void bench_database(BenchLog& log) {
  const BenchSettings& settings = log.settings();
  const std::int64_t keys = settings.tiny ? 20 : 20'000;
  const TemporaryFolder folder("bench", std::filesystem::temp_directory_path() / "tilewright_");
  TuningDatabase one(folder.path() / "one.db"), other(folder.path() / "other.db");
  bool is_filled = false;
  auto fill_both = [&] {
    if (std::exchange(is_filled, true)) return;
    fill(one, 1, keys, 1000);
    fill(other, keys / 2, keys, 500);
  };
  log.run(fmt::format("look-up among {} rows", keys * configurations), [&] {
    fill_both();
    RandomStream random(1);
    std::vector<double> seconds;
    for (int i = 0; i < (settings.tiny ? 20 : 20'000); ++i) {
      TuningKey key =
          key_of(1 + static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(keys)));
      double start = now_s();
      Lookup found = one.lookup(key);
      seconds.push_back(now_s() - start);
      require(found.best.has_value(), "[bench] a row was not found");
    }
    std::ranges::sort(seconds);
    Timing time = timing_of(seconds);
    return nlohmann::json{{"seconds", time.median},
                          {"least", time.least},
                          {"p90", time.p90},
                          {"p99", seconds[seconds.size() * 99 / 100]}};
  });
  log.run(fmt::format("merge of twice {} rows", keys * configurations), [&] {
    fill_both();
    double start = now_s();
    MergeReport report = merge(other, one);
    double seconds = now_s() - start;
    require(report.is_complete && report.read == keys * configurations, "[bench] rows were lost");
    return nlohmann::json{{"seconds", seconds},
                          {"rate", static_cast<double>(report.read) / seconds},
                          {"unit", "rows/s"}};
  });
}

}  // namespace tilewright::tools
