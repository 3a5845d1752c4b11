// A convolution that reads each element of x where it lies: by pointers that follow from the
// numbers of windows and places, masked where they leave the image.
//
// Filters that see several channels multiply as matrices: a block of filters [outputs, depth] times
// what a block of windows sees [depth, windows], chunk by chunk of the depth, which goes through
// channels and places. Filters of one channel have nothing to multiply as a matrix, and are added
// up place by place.
#include <algorithm>

#include "graph/lower/convolution/convolution_epilogue.h"
#include "runtime/base/divide_up.h"

namespace tilewright::graph {
namespace {

using dsl::Operand;
using dsl::Tile;
using dsl::Var;

constexpr std::int64_t most_outputs = 64, most_windows = 64, depth_chunk = 32, few = 16;
constexpr std::int64_t lone_windows = 256;  // of filters of one channel

Tile wide_range(std::int64_t count) { return dsl::cast(dsl::arange(0, count), DType::i64); }
Tile zero() { return dsl::constant(ir::Scalar::of_integer(DType::i64, 0)); }

// The digits of a number, outermost first.
std::vector<Tile> digits_of(Tile number, const std::vector<std::int64_t>& sizes) {
  std::vector<Tile> digits(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0;) {
    digits[i] = i == 0 ? number : number % sizes[i];
    if (i > 0) number = number / sizes[i];
  }
  return digits;
}

class InPlaceProgram {
 public:
  explicit InPlaceProgram(const ConvolutionSite& site)
      : site_(site),
        shape_(site.shape),
        tracer_("convolution"),
        parameters_(tracer_, site.list, site.region),
        multiplies_(shape_.channels > 1),
        block_outputs_(multiplies_ ? std::clamp(shape_.outputs, few, most_outputs) : 1),
        block_windows_(multiplies_ ? most_windows : lone_windows) {}

  LoweredRegion emit() {
    for (const TaskOperand& operand : site_.task.operands) parameters_.add(operand.storage);
    add_epilogue_memory(site_, parameters_);
    const Grid grid = open_grid();
    Tile sums = multiplies_ ? products() : places();
    if (shape_.has_bias) {
      Tile bias = base(2, shape_.bias_offset) + channel_output_ * shape_.bias_stride;
      sums = sums + dsl::cast(dsl::load(bias, output_ < shape_.outputs), sums.dtype());
    }
    if (sums.dtype() != site_.task.dtype) sums = dsl::cast(sums, site_.task.dtype);
    const Tile is_inside = (output_ < shape_.outputs) && (window_ < shape_.windows());
    auto at = [&](StorageId storage, const StridedView& view) {
      return parameters_.pointer(storage) +
             (image_ * view.strides[0] + channel_output_ * view.strides[1] + window_offset(view) +
              view.offset);
    };
    finish_block(
        site_, sums,
        [&](StorageId storage, const StridedView& view) {
          return dsl::load(at(storage, view), is_inside);
        },
        [&](const Task& task, const Tile& tile) {
          dsl::store(at(task.storage, task.place), tile, is_inside);
        });
    LoweredRegion result;
    result.kind = "convolution";
    result.programs.push_back({tracer_.finish(), grid, parameters_.memory()});
    return result;
  }

 private:
  Tile base(std::size_t operand, std::int64_t offset) const {
    const Tile& pointer = parameters_.pointer(site_.task.operands[operand].storage);
    return offset == 0 ? pointer : pointer + offset;
  }

  // Axis 0: blocks of windows; axis 1: blocks of outputs of each group; axis 2: images. Numbers of
  // windows are [1, windows], those of outputs [outputs, 1].
  Grid open_grid() {
    const std::int64_t output_blocks = divide_up(shape_.outputs, block_outputs_);
    ProgramGrid programs = graph::open_grid(
        {divide_up(shape_.windows(), block_windows_), output_blocks * shape_.groups, shape_.images},
        site_.target);
    image_ = programs.index[2].defined() ? programs.index[2] : zero();
    Tile block = programs.index[1].defined() ? programs.index[1] : zero();
    group_ = block / output_blocks;
    output_ = dsl::reshape(wide_range(block_outputs_), {block_outputs_, 1}) +
              block % output_blocks * block_outputs_;
    channel_output_ = output_ + group_ * shape_.outputs;
    window_ = dsl::reshape(wide_range(block_windows_), {1, block_windows_});
    if (programs.index[0].defined()) window_ = window_ + programs.index[0] * block_windows_;
    std::vector<std::int64_t> sizes;
    for (const WindowAxis& axis : shape_.axes) sizes.push_back(axis.windows);
    window_digits_ = digits_of(window_, sizes);
    return programs.grid;
  }

  Tile window_offset(const StridedView& place) const {
    Tile offset = zero();
    const int first = place.shape.rank() - 1;
    for (std::size_t i = window_digits_.size(); i-- > 0;) {
      const int axis = first - static_cast<int>(window_digits_.size() - 1 - i);
      if (axis >= 2) offset = offset + window_digits_[i] * place.strides[axis];
    }
    return offset;
  }

  // The elements of a channel that the windows see at places of which the digits are given; of any
  // shape that broadcasts with that of the windows.
  Tile seen(const Tile& channel, const std::vector<Tile>& place, Tile inside) const {
    Tile offset =
        image_ * shape_.image_stride + (group_ * shape_.channels + channel) * shape_.channel_stride;
    for (std::size_t i = 0; i < shape_.axes.size(); ++i) {
      const WindowAxis& axis = shape_.axes[i];
      Tile at = window_digits_[i] * axis.stride + (place[i] * axis.dilation - axis.before);
      inside = inside && (at >= 0) && (at < axis.size);
      offset = offset + at * axis.x_stride;
    }
    return dsl::load(base(0, shape_.x_offset) + offset, inside);
  }
  Tile filters(const Tile& channel, const std::vector<Tile>& place, const Tile& inside) const {
    Tile offset = channel_output_ * shape_.output_stride + channel * shape_.filter_stride;
    for (std::size_t i = 0; i < shape_.axes.size(); ++i)
      offset = offset + place[i] * shape_.axes[i].filter_stride;
    return dsl::load(base(1, shape_.filter_offset) + offset, inside);
  }
  std::vector<std::int64_t> kernel() const {
    std::vector<std::int64_t> sizes;
    for (const WindowAxis& axis : shape_.axes) sizes.push_back(axis.kernel);
    return sizes;
  }

  Tile products() const {
    const std::int64_t places = shape_.places(), depth = shape_.channels * places;
    Var sums = dsl::zeros({block_outputs_, block_windows_}, accumulator(site_.task.dtype));
    auto along = [&](const Tile& first, const Shape& shape) {
      Tile number = dsl::reshape(wide_range(depth_chunk), shape) + first;
      return std::pair(number, digits_of(number % places, kernel()));
    };
    for (Tile first : dsl::range(0, depth, depth_chunk)) {
      const auto [row, row_place] = along(first, {depth_chunk, 1});
      const auto [column, column_place] = along(first, {1, depth_chunk});
      Tile x = seen(row / places, row_place, (row < depth) && (window_ < shape_.windows()));
      Tile w =
          filters(column / places, column_place, (column < depth) && (output_ < shape_.outputs));
      sums = dsl::dot(w, x, sums, site_.list.precision_of(site_.task.dtype));
    }
    return sums;
  }

  Tile places() const {
    const DType wide = accumulator(site_.task.dtype);
    Var sums = dsl::zeros({1, block_windows_}, wide);
    for (Tile number : dsl::range(0, shape_.places(), 1)) {
      const std::vector<Tile> place = digits_of(number, kernel());
      Tile x = seen(zero(), place, window_ < shape_.windows());
      Tile w = filters(zero(), place, output_ < shape_.outputs);
      sums = dsl::fma(dsl::cast(x, wide), dsl::cast(w, wide), sums);
    }
    return sums;
  }

  const ConvolutionSite& site_;
  const ConvolutionShape& shape_;
  dsl::Tracer tracer_;
  Parameters parameters_;
  bool multiplies_;
  std::int64_t block_outputs_, block_windows_;
  Tile image_, group_;
  Tile output_, channel_output_;  // of the group, of all
  Tile window_;
  std::vector<Tile> window_digits_;
};

}  // namespace

LoweredRegion convolve_in_place(const ConvolutionSite& site) { return InPlaceProgram(site).emit(); }

}  // namespace tilewright::graph
