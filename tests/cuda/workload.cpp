#include "tests/cuda/workload.h"

#include <gmock/gmock.h>

#include "runtime/base/half.h"
#include "runtime/cuda/driver/driver.h"
#include "runtime/cuda/staging.h"
#include "tests/cuda/programs.h"

namespace tilewright::cuda {

using testing::Each;

namespace {

// Programs of 128 elements each.
Grid blocks_for(int count) { return {(count + 127) / 128}; }

}  // namespace

std::vector<Argument> scale_arguments(const Taken& x, const Taken& y, int count, float factor) {
  return {x.argument(), y.argument(), {.integer = count}, {.single = factor}};
}

Workload::Workload()
    : scale_(artifact_of(scale_program())),
      product_(artifact_of(product_program())),
      pair_(artifact_of(pair_program())) {}

void Workload::run() const {
  Context& gpu = context(0);
  run_product(gpu);
  run_pairs(gpu);
  run_across_streams(gpu);
  run_graph(gpu);
  run_large_copies(gpu);
  if (device_count() > 1) run_across_gpus(gpu, context(1));
}

// A row of ones times rows that are all their number is their sum.
void Workload::run_product(Context& gpu) const {
  MemoryOwner owner("products");
  constexpr std::size_t size = 256;
  std::vector<BFloat16> a(size * size, BFloat16(1)), b(size * size);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = BFloat16(static_cast<float>(i % 3));
  Taken da(gpu, a), db(gpu, b), dc(gpu, std::int64_t{size * size * 4});
  Argument arguments[] = {da.argument(), db.argument(), dc.argument()};
  launch(gpu, *product_, {2, 2, 1}, arguments);
  std::vector<float> c = dc.floats(size * size);
  for (std::size_t i = 0; i < c.size(); ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < size; ++k) sum += static_cast<float>((k * size + i % size) % 3);
    if (c[i] != sum) FAIL() << "element " << i << " is " << c[i] << " instead of " << sum;
    if (i == 2 * size) break;  // the rows are alike
  }
}

void Workload::run_pairs(Context& gpu) const {
  std::vector<float> values(512, 1);
  std::fill_n(values.begin(), 128, 10.0F);
  Taken x(gpu, values), y(gpu, std::int64_t{512 * 4});
  Argument arguments[] = {x.argument(), y.argument()};
  std::vector<PreparedLaunch> launches;
  launches.emplace_back(gpu, *pair_, Grid(4));
  launches[0].set_arguments(arguments);
  KernelGraph graph(gpu, launches);
  for (bool as_graph : {false, true}) {
    if (as_graph)
      graph.start();
    else
      launches[0].start();
    std::vector<float> sums = y.floats(512);
    for (std::size_t i = 0; i < 512; ++i) ASSERT_EQ(sums[i], i < 256 ? 11 : 2) << i;
    gpu.fill(y.data(), 0, 512 * 4);
  }
}

void Workload::run_across_streams(Context& gpu) const {
  MemoryOwner owner("streams");
  constexpr int count = 300;
  Taken x(gpu, std::vector<float>(count, 2)), y(gpu, std::int64_t{count * 4});
  Event begin(gpu), end(gpu);
  begin.record();
  launch(gpu, *scale_, blocks_for(count), scale_arguments(x, y, count, 3).data());
  end.record();
  {
    Stream other(gpu);
    StreamScope scope(gpu, other.handle());
    Taken z(gpu, std::int64_t{count * 4});
    end.make_stream_wait();
    launch(gpu, *scale_, blocks_for(count), scale_arguments(y, z, count, 10).data());
    EXPECT_THAT(z.floats(count), Each(71));
  }
  EXPECT_GT(end.seconds_since(begin), 0);
  gpu.fill(y.data(), 0, count * 4);
  gpu.copy(x.data(), y.data(), count * 4);
  EXPECT_THAT(x.floats(count), Each(0));
  gpu.synchronize();
}

void Workload::run_graph(Context& gpu) const {
  MemoryOwner owner("graphs");
  constexpr int count = 128;
  Taken x(gpu, std::vector<float>(count, 1)), y(gpu, std::int64_t{count * 4}),
      large(gpu, std::int64_t{17} << 20);
  std::vector<PreparedLaunch> launches;
  for (const auto& arguments : {scale_arguments(x, y, count, 2), scale_arguments(y, x, count, 3)}) {
    launches.emplace_back(gpu, *scale_, blocks_for(count));
    launches.back().set_arguments(arguments.data());
  }
  KernelGraph graph(gpu, launches);
  graph.start();
  EXPECT_THAT(x.floats(count), Each(10));  // (1 * 2 + 1) * 3 + 1
  launches[0].set_arguments(scale_arguments(x, y, count, 0).data());
  graph.update(0);
  graph.start();
  EXPECT_THAT(x.floats(count), Each(4));
  // The same rounds, several of them as one graph, whose nodes change all together.
  KernelGraph rounds(gpu, launches, 3);
  rounds.start();
  EXPECT_THAT(x.floats(count), Each(4));
  launches[0].set_arguments(scale_arguments(x, y, count, 1).data());
  rounds.update(0);
  rounds.start();
  EXPECT_THAT(x.floats(count), Each(160));  // three times (x + 1) * 3 + 1
}

// Through the large ring, from the first half to the second and back.
void Workload::run_large_copies(Context& gpu) const {
  std::vector<float> values(StagingRing::large_half / 4 + 17);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 251);
  Taken x(gpu, values);
  EXPECT_TRUE(x.floats(values.size()) == values);
}

// Results that the first GPU has not computed yet go to the second and come back changed.
void Workload::run_across_gpus(Context& gpu, Context& other) const {
  constexpr int count = 128;
  Taken x(gpu, std::vector<float>(count, 2)), y(gpu, std::int64_t{count * 4}),
      there(other, std::int64_t{count * 4}), result(other, std::int64_t{count * 4});
  auto send = [](Context& to, const Taken& target, Context& from, const Taken& source) {
    if (to.copy_from(target.data(), from, source.data(), count * 4)) return;
    std::vector<float> between = source.floats(count);
    to.copy_from_host(target.data(), between.data(), count * 4);
  };
  launch(gpu, *scale_, blocks_for(count), scale_arguments(x, y, count, 3).data());
  send(other, there, gpu, y);
  launch(gpu, *scale_, blocks_for(count), scale_arguments(x, y, count, 100).data());
  launch(other, *scale_, blocks_for(count), scale_arguments(there, result, count, 10).data());
  send(gpu, x, other, result);
  EXPECT_THAT(x.floats(count), Each(71));
  EXPECT_THAT(y.floats(count), Each(201));
}

}  // namespace tilewright::cuda
