#include "graph/functions/convolving/channels_last.h"

#include <algorithm>
#include <numeric>

#include "graph/ops/channel_order.h"
#include "graph/tensor/functional.h"

namespace tilewright::graph {
namespace {

using std::source_location;

constexpr std::int64_t run = 8;  // elements of 16 bits that are moved at once
constexpr std::int64_t most_channels_of_runs = 32;

TensorOperand at(const Tensor& x, source_location w) { return {x, w}; }

// Numbers 0, step, .. along an axis of `rows`, everywhere: what is computed of them is computed
// where a row is taken.
Tensor along(const Shape& rows, int axis, std::int64_t step, source_location w) {
  Shape sizes(rows.size(), 1);
  sizes[axis] = rows[axis];
  Tensor line = arange(0, rows[axis] * step, step, DType::i32, w);
  return broadcast_to(line.reshape(sizes, w), rows, "convolution", w);
}

// x [N, axes.., C] at the places of windows: its elements by their numbers, which follow from those
// of rows.
class Places {
 public:
  // `outside` is what windows meet beside x.
  Places(const ChannelsLastSite& site, const Tensor& x, double outside = 0)
      : site_(site),
        w_(site.where),
        rank_(site.windows.rank()),
        outside_(outside),
        sizes_(x.shape()) {
    table_ = x.reshape({x.count(), 1}, w_);
  }

  // Of all windows: [N, windows.., places.., C].
  Tensor all() const {
    const Windows& windows = site_.windows;
    Shape rows = {sizes_[0]};
    rows.insert(rows.end(), site_.counts.begin(), site_.counts.end());
    rows.insert(rows.end(), windows.kernel.begin(), windows.kernel.end());
    rows.push_back(1);
    std::int64_t step = element_count(sizes_) / sizes_[0];
    Tensor number = along(rows, 0, step, w_), inside;
    for (int i = 0; i < rank_; ++i) {
      const std::int64_t size = sizes_[1 + i], before = site_.before[i];
      step /= size;
      Tensor place = at(along(rows, 1 + i, windows.stride[i], w_), w_) +
                     at(along(rows, 1 + rank_ + i, windows.dilation[i], w_), w_);
      place = at(place, w_) - TensorOperand(before, w_);
      const std::int64_t last = (site_.counts[i] - 1) * windows.stride[i] +
                                (windows.kernel[i] - 1) * windows.dilation[i] - before;
      const bool may_be_before = before > 0, may_be_behind = last >= size;
      auto require_of_place = [&](const Tensor& condition) {
        inside = inside.defined() ? logical_and(at(inside, w_), at(condition, w_)) : condition;
      };
      if (may_be_before) require_of_place(at(place, w_) >= TensorOperand(0, w_));
      if (may_be_behind) require_of_place(at(place, w_) < TensorOperand(size, w_));
      if (may_be_before) place = maximum(at(place, w_), TensorOperand(0, w_));
      if (may_be_behind) place = minimum(at(place, w_), TensorOperand(size - 1, w_));
      number = at(number, w_) + at(at(place, w_) * TensorOperand(step, w_), w_);
    }
    Shape shape(rows.begin(), rows.end() - 1);
    shape.push_back(sizes_[-1]);
    number = at(number, w_) + at(arange(0, sizes_[-1], 1, DType::i32, w_), w_);
    Tensor seen = embedding(at(number, w_), table_).reshape(shape, w_);
    return inside.defined() ? where(at(inside, w_), at(seen, w_), TensorOperand(outside_, w_))
                            : seen;
  }

 private:
  const ChannelsLastSite& site_;
  source_location w_;
  int rank_;
  double outside_;
  Shape sizes_;  // of x
  Tensor table_;
};

// x [N, axes.., C] within a frame [N, counts.., C], behind `before` elements of an axis.
Tensor within(const Tensor& x, const Shape& before, const Shape& counts, double outside,
              source_location w) {
  Shape sizes = counts;
  sizes.insert(sizes.begin(), x.size(0));
  sizes.push_back(x.size(-1));
  if (sizes == x.shape() && std::ranges::all_of(before, [](auto n) { return n == 0; })) return x;
  const Shape ones(counts.size(), 1);
  const ChannelsLastSite frame = {x, {}, {ones, ones, ones}, before, counts, 1, w};
  return Places(frame, x, outside).all().reshape(sizes, w);
}

// How many elements of an axis the windows meet, with zeros.
Shape frame_of(const ChannelsLastSite& site) {
  const Windows& windows = site.windows;
  Shape counts;
  for (int i = 0; i < windows.rank(); ++i)
    counts.push_back((site.counts[i] - 1) * windows.stride[i] +
                     (windows.kernel[i] - 1) * windows.dilation[i] + 1);
  return counts;
}
// x [N, axes.., C] with as many zeros around it as the windows meet.
Tensor with_zeros(const ChannelsLastSite& site, const Tensor& x) {
  return within(x, site.before, frame_of(site), 0, site.where);
}

// Of few channels: what a window meets along the last axis is one run, if x has its zeros. x
// [N, axes.., C] gives [N, windows.., places but of the last axis.., places of it * C].
Tensor runs_of_places(const ChannelsLastSite& site, const Tensor& x) {
  auto w = site.where;
  const Windows& windows = site.windows;
  const int rank = windows.rank();
  const std::int64_t channels = x.size(-1);
  Shape shape = {x.size(0)};
  shape.insert(shape.end(), site.counts.begin(), site.counts.end());
  shape.insert(shape.end(), windows.kernel.begin(), windows.kernel.end());
  shape[2 * rank] *= channels;
  Shape rows = shape;
  rows[-1] = 1;
  std::int64_t step = x.count() / x.size(0);
  Tensor number = along(rows, 0, step, w);
  auto add = [&](int axis, std::int64_t apart) {
    number = at(number, w) + at(along(rows, axis, apart, w), w);
  };
  for (int i = 0; i < rank; ++i) {
    step /= x.size(1 + i);
    add(1 + i, step * windows.stride[i]);
    if (i + 1 < rank) add(1 + rank + i, step * windows.dilation[i]);
  }
  number = at(number, w) + at(arange(0, shape[-1], 1, DType::i32, w), w);
  Tensor table = x.reshape({x.count(), 1}, w);
  return embedding(at(broadcast_to(number, shape, "convolution", w), w), table).reshape(shape, w);
}
// In 32 bits, with channels up to a multiple of a run.
bool can_be_numbered(const Tensor& x) {
  return x.count() > 0 && x.count() / x.size(1) <= INT32_MAX / (x.size(1) + run);
}

bool is_of_16_bits(const Tensor& x) { return is_floating(x.dtype()) && bit_width(x.dtype()) == 16; }

bool is_by_channel(const ChannelsLastSite& site) {
  return site.groups > 1 && site.groups == site.x.size(1) && site.groups == site.weight.size(0);
}

// The last axis with zeros up to a multiple of `run`.
Tensor in_runs(const Tensor& x, source_location w) {
  const std::int64_t over = x.size(-1) % run;
  return over == 0 ? x : padded(x, {0, run - over}, 0, w);
}

// x with its zeros, where runs of places serve; else nothing.
Tensor with_zeros_for_runs(const ChannelsLastSite& site, const Tensor& x) {
  const std::int64_t all = x.size(0) * element_count(frame_of(site)) * x.size(-1);
  const bool serve = x.size(-1) <= most_channels_of_runs && site.windows.kernel[-1] > 1 &&
                     site.windows.dilation[-1] == 1 && all <= INT32_MAX;
  return serve ? with_zeros(site, x) : Tensor();
}

Tensor products(const ChannelsLastSite& site) {
  auto w = site.where;
  Tensor x = in_runs(channels_to_last(site.x, w), w);
  Tensor filters = in_runs(channels_to_last(site.weight, w), w);
  const std::int64_t outputs = filters.size(0), depth = filters.count() / outputs;
  Shape sizes = {x.size(0)};
  sizes.insert(sizes.end(), site.counts.begin(), site.counts.end());
  Tensor seen;
  const bool is_of_one = element_count(site.windows.kernel) == 1 &&
                         std::ranges::all_of(site.before, [](auto n) { return n == 0; });
  if (is_of_one)
    for (int i = 0; i < site.windows.rank(); ++i)
      x = x.slice(1 + i, 0, (site.counts[i] - 1) * site.windows.stride[i] + 1,
                  site.windows.stride[i], w);
  if (is_of_one)
    seen = x;
  else if (const Tensor around = with_zeros_for_runs(site, x); around.defined())
    seen = runs_of_places(site, around);
  else
    seen = Places(site, x).all();
  seen = seen.reshape({element_count(sizes), depth}, w);
  Tensor right = filters.reshape({outputs, depth}, w).permute({1, 0}, w);
  sizes.push_back(outputs);
  return matmul(at(seen, w), at(right, w), DType::f32).reshape(sizes, w);
}

Tensor by_channel(const ChannelsLastSite& site) {
  auto w = site.where;
  const Windows& windows = site.windows;
  const std::int64_t channels = site.groups, places = element_count(windows.kernel);
  const Tensor around = with_zeros(site, channels_to_last(site.x, w));
  // In one row, which is copied in this order.
  Tensor filters = site.weight.reshape({channels, places}, w)
                       .permute({1, 0}, w)
                       .reshape({places * channels}, w)
                       .to(DType::f32, w);
  Tensor total;
  for (std::int64_t number = 0; number < places; ++number) {
    Tensor seen = around;
    std::int64_t rest = number;
    for (int i = windows.rank(); i-- > 0;) {
      const std::int64_t first = rest % windows.kernel[i] * windows.dilation[i];
      seen = seen.slice(1 + i, first, first + (site.counts[i] - 1) * windows.stride[i] + 1,
                        windows.stride[i], w);
      rest /= windows.kernel[i];
    }
    Tensor filter = filters.slice(0, number * channels, (number + 1) * channels, 1, w);
    Tensor term = at(seen.to(DType::f32, w), w) * at(filter, w);
    total = total.defined() ? at(total, w) + at(term, w) : term;
  }
  return total;
}

}  // namespace

Tensor channels_to_last(const Tensor& x, source_location w) {
  return x.permute(order_to_last(x.rank()), w);
}
Tensor channels_from_last(const Tensor& x, source_location w) {
  return x.permute(order_from_last(x.rank()), w);
}

Tensor convolved_blocks_channels_last(const ChannelsLastSite& site, const Shape& block,
                                      const Tensor& bias) {
  auto w = site.where;
  const int rank = block.rank();
  const std::int64_t places = element_count(block), outputs = site.weight.size(0) / places;
  // Places before outputs, so that elements are moved to their places by rows of outputs.
  ChannelsLastSite by_place = site;
  Shape apart = site.weight.shape();
  apart[0] = outputs;
  apart.insert(apart.begin() + 1, places);
  std::vector<int> order(static_cast<std::size_t>(apart.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  by_place.weight = site.weight.reshape(apart, w).permute(order, w).reshape(site.weight.shape(), w);
  Tensor y = convolved_channels_last(by_place);  // [N, blocks.., places * O]
  Shape sizes(y.shape().begin(), y.shape().end() - 1), joined = {y.size(0)};
  sizes.insert(sizes.end(), block.begin(), block.end());
  sizes.push_back(outputs);
  y = y.reshape(sizes, w);
  if (bias.defined()) y = at(y, w) + at(bias.to(y.dtype(), w), w);
  y = y.to(site.x.dtype(), w);
  order = {0};
  for (int i = 0; i < rank; ++i) {
    order.insert(order.end(), {1 + i, 1 + rank + i});
    joined.push_back(sizes[1 + i] * block[i]);
  }
  order.push_back(1 + 2 * rank);
  joined.push_back(outputs);
  return y.permute(order, w).reshape(joined, w);
}

std::optional<Tensor> padded_channels_last(const Tensor& x, const Shape& before, const Shape& after,
                                           double value, source_location w) {
  const bool serves =
      is_of_16_bits(x) && x.rank() == before.rank() + 2 && before.rank() >= 2 && can_be_numbered(x);
  if (!serves) return std::nullopt;
  Shape counts;
  for (int i = 0; i < before.rank(); ++i) counts.push_back(before[i] + x.size(2 + i) + after[i]);
  return channels_from_last(within(channels_to_last(x, w), before, counts, value, w), w);
}

bool is_convolved_channels_last(const ChannelsLastSite& site) {
  return is_of_16_bits(site.x) && site.windows.rank() >= 2 && can_be_numbered(site.x) &&
         site.weight.count() > 0 && element_count(site.counts) > 0 &&
         (site.groups == 1 ||
          (is_by_channel(site) && element_count(site.windows.kernel) <= most_slices));
}

Tensor convolved_channels_last(const ChannelsLastSite& site) {
  return site.groups == 1 ? products(site) : by_channel(site);
}

}  // namespace tilewright::graph
