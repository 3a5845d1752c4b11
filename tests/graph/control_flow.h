// Functions whose control flow depends on data, as people write them, for tests of graph breaks:
// each gives a tensor and notes what it does besides in a log.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/tensors.h"

namespace tilewright::control_flow {

using Log = std::vector<double>;
// A function of a square matrix of f32.
using Function = std::function<Tensor(const Tensor&, Log&)>;

struct Case {
  std::string name;
  std::function<Function()> make;  // with state of its own
};

inline float total(const Tensor& x) { return sum(x).item<float>(); }
inline Tensor size_of(const Tensor& x) { return sqrt(mean(square(x))); }
inline Tensor row_of(const Tensor& x, std::int64_t row) { return x.select(0, row % x.size(0)); }

inline Tensor branch(const Tensor& x, Log& log) {
  Tensor y = tanh(x * 2 + 0.5);
  log.push_back(1);
  return total(y) > 0 ? exp(y) * 3 - x : sigmoid(y) + x * 0.25;
}

inline Tensor early_exit(const Tensor& x, Log& log) {
  Tensor h = x;
  for (int layer = 0; layer < 6; ++layer) {
    h = tanh(h * 0.5 + x * 0.1) * 0.9;
    float size = size_of(h).item<float>();
    log.push_back(size);
    if (size < 0.1F) return h * 2;
  }
  return h;
}

inline Tensor fixed_point(const Tensor& x, Log& log) {
  Tensor y = x;
  for (;;) {
    Tensor next = tanh(y * 0.5 + x * 0.25) * 0.8;
    float change = amax(abs(next - y)).item<float>();
    log.push_back(change);
    y = next;
    if (change < 1e-3F) return y;
  }
}

inline Tensor newton_root(const Tensor& x, Log& log) {
  Tensor a = square(x) + 0.5, root = a;
  float error = 1;
  while (error > 1e-4F) {
    root = (root + a / root) * 0.5;
    error = amax(abs(square(root) - a)).item<float>();
    log.push_back(1);
  }
  return root;
}

inline Tensor power_iteration(const Tensor& x, Log& log) {
  Tensor v = full({x.size(1), 1}, 1.0), m = abs(x) + 0.1;
  float before = 0, now = 1;
  while (std::abs(now - before) > 1e-3F * now) {
    before = now;
    Tensor w = matmul(m, v);
    Tensor length = sqrt(sum(square(w)));
    v = w / length;
    now = length.item<float>();
    log.push_back(now);
  }
  return v;
}

// Which row comes next is read from the data.
inline Tensor greedy_walk(const Tensor& x, Log& log) {
  Tensor state = softmax(row_of(x, 0), 0);
  for (int step = 0; step < 5; ++step) {
    std::int64_t at = argmax(state).item<std::int64_t>();
    log.push_back(static_cast<double>(at));
    state = softmax(state * 0.5 + row_of(x, at + step), 0);
  }
  return state;
}

// Two hypotheses, of which the better one is extended.
inline Tensor beam(const Tensor& x, Log& log) {
  std::vector<Tensor> beams = {row_of(x, 0), row_of(x, 1)};
  for (int step = 2; step < 6; ++step) {
    float a = total(beams[0] * row_of(x, step)), b = total(beams[1] * row_of(x, step));
    std::size_t best = a >= b ? 0 : 1;
    log.push_back(best == 0 ? a : b);
    Tensor grown = tanh(beams[best] + row_of(x, step)) * 0.7;
    beams = {grown, beams[1 - best] * 0.5};
  }
  return cat({beams[0], beams[1]}, 0);
}

inline Tensor logged_layers(const Tensor& x, Log& log) {
  Tensor h = x;
  for (int layer = 0; layer < 4; ++layer) {
    h = relu(h * 1.25 - 0.05) + x * 0.5;
    log.push_back(mean(h).item<float>());
  }
  return h - amax(h);
}

inline Tensor accumulate_until(const Tensor& x, Log& log) {
  Tensor sum_of = zeros(x.shape());
  for (int i = 1; total(sum_of) < 3 && i < 20; ++i) {
    sum_of = sum_of + abs(x) * i * 0.01;
    log.push_back(i);
  }
  return sum_of;
}

// A number that was read scales what follows.
inline Tensor clip_by_norm(const Tensor& x, Log& log) {
  Tensor gradient = x * 3 + 0.125;
  float norm = sqrt(sum(square(gradient))).item<float>();
  log.push_back(norm);
  if (norm > 1) gradient = gradient * (1 / norm);
  return gradient - x * 0.01;
}

inline Tensor line_search(const Tensor& x, Log& log) {
  auto loss = [&](const Tensor& w) { return mean(square(tanh(w) - 0.5)); };
  Tensor direction = (tanh(x) - 0.5) * 4;
  float before = loss(x).item<float>();
  for (double rate = 8; rate > 1e-3; rate *= 0.5) {
    Tensor moved = x - direction * rate;
    float now = loss(moved).item<float>();
    log.push_back(now);
    if (now < before) return moved;
  }
  return x;
}

inline Tensor experts(const Tensor& x, Log& log) {
  Tensor scores = sum(x, {0}).reshape({x.size(1)});
  std::int64_t expert = argmax(scores).item<std::int64_t>() % 3;
  log.push_back(static_cast<double>(expert));
  switch (expert) {
    case 0: return gelu(x * 0.5 + 1) - 0.25;
    case 1: return silu(x - 1) * 2 + x;
    default: return exp(-square(x)) * sigmoid(x);
  }
}

// Assigns a tensor that outlives it.
inline Function running_state() {
  auto state = std::make_shared<Tensor>();
  return [state](const Tensor& x, Log& log) {
    *state = state->defined() ? *state * 0.5 + x : x * 2;
    float size = size_of(*state).item<float>();
    log.push_back(size);
    if (size > 0.3F) *state = *state / size;
    return *state + 1;
  };
}

inline Function written_state() {
  auto state = std::make_shared<Tensor>(), count = std::make_shared<Tensor>(zeros({1}).clone());
  return [state, count](const Tensor& x, Log& log) {
    if (!state->defined()) *state = zeros(x.shape()).clone();
    state->copy_from(*state * 0.75 + x * 0.5);
    count->copy_from(*count + 1);
    log.push_back(count->item<float>());
    if (size_of(*state).item<float>() > 0.2F) state->copy_from(*state * 0.5 - 0.01);
    return *state * 2;
  };
}

inline Tensor chosen_rows(const Tensor& x, Log& log) {
  std::vector<float> means = mean(x, {1}).to_vector<float>();
  std::vector<Tensor> rows = {row_of(x, 0)};
  for (std::size_t i = 0; i < means.size() && rows.size() < 4; ++i)
    if (means[i] > 0) rows.push_back(tanh(row_of(x, static_cast<std::int64_t>(i))) * 2);
  log.push_back(static_cast<double>(rows.size()));
  return cat(rows, 0);
}

inline Tensor recovers(const Tensor& x, Log& log) {
  Tensor y = log_softmax(x * 4, 1);
  try {
    float least = amin(y).item<float>();
    log.push_back(least);
    if (least < -5) throw std::runtime_error("too small");
    return y * 0.5 + 1;
  } catch (const std::runtime_error&) {
    log.push_back(-1);
    return maximum(y, -5) + x * 0.5;
  }
}

// Writes into a row of what it has computed, through a view.
inline Tensor written_views(const Tensor& x, Log& log) {
  Tensor table = x * 2 + 1, first = table.select(0, 0);
  log.push_back(total(first));
  first.copy_from(first * 0.5 - 1);
  Tensor sums = sum(table, {1}, true);
  float after = total(first);
  log.push_back(after);
  return table + sums * (after > 0 ? 0.5 : 0.25);
}

inline Tensor nested_loops(const Tensor& x, Log& log) {
  Tensor y = x;
  while (amax(abs(y)).item<float>() > 0.05F) {
    for (int i = 0; i < 3; ++i) y = sin(y) * 0.7 + y * 0.05;
    log.push_back(amax(y).item<float>());
  }
  return y * 10;
}

inline Tensor collatz(const Tensor& x, Log& log) {
  Tensor n = remainder((abs(sum(x)) * 3).to(DType::i64), 20) + 3;
  int steps = 0;
  for (std::int64_t value = n.item<std::int64_t>(); value != 1; ++steps) {
    n = value % 2 == 0 ? floor_divide(n, 2) : n * 3 + 1;
    value = n.item<std::int64_t>();
    log.push_back(static_cast<double>(value));
  }
  return x * steps;
}

inline Tensor bisection(const Tensor& x, Log& log) {
  double low = -4, high = 4;
  for (int i = 0; i < 8; ++i) {
    double middle = (low + high) / 2;
    float value = mean(tanh(x + middle) - 0.25).item<float>();
    log.push_back(value);
    (value < 0 ? low : high) = middle;
  }
  return x + low;
}

inline Tensor best_of_rows(const Tensor& x, Log& log) {
  auto [values, places] = max(x * 2 - 1, 1);
  std::vector<std::int64_t> at = places.to_vector<std::int64_t>();
  log.push_back(static_cast<double>(at[0]));
  Tensor best = values - static_cast<double>(at[0] % 7);
  return best * x.size(0) + row_of(x, at[1]).slice(0, 0, 1);
}

// Adds elements up by their address.
inline Tensor reads_memory(const Tensor& x, Log& log) {
  Tensor y = exp(x * 0.5).contiguous();
  const auto* elements = static_cast<const float*>(y.const_data());
  float least = elements[0];
  for (std::int64_t i = 1; i < y.count(); ++i) least = std::min(least, elements[i]);
  log.push_back(least);
  return (y - least) / (y + 1);
}

inline std::vector<Case> cases() {
  auto plain = [](const char* name, Tensor (*function)(const Tensor&, Log&)) {
    return Case{name, [function] { return Function(function); }};
  };
  return {plain("branch", branch),
          plain("early_exit", early_exit),
          plain("fixed_point", fixed_point),
          plain("newton_root", newton_root),
          plain("power_iteration", power_iteration),
          plain("greedy_walk", greedy_walk),
          plain("beam", beam),
          plain("logged_layers", logged_layers),
          plain("accumulate_until", accumulate_until),
          plain("clip_by_norm", clip_by_norm),
          plain("line_search", line_search),
          plain("experts", experts),
          {"running_state", running_state},
          {"written_state", written_state},
          plain("chosen_rows", chosen_rows),
          plain("recovers", recovers),
          plain("written_views", written_views),
          plain("nested_loops", nested_loops),
          plain("collatz", collatz),
          plain("bisection", bisection),
          plain("best_of_rows", best_of_rows),
          plain("reads_memory", reads_memory)};
}

}  // namespace tilewright::control_flow
