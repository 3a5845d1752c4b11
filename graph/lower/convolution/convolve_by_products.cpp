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
// One program copies and another one multiplies, which reads the copy where it lies since it does
// not write there. They are launched in turns, each time for as many blocks as fit the cache or
// give all threads something to do.
//
// Filters are read in panels (convolution_filters.h).
#include <algorithm>
#include <functional>

#include "graph/lower/convolution/convolution_epilogue.h"
#include "graph/lower/convolution/convolution_filters.h"
#include "graph/lower/convolution/convolution_programs.h"
#include "runtime/base/divide_up.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

using dsl::Operand;
using dsl::Tile;
using dsl::Var;

constexpr std::int64_t most_windows = 480, window_quantum = 48;
// Rows of a product whose vectors go along the filters: fewer than are packed again
// (dsl/target/packed_product.h).
constexpr std::int64_t most_left_windows = 40;
constexpr std::int64_t most_copied_bytes = 512 << 10;  // of a block: it stays in the outer cache
constexpr std::int64_t line = 16;                      // elements
constexpr double a_copied_element = 0.3;               // cycles
constexpr double a_gathered_element = 2;
constexpr std::int64_t programs_a_thread = 2;

Tile integer(std::int64_t value) {
  return dsl::constant(ir::Scalar::of_integer(DType::i64, value));
}

// How windows are cut into blocks, of whole rows or of a part of one.
struct WindowBlock {
  std::int64_t rows = 1, columns = 1;  // of windows
  std::int64_t phases = 1;             // of rows of x
  std::int64_t copied_rows = 1;        // of each phase
  std::int64_t windows() const { return rows * columns; }
  // Of a channel: what is copied.
  std::int64_t elements(std::int64_t window_columns) const {
    return phases * window_columns * copied_rows * columns;
  }
};

std::int64_t phases_of(const WindowAxis& axis) {
  std::int64_t most = 0;
  for (std::int64_t k = 0; k < axis.kernel; ++k)
    most = std::max(most, k * axis.dilation % axis.stride);
  return most + 1;
}

class ProductsProgram {
 public:
  explicit ProductsProgram(const ConvolutionSite& site)
      : site_(site),
        shape_(site.shape),
        rows_(shape_.axes[0]),
        columns_(shape_.axes[1]),
        reads_x_(lies_as_a_matrix()),
        block_(reads_x_ ? block_of(rows_.windows, columns_.windows) : choose_block()),
        filters_(site),
        blocks_(shape_.images * shape_.groups * row_blocks() * column_blocks()) {
    const std::int64_t wanted = programs_a_thread * thread_count();
    const std::int64_t fitting = most_copied_bytes / (copied_elements() * 4);
    const std::int64_t least =
        std::max(thread_count() == 1 ? 1 : wanted, divide_up(blocks_, most_turns));
    blocks_at_once_ = std::min(blocks_, std::max(fitting, least));
    if (reads_x_) blocks_at_once_ = blocks_;
    panel_programs_ = thread_count() == 1
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
  // Whether what all windows see is a matrix in x already, with rows that lie near each other.
  bool lies_as_a_matrix() const {
    bool is_whole = shape_.places() == 1 && columns_.x_stride == 1 &&
                    (rows_.windows == 1 || rows_.x_stride == columns_.size);
    for (const WindowAxis& axis : shape_.axes)
      is_whole = is_whole && axis.stride == 1 && axis.before == 0 && axis.windows == axis.size;
    return is_whole && shape_.windows() <= most_windows;
  }
  std::int64_t row_blocks() const { return divide_up(rows_.windows, block_.rows); }
  std::int64_t column_blocks() const { return divide_up(columns_.windows, block_.columns); }
  // Of a block, in whole lines of the cache.
  std::int64_t copied_elements() const {
    return divide_up(shape_.channels * block_.elements(columns_.kernel), line) * line;
  }

  WindowBlock block_of(std::int64_t rows, std::int64_t columns) const {
    WindowBlock block{rows, columns, phases_of(rows_), 0};
    block.copied_rows = rows + (rows_.kernel - 1) * rows_.dilation / rows_.stride;
    return block;
  }
  // Cycles for all blocks of this size.
  double cycles(const WindowBlock& block) const {
    const auto vectors = static_cast<double>(divide_up(block.windows(), site_.target.lanes));
    const double products =
        vectors * static_cast<double>(shape_.outputs * shape_.channels * shape_.places());
    const double copied = static_cast<double>(shape_.channels * block.elements(columns_.kernel));
    const double each = columns_.stride == 1 ? a_copied_element : a_gathered_element;
    return static_cast<double>(divide_up(rows_.windows, block.rows) *
                               divide_up(columns_.windows, block.columns)) *
           (products + each * copied);
  }
  WindowBlock choose_block() const {
    WindowBlock best = block_of(1, std::min(columns_.windows, window_quantum));
    double least = cycles(best);
    auto offer = [&](std::int64_t rows, std::int64_t columns) {
      const WindowBlock block = block_of(rows, columns);
      const std::int64_t bytes = shape_.channels * block.elements(columns_.kernel) * 4;
      if (block.windows() > most_windows || bytes > most_copied_bytes) return;
      if (const double with = cycles(block); with < least) {
        least = with;
        best = block;
      }
    };
    for (std::int64_t rows = 1; rows <= rows_.windows; ++rows) offer(rows, columns_.windows);
    for (std::int64_t columns = window_quantum; columns <= most_windows; columns += window_quantum)
      offer(1, std::min(columns, columns_.windows));
    return best;
  }
  LoweredProgram copy_program(const std::vector<Scratch>& scratch) {
    dsl::Tracer tracer("convolution_windows");
    Parameters parameters(tracer, site_.list, site_.region);
    parameters.add(site_.task.operands[0].storage);
    copy_ = parameters.add_scratch(0, scratch[0]);
    find_block(tracer);
    x_ = x_of_block(parameters);
    copy_windows();
    return {tracer.finish(), Grid(blocks_at_once_), parameters.memory(), {}};
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
    group_ = block % shape_.groups;
    image_ = block / shape_.groups;
  }

  Tile x_of_block(const Parameters& parameters) const {
    return parameters.pointer(site_.task.operands[0].storage) +
           (image_ * shape_.image_stride + group_ * (shape_.channels * shape_.channel_stride) +
            shape_.x_offset);
  }

  // An axis of x as windows see it from a place on: every `stride`-th element, the first that there
  // is, and how many windows begin before that one.
  struct Seen {
    std::int64_t first, count, shift;
  };
  static Seen seen(const WindowAxis& axis, std::int64_t place) {
    const std::int64_t at = place - axis.before;
    const std::int64_t shift = at >= 0 ? 0 : divide_up(-at, axis.stride);
    const std::int64_t first = at + shift * axis.stride;
    return {first, first < axis.size ? divide_up(axis.size - first, axis.stride) : 0, shift};
  }

  void copy_windows() const {
    const std::int64_t rows = block_.copied_rows, columns = block_.columns, size = rows * columns;
    for (std::int64_t phase = 0; phase < block_.phases; ++phase)
      for (std::int64_t place = 0; place < columns_.kernel; ++place) {
        const Seen along_rows = seen(rows_, phase),
                   along_columns = seen(columns_, place * columns_.dilation);
        Offset first(along_rows.first * rows_.x_stride + along_columns.first * columns_.x_stride);
        Tile block = dsl::load(
            dsl::make_desc(x_ + first, {shape_.channels, along_rows.count, along_columns.count},
                           {shape_.channel_stride, rows_.stride * rows_.x_stride,
                            columns_.stride * columns_.x_stride}),
            {0, row_ - along_rows.shift, column_ - along_columns.shift},
            {shape_.channels, rows, columns});
        Offset to((phase * shape_.channels * columns_.kernel + place) * size);
        dsl::store(dsl::make_desc(copy_ + to, {shape_.channels, rows, columns},
                                  {columns_.kernel * size, columns, 1}),
                   {0, 0, 0}, block);
      }
  }

  // What a row of a window's places sees: of `count` rows of windows from `first` on.
  Tile windows_at(const Tile& row, std::int64_t first, std::int64_t count) const {
    const std::int64_t size = block_.copied_rows * block_.columns;
    Tile along = row * rows_.dilation, from = along;
    if (rows_.stride != 1) {
      Tile phase = along % rows_.stride;
      from = along / rows_.stride * block_.columns + phase * (depth() * size);
    } else {
      from = along * block_.columns;
    }
    const std::int64_t windows = count * block_.columns;
    Tile pointer = copy_ + from;
    if (first != 0) pointer = pointer + first * block_.columns;
    const std::int64_t distance = reads_x_ ? shape_.channel_stride : size;
    return dsl::load(dsl::make_desc(pointer, {depth(), windows}, {distance, 1}), {0, 0},
                     {depth(), windows});
  }
  std::int64_t depth() const { return shape_.channels * columns_.kernel; }  // of one product
  Tile filters_at(const Tile& row, const Tile& panel) const {
    const std::int64_t width = filters_.width();
    Tile from = panels_ + (panel * filters_.panel_elements() + row * (depth() * width));
    return dsl::load(dsl::make_desc(from, {depth(), width}, {width, 1}), {0, 0}, {depth(), width});
  }

  Tile sum_over_rows(const Shape& shape, const std::function<Tile(const Tile&, const Tile&)>& add) {
    if (rows_.kernel == 1) return add(integer(0), {});
    Var total = dsl::zeros(shape, DType::f32);
    for (Tile row : dsl::range(0, rows_.kernel, 1)) total = add(row, total);
    return total;
  }
  static Tile product(const Tile& a, const Tile& b, const Tile& sum) {
    return sum.defined() ? dsl::dot(a, b, sum) : dsl::dot(a, b);
  }

  void convolve_outputs(const Tile& panel) {
    const std::int64_t width = filters_.width();
    if (!filters_.vectors_go_along()) {
      Tile sums = sum_over_rows({width, block_.windows()}, [&](const Tile& row, const Tile& sum) {
        return product(dsl::trans(filters_at(row, panel)), windows_at(row, 0, block_.rows), sum);
      });
      return store(panel, 0, dsl::reshape(sums, {width, block_.rows, block_.columns}));
    }
    const std::int64_t most = std::max<std::int64_t>(1, most_left_windows / block_.columns);
    const std::int64_t parts = divide_up(block_.rows, most), each = divide_up(block_.rows, parts);
    for (std::int64_t first = 0; first < block_.rows; first += each) {
      const std::int64_t rows = std::min(each, block_.rows - first);
      Tile sums =
          sum_over_rows({rows * block_.columns, width}, [&](const Tile& row, const Tile& sum) {
            return product(dsl::trans(windows_at(row, first, rows)), filters_at(row, panel), sum);
          });
      store(panel, first, dsl::reshape(dsl::trans(sums), {width, rows, block_.columns}));
    }
  }

  void store(const Tile& panel, std::int64_t first, Tile sums) const {
    const std::int64_t width = filters_.width();
    Tile output = panel * width;
    if (shape_.has_bias) {
      Tile bias = dsl::load(dsl::make_desc(bias_, {shape_.outputs}, {shape_.bias_stride}), {output},
                            {width});
      sums = sums + dsl::reshape(bias, {width, 1, 1});
    }
    const Shape& block = sums.shape();
    finish_plane_block(site_, *parameters_,
                       {.image = image_,
                        .channel = group_ * shape_.outputs,
                        .axes = {{output, shape_.outputs, block[0]},
                                 {row_ + first, rows_.windows, block[1]},
                                 {column_, columns_.windows, block[2]}}},
                       sums);
  }

  const ConvolutionSite& site_;
  const ConvolutionShape& shape_;
  const WindowAxis &rows_, &columns_;
  bool reads_x_;  // where it lies: nothing is copied
  WindowBlock block_;
  ConvolutionFilters filters_;
  std::int64_t blocks_;  // of windows, of all images and groups
  std::int64_t blocks_at_once_ = 1, panel_programs_ = 1;
  Tile copy_;  // of what this program's block sees
  Tile x_, panels_, bias_;
  const Parameters* parameters_ = nullptr;  // of the program that is written
  Tile image_, group_, row_, column_;       // of the block: its first window
};

}  // namespace

LoweredRegion convolve_by_products(const ConvolutionSite& site) {
  return ProductsProgram(site).emit();
}

}  // namespace tilewright::graph
