// Sorts, largest elements, running sums and histograms as a C++ programmer writes them with the
// standard library, rows divided among threads, for tools/peers/ordering.py: reads lines "OPERATION
// ROWS COLUMNS THREADS SECONDS", measures for so many seconds, and writes the median of a call.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::int64_t largest = 8, bins = 256;

struct Data {
  std::int64_t rows, columns;
  std::vector<float> x, y;
  std::vector<std::int64_t> places;
};

void sort_row(Data& d, std::int64_t row) {
  const float* x = d.x.data() + row * d.columns;
  std::int64_t* places = d.places.data() + row * d.columns;
  std::iota(places, places + d.columns, 0);
  std::stable_sort(places, places + d.columns,
                   [&](std::int64_t a, std::int64_t b) { return x[a] < x[b]; });
  for (std::int64_t i = 0; i < d.columns; ++i) d.y[row * d.columns + i] = x[places[i]];
}

void topk_row(Data& d, std::int64_t row) {
  const float* x = d.x.data() + row * d.columns;
  std::vector<std::int64_t> all(d.columns);
  std::iota(all.begin(), all.end(), 0);
  const std::int64_t k = std::min(largest, d.columns);
  std::partial_sort(all.begin(), all.begin() + k, all.end(),
                    [&](std::int64_t a, std::int64_t b) { return x[a] > x[b]; });
  for (std::int64_t i = 0; i < k; ++i) {
    d.places[row * k + i] = all[i];
    d.y[row * k + i] = x[all[i]];
  }
}

void cumsum_row(Data& d, std::int64_t row) {
  const auto begin = d.x.begin() + row * d.columns;
  std::inclusive_scan(begin, begin + d.columns, d.y.begin() + row * d.columns);
}

// A histogram of all elements, each thread in bins of its own.
void histogram(Data& d, int threads) {
  const std::int64_t count = d.rows * d.columns;
  std::vector<std::vector<std::int64_t>> counts(threads, std::vector<std::int64_t>(bins));
  auto part = [&](int thread) {
    std::vector<std::int64_t>& own = counts[thread];
    for (std::int64_t i = count * thread / threads; i < count * (thread + 1) / threads; ++i) {
      const float x = d.x[i];
      if (x >= -4 && x <= 4)
        ++own[std::min<std::int64_t>(static_cast<std::int64_t>((x + 4) * (bins / 8.0F)), bins - 1)];
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(part, i);
  part(0);
  for (std::thread& other : others) other.join();
  for (std::int64_t i = 0; i < bins; ++i) {
    d.y[i] = 0;
    for (const auto& own : counts) d.y[i] += static_cast<float>(own[i]);
  }
}

template <typename F>
void for_rows(Data& d, int threads, F&& row) {
  auto part = [&](int thread) {
    for (std::int64_t i = d.rows * thread / threads; i < d.rows * (thread + 1) / threads; ++i)
      row(d, i);
  };
  threads = static_cast<int>(std::min<std::int64_t>(threads, d.rows));
  std::vector<std::thread> others;
  if (d.rows * d.columns < 32768) threads = 1;  // done before another thread is awake
  for (int i = 1; i < threads; ++i) others.emplace_back(part, i);
  part(0);
  for (std::thread& other : others) other.join();
}

void call(const std::string& operation, Data& d, int threads) {
  if (operation == "sort") return for_rows(d, threads, sort_row);
  if (operation == "topk") return for_rows(d, threads, topk_row);
  if (operation == "cumsum") return for_rows(d, threads, cumsum_row);
  histogram(d, d.rows * d.columns < 32768 ? 1 : threads);
}

}  // namespace

int main() {
  using Clock = std::chrono::steady_clock;
  std::string operation;
  Data d;
  int threads = 1;
  double at_least = 0;
  while (std::cin >> operation >> d.rows >> d.columns >> threads >> at_least) {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    d.x.resize(d.rows * d.columns);
    for (float& x : d.x) x = normal(generator);
    d.y.assign(std::max<std::size_t>(d.x.size(), bins), NAN);
    d.places.assign(d.x.size(), -1);
    std::vector<double> seconds;
    for (double all = 0; all < at_least || seconds.size() < 3;) {
      const auto begin = Clock::now();
      call(operation, d, threads);
      seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
      all += seconds.back();
    }
    std::ranges::nth_element(seconds, seconds.begin() + seconds.size() / 2);
    std::cout << seconds[seconds.size() / 2] << std::endl;
  }
}
