#include "tests/autotune/database/rows.h"

namespace tilewright::autotune {

TuningKey test_key(std::int64_t rows) {
  TuningKey key;
  key.kernel = "rows_gelu";
  key.kernel_hash = Hasher().add("rows_gelu").finish();
  key.problem.set("rows", rows).set("columns", 4096).set("dtype", "f32");
  key.device.set("name", "Some CPU @ 2.00GHz").set("threads", 2).set("features", "+avx2,+fma");
  key.compiler.set("version", "0.1.0").set("llvm", "22.1.0").set("sources", "abc");
  return key;
}

Configuration test_configuration(std::int64_t rows, std::int64_t columns) {
  return Configuration().set("rows", rows).set("columns", columns).set("order", "rows first");
}

Observation ok_observation(std::vector<double> samples_ns, std::int64_t date_ms) {
  Observation o;
  o.samples_ns = std::move(samples_ns);
  o.date_ms = date_ms;
  o.clocks = "mhz=2000";
  o.tool = "0.1.0";
  return with_bounds(o);
}

Observation failed_observation(Status status, std::int64_t date_ms) {
  Observation o;
  o.status = status;
  o.date_ms = date_ms;
  o.reason = "it was so";
  return o;
}

std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t z = state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

Observation random_observation(std::uint64_t& state) {
  std::int64_t date = new_year_ms + static_cast<std::int64_t>(next_random(state) % 4) * 1000;
  std::uint64_t kind = next_random(state) % 8;
  if (kind == 0) return failed_observation(Status::wrong_result, date);
  if (kind == 1) return failed_observation(Status::timed_out, date);
  std::vector<double> samples;
  for (std::uint64_t i = 0; i <= next_random(state) % 3; ++i)
    samples.push_back(100 + static_cast<double>(next_random(state) % 4) / 3);
  Observation o = ok_observation(samples, date);
  o.is_default = next_random(state) % 4 == 0;
  return o;
}

}  // namespace tilewright::autotune
