// On a host: convolutions whose filters see several channels, as products without a copy of each
// window.
//
// The elements that a block of windows sees are copied into memory that stays in the outer cache,
// once for each column of a window's places, with the zeros around x filled in:
//
//   [phases, channels, columns of a window, rows, windows of a row]
//
// where phases are the rows of x modulo the stride. There the windows of a block lie side by side,
// and those of the place below lie a row further: so for each row of a window's places what all
// windows of the block see is a matrix in memory, [channels * columns, windows], with its rows at
// equal distances. The result of a block of filters is the sum over the rows of a window of a
// matrix of filters times that matrix. A window of 3 x 3 is copied 3 times in this way, in place of
// 9; and in the innermost loop a few rows of filters meet a few vectors of windows. Where there are
// few windows it is the other way round, and a few windows meet a few vectors of filters.
//
// With three axes, places along one more axis are treated as columns are: each of them has a copy,
// and a product goes through all of them. Planes of windows lie beside each other in a row of a
// block,
//
//   [phases, channels, planes of a window, columns of a window, rows, planes, windows of a row]
//
// Which of the outer two axes has the rows follows from what is to be copied
// (`ConvolutionShape::row_axis`). Where few outputs share the copy of a wide window, it has each
// row once, as long as the columns of all windows see, and each column of a window multiplies what
// lies so much further: results between the rows are not stored. Long filters over a single axis
// have one copy of x too: a product goes through the places of one channel, whose rows of windows
// overlap in the copy.
//
// One program copies and another one multiplies, which reads the copy where it lies since it does
// not write there. They are launched in turns, each time for as many blocks as fit the cache or
// give all threads something to do.
//
// Filters are read in panels (convolution_filters.h). Where Winograd's transform pays
// (regions/winograd.h), a row of a block is two rows of windows; in place of phases the copy has
// the combinations of four rows of x that its four products multiply, and two of the sums of
// products are added and subtracted before the others go on adding to what results.
#include <algorithm>
#include <functional>

#include "graph/lower/convolution/convolution_epilogue.h"
#include "graph/lower/convolution/convolution_filters.h"
#include "graph/lower/convolution/convolution_programs.h"
#include "graph/lower/convolution/seen_elements.h"
#include "graph/lower/convolution/window_blocks.h"
#include "graph/lower/frame.h"
#include "graph/regions/winograd.h"
#include "runtime/base/divide_up.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

using dsl::Operand;
using dsl::Tile;
using dsl::Var;

constexpr std::int64_t cache_line = 16;  // elements
constexpr std::int64_t products_a_thread = 2;

class ProductsProgram {
 public:
  explicit ProductsProgram(const ConvolutionSite& site)
      : site_(site),
        shape_(site.shape),
        planes_(shape_.planes()),
        rows_(shape_.rows()),
        columns_(shape_.columns()),
        filters_(site),
        steps_(filters_.uses_winograd() ? winograd::results : 1),
        window_blocks_(shape_, filters_, site.target.lanes),
        reads_x_(lies_as_a_matrix()),
        block_(reads_x_ ? window_blocks_.whole() : window_blocks_.best()),
        blocks_(shape_.images * shape_.groups * plane_blocks() * row_blocks() * column_blocks()) {
    const std::int64_t wanted = products_a_thread * planned_threads();
    const std::int64_t fitting = most_copied_bytes / (copied_elements() * 4);
    const std::int64_t least =
        std::max(planned_threads() == 1 ? 1 : wanted, divide_up(blocks_, most_turns));
    blocks_at_once_ = std::min(blocks_, std::max(fitting, least));
    if (reads_x_) blocks_at_once_ = blocks_;
    // A transformed copy is large, and of few blocks.
    if (planned_threads() > 1 && filters_.uses_winograd())
      copy_programs_ = std::min(shape_.channels, divide_up(wanted, blocks_at_once_));
    panel_programs_ = planned_threads() == 1
                          ? 1
                          : std::min(filters_.group_panels(), divide_up(wanted, blocks_at_once_));
  }

  LoweredRegion emit() {
    LoweredRegion result;
    result.kind = "convolution";
    result.scratch.push_back({DType::f32, reads_x_ ? 0 : blocks_at_once_ * copied_elements()});
    if (!filters_.are_packed()) {
      result.scratch.push_back(filters_.scratch());
      result.programs.push_back(filters_.pack(result.scratch));
    }
    std::vector<LoweredProgram> turn;
    if (!reads_x_) turn.push_back(copy_program(result.scratch));
    turn.push_back(products_program(result.scratch));
    for (std::int64_t first = 0; first < blocks_; first += blocks_at_once_)
      for (const LoweredProgram& program : turn) {
        LoweredProgram& launch = result.programs.emplace_back(program);
        launch.sizes = {first};
        launch.grid.size[0] = std::min(blocks_at_once_, blocks_ - first);
      }
    return result;
  }

 private:
  // True if the elements that all windows see are a matrix in x already, with rows that lie near
  // each other.
  bool lies_as_a_matrix() const {
    bool is_whole = shape_.places() == 1 && columns_.x_stride == 1 &&
                    (planes_.windows == 1 || planes_.x_stride == columns_.size) &&
                    (rows_.windows == 1 || rows_.x_stride == planes_.size * columns_.size);
    for (const WindowAxis& axis : shape_.axes)
      is_whole = is_whole && axis.stride == 1 && axis.before == 0 && axis.windows == axis.size;
    return is_whole && shape_.windows() <= most_product_windows;
  }
  std::int64_t row_blocks() const {
    return divide_up(divide_up(rows_.windows, steps_), block_.rows);
  }
  std::int64_t plane_blocks() const { return divide_up(planes_.windows, block_.planes); }
  std::int64_t column_blocks() const { return divide_up(columns_.windows, block_.columns); }
  std::int64_t copies() const { return window_blocks_.copies(block_); }
  // The copied elements of a block, in whole lines of the cache.
  std::int64_t copied_elements() const {
    return divide_up(
               shape_.channels * block_.elements(copies()) + window_blocks_.columns_behind(block_),
               cache_line) *
           cache_line;
  }

  LoweredProgram copy_program(const std::vector<Scratch>& scratch) {
    dsl::Tracer tracer("convolution_windows");
    Parameters parameters(tracer, site_.list, site_.region);
    parameters.add(site_.task.operands[0].storage);
    copy_ = parameters.add_scratch(0, scratch[0]);
    find_block(tracer);
    x_ = x_of_block(parameters);
    copy_channels();
    return {tracer.finish(), Grid(blocks_at_once_, copy_programs_), parameters.memory(), {}};
  }

  LoweredProgram products_program(const std::vector<Scratch>& scratch) {
    dsl::Tracer tracer("convolution");
    Parameters parameters(tracer, site_.list, site_.region);
    const std::vector<TaskOperand>& operands = site_.task.operands;
    if (filters_.are_packed()) parameters.add(operands[1].storage);
    if (shape_.has_bias) parameters.add(operands[2].storage);
    add_epilogue_memory(site_, parameters);
    if (reads_x_)
      parameters.add(operands[0].storage);
    else
      copy_ = parameters.add_scratch(0, scratch[0]);
    panels_ = filters_.are_packed() ? parameters.pointer(operands[1].storage)
                                    : parameters.add_scratch(1, scratch[1]);
    find_block(tracer);
    if (reads_x_) copy_ = x_of_block(parameters);
    panels_ = panels_ + group_ * (filters_.group_panels() * filters_.panel_elements());
    if (shape_.has_bias)
      bias_ = parameters.pointer(operands[2].storage) +
              (group_ * (shape_.outputs * shape_.bias_stride) + shape_.bias_offset);
    parameters_ = &parameters;
    const std::int64_t panels = filters_.group_panels();
    const std::int64_t each = divide_up(panels, panel_programs_);
    if (panel_programs_ == 1) {
      for (Tile panel : dsl::range(0, panels, 1)) convolve_outputs(panel);
    } else {
      Tile first = dsl::program_id(1) * each;
      for (Tile panel : dsl::range(first, dsl::minimum(first + each, panels), 1))
        convolve_outputs(panel);
    }
    return {tracer.finish(), Grid(blocks_at_once_, panel_programs_), parameters.memory(), {}};
  }

  // Axis 0 of the grid: the blocks of this launch, the first of which is an argument.
  void find_block(dsl::Tracer& tracer) {
    Tile number = dsl::program_id(0);
    if (copy_.defined()) copy_ = copy_ + number * copied_elements();
    Tile block = number + tracer.scalar_param("first", DType::i64);
    column_ = block % column_blocks() * block_.columns;
    block = block / column_blocks();
    row_ = block % row_blocks() * block_.rows;
    block = block / row_blocks();
    if (shape_.has_planes()) {
      plane_ = block % plane_blocks() * block_.planes;
      block = block / plane_blocks();
    }
    group_ = block % shape_.groups;
    image_ = block / shape_.groups;
  }

  Tile x_of_block(const Parameters& parameters) const {
    return parameters.pointer(site_.task.operands[0].storage) +
           (image_ * shape_.image_stride + group_ * (shape_.channels * shape_.channel_stride) +
            shape_.x_offset);
  }

  // The elements of x from a channel on that each window of a block sees at a place, of `block`
  // channels, of which `channels` exist. `axis` is that of rows, `number` says which of the places
  // along planes and columns.
  template <typename Number>
  Tile x_at(const Tile& x, const Operand& channels, std::int64_t block, const WindowAxis& axis,
            const Number& row, const Number& number) const {
    Offset offset;
    std::vector<Operand> sizes = {channels}, strides = {shape_.channel_stride}, from = {0};
    Shape shape = {block};
    auto add = [&](const WindowAxis& along, const Number& place, const Tile& window,
                   std::int64_t count) {
      const SeenElements<Number> elements = seen_elements(along, place);
      add_places(offset, elements.first, along.x_stride);
      sizes.emplace_back(elements.count);
      strides.emplace_back(along.stride * along.x_stride);
      from.emplace_back(window - elements.shift);
      shape.push_back(count);
    };
    add(axis, row, row_, block_.copied_rows);
    const std::int64_t in_row = block_.shifts_columns ? 1 : columns_.kernel;
    if (shape_.has_planes())
      add(planes_, number / in_row * planes_.dilation, plane_, block_.planes);
    add(columns_, number % in_row * columns_.dilation, column_, block_.copied_columns());
    return dsl::load(dsl::make_desc(x + offset, sizes, strides), from, shape);
  }
  std::int64_t place_elements() const { return block_.copied_rows * block_.row_windows(); }
  std::int64_t channel_elements() const { return copies() * place_elements(); }
  // In the copy from a channel on.
  template <typename Number>
  void store_copy(const Tile& copy, const Operand& channels, const Number& phase,
                  const Number& number, const Tile& tile) const {
    Offset to;
    add_places(to, phase, shape_.channels * channel_elements());
    add_places(to, number, place_elements());
    std::vector<Operand> sizes = {channels, block_.copied_rows},
                         strides = {channel_elements(), block_.row_windows()};
    auto add = [&](std::int64_t size, std::int64_t stride) {
      sizes.emplace_back(size);
      strides.emplace_back(stride);
    };
    if (shape_.has_planes()) add(block_.planes, block_.columns);
    add(block_.copied_columns(), 1);
    dsl::store(dsl::make_desc(copy + to, sizes, strides), std::vector<Operand>(sizes.size(), 0),
               tile);
  }

  // Axis 1 of the grid: parts of the channels.
  void copy_channels() const {
    const std::int64_t block = divide_up(shape_.channels, copy_programs_);
    Tile x = x_, copy = copy_;
    Operand channels = shape_.channels;
    if (copy_programs_ > 1) {
      Tile first = dsl::program_id(1) * block;
      x = x + first * shape_.channel_stride;
      copy = copy + first * channel_elements();
      channels = shape_.channels - first;
    }
    if (filters_.uses_winograd())
      copy_combinations(x, copy, dsl::minimum(channels, block));
    else
      copy_windows(x, copy, channels, block);
  }
  void copy_windows(const Tile& x, const Tile& copy, const Operand& channels,
                    std::int64_t block) const {
    const std::int64_t all = block_.phases * copies();
    auto copy_of = [&](const Tile& from, const Tile& to, const Operand& count,
                       std::int64_t together) {
      if (all > most_written_out) {
        for (Tile each : dsl::range(0, all, 1)) {
          Tile phase = each / copies(), place = each % copies();
          store_copy(to, count, phase, place, x_at(from, count, together, rows_, phase, place));
        }
        return;
      }
      for (std::int64_t phase = 0; phase < block_.phases; ++phase)
        for (std::int64_t place = 0; place < copies(); ++place)
          store_copy(to, count, phase, place, x_at(from, count, together, rows_, phase, place));
    };
    // Rows that are copied several times are in the inner cache from the first time on.
    if (all == 1) return copy_of(x, copy, channels, block);
    for (Tile channel : dsl::range(0, dsl::minimum(channels, block), 1))
      copy_of(x + channel * shape_.channel_stride, copy + channel * channel_elements(), 1, 1);
  }
  // The combinations of rows that Winograd's products multiply, a channel after the other.
  void copy_combinations(const Tile& x, const Tile& copy, const Tile& channels) const {
    WindowAxis pairs = rows_;
    pairs.stride = winograd::results;
    for (Tile channel : dsl::range(0, channels, 1)) {
      Tile x_channel = x + channel * shape_.channel_stride,
           copied = copy + channel * channel_elements();
      for (std::int64_t column = 0; column < columns_.kernel; ++column) {
        std::vector<Tile> rows;
        for (std::int64_t row = 0; row < winograd::products; ++row)
          rows.push_back(x_at(x_channel, 1, 1, pairs, row, column));
        for (std::int64_t i = 0; i < winograd::products; ++i)
          store_copy(copied, 1, i, column, winograd::of_x(rows, i));
      }
    }
  }

  // The places of a window that one product multiplies: a row, or one of its columns alone, or the
  // row of one channel.
  struct ProductPlace {
    Tile row, column = {}, channel = {};
  };
  // The elements that a row of a window's places sees: of `count` rows of windows from `first` on.
  Tile windows_at(const ProductPlace& place, std::int64_t first, std::int64_t count) const {
    if (place.channel.defined())  // the row of each place overlaps that of the next one
      return dsl::load(dsl::make_desc(copy_ + place.channel * place_elements(),
                                      {columns_.kernel, block_.columns}, {columns_.dilation, 1}),
                       {0, 0}, {columns_.kernel, block_.columns});
    const Tile& row = place.row;
    const std::int64_t size = place_elements();
    Tile along = row * rows_.dilation, from = along;
    if (filters_.uses_winograd()) {
      from = row * (depth() * size);
    } else if (rows_.stride != 1) {
      Tile phase = along % rows_.stride;
      from = along / rows_.stride * block_.row_windows() + phase * (depth() * size);
    } else {
      from = along * block_.row_windows();
    }
    const std::int64_t windows = count * block_.row_windows();
    Tile pointer = copy_ + from;
    if (first != 0) pointer = pointer + first * block_.row_windows();
    if (place.column.defined()) pointer = pointer + place.column * columns_.dilation;
    const std::int64_t distance = reads_x_ ? shape_.channel_stride : size;
    return dsl::load(dsl::make_desc(pointer, {depth(), windows}, {distance, 1}), {0, 0},
                     {depth(), windows});
  }
  std::int64_t depth() const { return shape_.channels * copies(); }  // of one product
  Tile filters_at(const ProductPlace& place, const Tile& panel) const {
    const std::int64_t width = filters_.width(), all = filters_.depth();
    Tile from = panels_ + (panel * filters_.panel_elements() + place.row * (all * width));
    if (place.column.defined()) from = from + place.column * width;
    if (place.channel.defined()) {
      from = from + place.channel * (columns_.kernel * width);
      return dsl::load(dsl::make_desc(from, {columns_.kernel, width}, {width, 1}), {0, 0},
                       {columns_.kernel, width});
    }
    return dsl::load(dsl::make_desc(from, {depth(), width}, {all / depth() * width, 1}), {0, 0},
                     {depth(), width});
  }

  // A block of results: for each of the rows of windows in a row of the block, the sum over the
  // rows of a window of the products that `add` adds to a sum.
  using Add = std::function<Tile(const ProductPlace& place, const Tile& sum)>;
  std::vector<Tile> sums_of(const Shape& shape, const Add& add) const {
    if (filters_.uses_winograd()) {
      Tile first = add({integer(1)}, {}), second = add({integer(2)}, {});
      return {add({integer(0)}, first + second), add({integer(3)}, first - second)};
    }
    if (block_.shifts_columns) {
      Var total = dsl::zeros(shape, DType::f32);
      for (Tile place : dsl::range(0, rows_.kernel * columns_.kernel, 1))
        total = add({place / columns_.kernel, place % columns_.kernel}, total);
      return {total};
    }
    if (block_.goes_by_channel()) {
      Var total = dsl::zeros(shape, DType::f32);
      for (Tile channel : dsl::range(0, shape_.channels, 1))
        total = add({integer(0), {}, channel}, total);
      return {total};
    }
    if (rows_.kernel == 1) return {add({integer(0)}, {})};
    Var total = dsl::zeros(shape, DType::f32);
    for (Tile row : dsl::range(0, rows_.kernel, 1)) total = add({row}, total);
    return {total};
  }
  static Tile product(const Tile& a, const Tile& b, const Tile& sum) {
    return sum.defined() ? dsl::dot(a, b, sum) : dsl::dot(a, b);
  }

  // The shape of the results of so many rows of windows.
  Shape results_shape(std::int64_t rows) const {
    Shape shape = {filters_.width(), rows, block_.columns};
    if (block_.planes > 1) shape.insert(shape.end() - 1, block_.planes);
    return shape;
  }

  void convolve_outputs(const Tile& panel) {
    const std::int64_t width = filters_.width();
    if (!filters_.vectors_go_along()) {
      const std::vector<Tile> sums =
          sums_of({width, block_.windows()}, [&](const ProductPlace& at, const Tile& sum) {
            return product(dsl::trans(filters_at(at, panel)), windows_at(at, 0, block_.rows), sum);
          });
      for (std::size_t i = 0; i < sums.size(); ++i)
        store(panel, 0, i, dsl::reshape(sums[i], results_shape(block_.rows)));
      return;
    }
    const std::int64_t most = std::max<std::int64_t>(1, most_left_windows / block_.row_windows());
    const std::int64_t parts = divide_up(block_.rows, most), each = divide_up(block_.rows, parts);
    for (std::int64_t first = 0; first < block_.rows; first += each) {
      const std::int64_t rows = std::min(each, block_.rows - first);
      const std::vector<Tile> sums = sums_of(
          {rows * block_.row_windows(), width}, [&](const ProductPlace& at, const Tile& sum) {
            return product(dsl::trans(windows_at(at, first, rows)), filters_at(at, panel), sum);
          });
      for (std::size_t i = 0; i < sums.size(); ++i)
        store(panel, first, i, dsl::reshape(dsl::trans(sums[i]), results_shape(rows)));
    }
  }

  // The results of `step`, of the rows of windows in each row of the block from `first` on.
  void store(const Tile& panel, std::int64_t first, std::size_t step, Tile sums) const {
    const auto begin = static_cast<std::int64_t>(step);
    const std::int64_t width = filters_.width();
    Tile output = panel * width;
    if (shape_.has_bias) {
      Tile bias = dsl::load(dsl::make_desc(bias_, {shape_.outputs}, {shape_.bias_stride}), {output},
                            {width});
      Shape alone(sums.shape().size(), 1);
      alone[0] = width;
      sums = sums + dsl::reshape(bias, alone);
    }
    const int row_axis = static_cast<int>(shape_.row_axis());
    PlaneBlock block{.image = image_, .channel = group_ * shape_.outputs, .axes = {}};
    block.axes = {{PlaneBlock::channels, output, shape_.outputs, width},
                  {row_axis, row_ + first, divide_up(rows_.windows - begin, steps_),
                   sums.shape()[1], begin, steps_}};
    if (block_.planes > 1) {
      block.axes.push_back({1 - row_axis, plane_, planes_.windows, block_.planes});
    } else if (shape_.has_planes()) {
      block.plane = plane_;
      block.plane_axis = 1 - row_axis;
    }
    block.axes.push_back({2, column_, columns_.windows, block_.columns});
    finish_plane_block(site_, *parameters_, block, sums);
  }

  const ConvolutionSite& site_;
  const ConvolutionShape& shape_;
  const WindowAxis &planes_, &rows_, &columns_;
  ConvolutionFilters filters_;
  std::int64_t steps_;  // rows of windows in a row of a block
  WindowBlocks window_blocks_;
  bool reads_x_;  // where it lies: nothing is copied
  WindowBlock block_;
  std::int64_t blocks_;  // of windows, of all images and groups
  std::int64_t blocks_at_once_ = 1, copy_programs_ = 1, panel_programs_ = 1;
  Tile copy_;  // of what this program's block sees
  Tile x_, panels_, bias_;
  const Parameters* parameters_ = nullptr;     // of the program that is written
  Tile image_, group_, plane_, row_, column_;  // of the block: its first window
};

}  // namespace

LoweredRegion convolve_by_products(const ConvolutionSite& site) {
  return ProductsProgram(site).emit();
}

}  // namespace tilewright::graph
