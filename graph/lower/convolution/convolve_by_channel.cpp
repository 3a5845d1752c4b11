// On a host: filters of one channel each (depthwise), as sums of products element by element.
//
// The part of a channel that a block of rows, or of planes of rows, sees is copied, with the zeros
// around it filled in, and apart by the phases of the strides. There what all windows see at a
// place is a block of neighbours, and all places of a plane are added up in registers. As with
// products (convolve_by_products.cpp) one program copies and another one adds up, launched in turns
// for as many blocks as stay in the outer cache.
#include <algorithm>
#include <vector>

#include "graph/lower/convolution/convolution_epilogue.h"
#include "graph/lower/convolution/seen_elements.h"
#include "runtime/base/divide_up.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

using dsl::Tile;

constexpr std::int64_t most_copied = 16 << 10, all_copied = 64 << 10;  // elements: a block, all
constexpr std::int64_t programs_a_thread = 4, line = 16;
// A turn of the loop over many places adds so many to the sums, which stay in registers for so
// long.
constexpr std::int64_t places_together = 16;

// An axis as it is copied: by phases, each of which has every `stride`-th element.
struct CopiedAxis {
  explicit CopiedAxis(const WindowAxis& axis) : axis(axis) {
    for (std::int64_t k = 0; k < axis.kernel; ++k)
      phases = std::max(phases, k * axis.dilation % axis.stride + 1);
    more = (axis.kernel - 1) * axis.dilation / axis.stride;
  }
  std::int64_t phase(std::int64_t place) const { return place * axis.dilation % axis.stride; }
  std::int64_t shift(std::int64_t place) const { return place * axis.dilation / axis.stride; }
  Tile phase(const Tile& place) const { return place * axis.dilation % axis.stride; }
  Tile shift(const Tile& place) const { return place * axis.dilation / axis.stride; }

  const WindowAxis& axis;
  std::int64_t phases = 1;
  std::int64_t more = 0;  // elements of a phase than windows
};

class ChannelProgram {
 public:
  explicit ChannelProgram(const ConvolutionSite& site)
      : site_(site),
        shape_(site.shape),
        planes_(shape_.axes[0]),
        rows_(shape_.axes[1]),
        columns_(shape_.axes[2]),
        pitch_(rounded(columns_.axis.windows + columns_.more)) {
    choose_block();
    copied_planes_ = block_planes_ + planes_.more;
    copied_rows_ = block_rows_ + rows_.more;
    blocks_ = shape_.images * shape_.groups * plane_blocks() * row_blocks();
    const std::int64_t fitting = all_copied / copied_elements();
    const std::int64_t wanted = planned_threads() == 1 ? 1 : programs_a_thread * planned_threads();
    at_once_ = std::min(blocks_, std::max({fitting, wanted, divide_up(blocks_, most_turns)}));
  }

  LoweredRegion emit() {
    LoweredRegion result;
    result.kind = "depthwise";
    result.scratch.push_back({DType::f32, at_once_ * copied_elements()});
    const LoweredProgram copy = copy_program(result.scratch[0]),
                         add_up = sums_program(result.scratch[0]);
    for (std::int64_t first = 0; first < blocks_; first += at_once_)
      for (const LoweredProgram* program : {&copy, &add_up}) {
        LoweredProgram& launch = result.programs.emplace_back(*program);
        launch.sizes = {first};
        launch.grid.size[0] = std::min(at_once_, blocks_ - first);
      }
    return result;
  }

 private:
  static std::int64_t rounded(std::int64_t elements) { return divide_up(elements, line) * line; }
  std::int64_t plane_elements() const { return copied_rows_ * pitch_; }
  std::int64_t phase_elements() const { return copied_planes_ * plane_elements(); }
  std::int64_t phases() const { return planes_.phases * rows_.phases * columns_.phases; }
  std::int64_t copied_elements() const { return phases() * phase_elements(); }
  std::int64_t plane_blocks() const { return divide_up(planes_.axis.windows, block_planes_); }
  std::int64_t row_blocks() const { return divide_up(rows_.axis.windows, block_rows_); }
  // The most windows along an axis of which so many elements are copied; blocks of about equal
  // size.
  static std::int64_t part_of(const CopiedAxis& axis, std::int64_t copied) {
    const std::int64_t windows = axis.axis.windows;
    const std::int64_t most = std::max<std::int64_t>(1, copied - axis.more);
    return divide_up(windows, divide_up(windows, most));
  }
  // As many rows as one plane leaves room for; or those of which least is copied.
  void choose_block() {
    const std::int64_t most_rows = most_copied / (phases() * pitch_);
    block_rows_ = part_of(rows_, most_rows / (planes_.more + 1));
    if (!shape_.has_planes()) return;
    std::int64_t least = 0;
    for (std::int64_t rows = block_rows_; rows >= 1; --rows) {
      const std::int64_t planes = part_of(planes_, most_rows / (rows + rows_.more));
      const std::int64_t copied = divide_up(rows_.axis.windows, rows) * (rows + rows_.more) *
                                  divide_up(planes_.axis.windows, planes) * (planes + planes_.more);
      if (least != 0 && copied >= least) continue;
      least = copied;
      block_rows_ = rows;
      block_planes_ = planes;
    }
  }

  LoweredProgram copy_program(const Scratch& scratch) {
    dsl::Tracer tracer("convolution_windows");
    Parameters parameters(tracer, site_.list, site_.region);
    const StorageId storage = site_.task.operands[0].storage;
    parameters.add(storage);
    copy_ = parameters.add_scratch(0, scratch);
    find_block(tracer);
    x_ = parameters.pointer(storage) +
         (image_ * shape_.image_stride + group_ * shape_.channel_stride + shape_.x_offset);
    copy_phases();
    return {tracer.finish(), Grid(at_once_), parameters.memory(), {}};
  }

  LoweredProgram sums_program(const Scratch& scratch) {
    dsl::Tracer tracer("convolution_by_channel");
    Parameters parameters(tracer, site_.list, site_.region);
    for (std::size_t i = 1; i < site_.task.operands.size(); ++i)
      parameters.add(site_.task.operands[i].storage);
    add_epilogue_memory(site_, parameters);
    copy_ = parameters.add_scratch(0, scratch);
    find_block(tracer);
    parameters_ = &parameters;
    Tile output = group_ * shape_.outputs;
    filters_ = parameters.pointer(site_.task.operands[1].storage) +
               (output * shape_.output_stride + shape_.filter_offset);
    if (shape_.has_bias)
      bias_ = parameters.pointer(site_.task.operands[2].storage) +
              (output * shape_.bias_stride + shape_.bias_offset);
    if (shape_.outputs == 1)
      convolve_output(integer(0));
    else
      for (Tile each : dsl::range(0, shape_.outputs, 1)) convolve_output(each);
    return {tracer.finish(), Grid(at_once_), parameters.memory(), {}};
  }

  // The blocks of this launch, the first of which is an argument.
  void find_block(dsl::Tracer& tracer) {
    Tile number = dsl::program_id(0);
    copy_ = copy_ + number * copied_elements();
    Tile block = number + tracer.scalar_param("first", DType::i64);
    row_ = block % row_blocks() * block_rows_;
    block = block / row_blocks();
    if (shape_.has_planes()) {
      plane_ = block % plane_blocks() * block_planes_;
      block = block / plane_blocks();
    }
    group_ = block % shape_.groups;
    image_ = block / shape_.groups;
  }

  // A block of this many elements of planes, if there are any, rows and columns.
  Shape block_of(std::int64_t planes, std::int64_t rows, std::int64_t columns) const {
    return shape_.has_planes() ? Shape{planes, rows, columns} : Shape{rows, columns};
  }
  // In the copy, with such a block at a place.
  dsl::Desc in_copy(const Tile& first, const Shape& block) const {
    std::vector<dsl::Operand> strides = {pitch_, 1};
    if (shape_.has_planes()) strides.insert(strides.begin(), plane_elements());
    return dsl::make_desc(first, std::vector<dsl::Operand>(block.begin(), block.end()), strides);
  }
  std::vector<dsl::Operand> zeros() const { return std::vector<dsl::Operand>(axes(), 0); }
  std::size_t axes() const { return shape_.has_planes() ? 3 : 2; }

  // The number of a phase of all axes.
  template <typename Number>
  Number phase_number(const Number& plane, const Number& row, const Number& column) const {
    return (plane * rows_.phases + row) * columns_.phases + column;
  }

  // A phase by its numbers along the axes.
  template <typename Number>
  void copy_phase(const Number& plane, const Number& row, const Number& column) const {
    Offset first, to;
    add_places(to, phase_number(plane, row, column), phase_elements());
    std::vector<dsl::Operand> sizes, strides, from;
    auto add = [&](const WindowAxis& axis, const Number& phase, const Tile& window) {
      const SeenElements<Number> seen = seen_elements(axis, phase);
      add_places(first, seen.first, axis.x_stride);
      sizes.emplace_back(seen.count);
      strides.emplace_back(axis.stride * axis.x_stride);
      if (window.defined())
        from.emplace_back(window - seen.shift);
      else
        from.emplace_back(-seen.shift);
    };
    if (shape_.has_planes()) add(planes_.axis, plane, plane_);
    add(rows_.axis, row, row_);
    add(columns_.axis, column, {});
    const Shape block = block_of(copied_planes_, copied_rows_, pitch_);
    Tile copied = dsl::load(dsl::make_desc(x_ + first, sizes, strides), from, block);
    dsl::store(in_copy(copy_ + to, block), zeros(), copied);
  }
  void copy_phases() const {
    if (phases() > most_written_out) {
      for (Tile number : dsl::range(0, phases(), 1)) {
        Tile row = number / columns_.phases;
        copy_phase<Tile>(row / rows_.phases, row % rows_.phases, number % columns_.phases);
      }
      return;
    }
    for (std::int64_t d = 0; d < planes_.phases; ++d)
      for (std::int64_t i = 0; i < rows_.phases; ++i)
        for (std::int64_t j = 0; j < columns_.phases; ++j) copy_phase(d, i, j);
  }

  // Adds what windows see at the places of one plane of them, of which the elements of the copy and
  // the filter begin there, to a sum.
  Tile with_plane(const Tile& copy, const Tile& filter, Tile total) const {
    const std::int64_t height = rows_.axis.kernel, width = columns_.axis.kernel;
    if (height * width > most_written_out) return with_many_places(copy, filter, total);
    // Numbers are loaded before blocks, so that all blocks share the loops of the store.
    std::vector<Tile> weights;
    for (std::int64_t i = 0; i < height; ++i)
      for (std::int64_t j = 0; j < width; ++j)
        weights.push_back(dsl::load(
            filter + Offset(i * rows_.axis.filter_stride + j * columns_.axis.filter_stride)));
    const Shape block = block_of(block_planes_, block_rows_, columns_.axis.windows);
    for (std::int64_t i = 0; i < height; ++i)
      for (std::int64_t j = 0; j < width; ++j) {
        Offset at(phase_number<std::int64_t>(0, rows_.phase(i), columns_.phase(j)) *
                      phase_elements() +
                  rows_.shift(i) * pitch_ + columns_.shift(j));
        Tile x = dsl::load(in_copy(copy + at, block), zeros(), block);
        const Tile& weight = weights[static_cast<std::size_t>(i * width + j)];
        total = total.defined() ? dsl::fma(x, weight, total) : Tile(x * weight);
      }
    return total;
  }
  Tile with_many_places(const Tile& copy, const Tile& filter, const Tile& sum) const {
    const std::int64_t width = columns_.axis.kernel, count = rows_.axis.kernel * width;
    const std::int64_t whole = count / places_together * places_together;
    const Shape block = block_of(block_planes_, block_rows_, columns_.axis.windows);
    auto with_places = [&](const Tile& first, std::int64_t places, const Tile& before) {
      std::vector<Tile> weights, at;
      for (std::int64_t i = 0; i < places; ++i) {
        Tile place = first + i, row = place / width, column = place % width;
        weights.push_back(dsl::load(
            filter + (row * rows_.axis.filter_stride + column * columns_.axis.filter_stride)));
        at.push_back(phase_number(integer(0), rows_.phase(row), columns_.phase(column)) *
                         phase_elements() +
                     rows_.shift(row) * pitch_ + columns_.shift(column));
      }
      Tile total = before;
      for (std::size_t i = 0; i < at.size(); ++i)
        total =
            dsl::fma(dsl::load(in_copy(copy + at[i], block), zeros(), block), weights[i], total);
      return total;
    };
    dsl::Var total = sum.defined() ? sum : dsl::zeros(block, DType::f32);
    for (Tile first : dsl::range(0, whole, places_together))
      total = with_places(first, places_together, total);
    return whole == count ? Tile(total) : with_places(integer(whole), count - whole, total);
  }
  Tile with_all_planes(const Tile& filter) const {
    const WindowAxis& planes = planes_.axis;
    if (planes.kernel == 1) return with_plane(copy_, filter, {});
    const Shape block = block_of(block_planes_, block_rows_, columns_.axis.windows);
    dsl::Var total = dsl::zeros(block, DType::f32);
    for (Tile plane : dsl::range(0, planes.kernel, 1)) {
      Tile along = plane * planes.dilation, at = along;
      if (planes.stride != 1)
        at = along / planes.stride +
             along % planes.stride * (phase_number<std::int64_t>(1, 0, 0) * copied_planes_);
      total =
          with_plane(copy_ + at * plane_elements(), filter + plane * planes.filter_stride, total);
    }
    return total;
  }

  void convolve_output(const Tile& output) const {
    Tile filter = filters_ + output * shape_.output_stride, bias;
    if (shape_.has_bias) bias = dsl::load(bias_ + output * shape_.bias_stride);
    Tile total = with_all_planes(filter);
    if (bias.defined()) total = total + bias;
    const std::int64_t windows = columns_.axis.windows;
    PlaneBlock block{.image = image_, .channel = group_ * shape_.outputs + output, .axes = {}};
    if (shape_.has_planes()) block.axes.push_back({0, plane_, planes_.axis.windows, block_planes_});
    block.axes.push_back({1, row_, rows_.axis.windows, block_rows_});
    block.axes.push_back({2, 0, windows, windows});
    finish_plane_block(site_, *parameters_, block, total);
  }

  const ConvolutionSite& site_;
  const ConvolutionShape& shape_;
  CopiedAxis planes_, rows_, columns_;
  std::int64_t pitch_;  // of rows of a phase
  std::int64_t block_planes_ = 1, block_rows_ = 1, copied_planes_ = 1, copied_rows_ = 1;
  std::int64_t blocks_ = 1, at_once_ = 1;  // of rows, of all channels and images
  Tile copy_, x_, filters_, bias_;
  const Parameters* parameters_ = nullptr;  // of the program that is written
  Tile image_, group_, plane_, row_;        // of the block
};

}  // namespace

LoweredRegion convolve_by_channel(const ConvolutionSite& site) {
  return ChannelProgram(site).emit();
}

}  // namespace tilewright::graph
