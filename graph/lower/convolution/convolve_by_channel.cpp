// On a host: filters of one channel each (depthwise), as sums of products element by element.
//
// The part of a channel that a block of rows sees is copied, with the zeros around it filled in,
// and apart by the phases of the strides. There what all windows see at a place is a block of
// neighbours, and all places are added up in registers. As with products (convolve_by_products.cpp)
// one program copies and another one adds up, launched in turns for as many blocks as stay in the
// outer cache.
#include <algorithm>
#include <vector>

#include "graph/lower/convolution/convolution_epilogue.h"
#include "runtime/base/divide_up.h"
#include "runtime/cpu/parallel.h"

namespace tilewright::graph {
namespace {

using dsl::Tile;

constexpr std::int64_t most_copied = 16 << 10, all_copied = 64 << 10;  // elements: a block, all
constexpr std::int64_t programs_a_thread = 4, line = 16;

// An axis as it is copied: by phases, each of which has every `stride`-th element.
struct CopiedAxis {
  explicit CopiedAxis(const WindowAxis& axis) : axis(axis) {
    for (std::int64_t k = 0; k < axis.kernel; ++k)
      phases = std::max(phases, k * axis.dilation % axis.stride + 1);
    more = (axis.kernel - 1) * axis.dilation / axis.stride;
  }
  std::int64_t phase(std::int64_t place) const { return place * axis.dilation % axis.stride; }
  std::int64_t shift(std::int64_t place) const { return place * axis.dilation / axis.stride; }

  const WindowAxis& axis;
  std::int64_t phases = 1;
  std::int64_t more = 0;  // elements of a phase than windows
};

class ChannelProgram {
 public:
  explicit ChannelProgram(const ConvolutionSite& site)
      : site_(site),
        shape_(site.shape),
        rows_(shape_.axes[0]),
        columns_(shape_.axes[1]),
        pitch_(rounded(columns_.axis.windows + columns_.more)),
        block_rows_(choose_rows()),
        copied_rows_(block_rows_ + rows_.more),
        blocks_(shape_.images * shape_.groups * row_blocks()) {
    const std::int64_t fitting = all_copied / copied_elements();
    const std::int64_t wanted = thread_count() == 1 ? 1 : programs_a_thread * thread_count();
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
  std::int64_t phase_elements() const { return copied_rows_ * pitch_; }
  std::int64_t copied_elements() const { return rows_.phases * columns_.phases * phase_elements(); }
  std::int64_t row_blocks() const { return divide_up(rows_.axis.windows, block_rows_); }
  // Blocks of about equal size.
  std::int64_t choose_rows() const {
    const std::int64_t windows = rows_.axis.windows;
    const std::int64_t of_row = rows_.phases * columns_.phases * pitch_;
    const std::int64_t most = std::max<std::int64_t>(1, most_copied / of_row - rows_.more);
    return divide_up(windows, divide_up(windows, most));
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
    for (std::int64_t i = 0; i < rows_.phases; ++i)
      for (std::int64_t j = 0; j < columns_.phases; ++j) copy_phase(row_, i, j);
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
      convolve_output(row_, dsl::constant(ir::Scalar::of_integer(DType::i64, 0)));
    else
      for (Tile each : dsl::range(0, shape_.outputs, 1)) convolve_output(row_, each);
    return {tracer.finish(), Grid(at_once_), parameters.memory(), {}};
  }

  // The blocks of this launch, the first of which is an argument.
  void find_block(dsl::Tracer& tracer) {
    Tile number = dsl::program_id(0);
    copy_ = copy_ + number * copied_elements();
    Tile block = number + tracer.scalar_param("first", DType::i64);
    row_ = block % row_blocks() * block_rows_;
    block = block / row_blocks();
    group_ = block % shape_.groups;
    image_ = block / shape_.groups;
  }

  void copy_phase(const Tile& row, std::int64_t i, std::int64_t j) const {
    struct Seen {
      std::int64_t first, count, shift;
    };
    auto seen = [](const WindowAxis& axis, std::int64_t phase) {
      const std::int64_t at = phase - axis.before;
      const std::int64_t shift = at >= 0 ? 0 : divide_up(-at, axis.stride);
      const std::int64_t first = at + shift * axis.stride;
      return Seen{first, first < axis.size ? divide_up(axis.size - first, axis.stride) : 0, shift};
    };
    const WindowAxis &down = rows_.axis, &along = columns_.axis;
    const Seen by_row = seen(down, i), by_column = seen(along, j);
    Offset first(by_row.first * down.x_stride + by_column.first * along.x_stride);
    Tile block =
        dsl::load(dsl::make_desc(x_ + first, {by_row.count, by_column.count},
                                 {down.stride * down.x_stride, along.stride * along.x_stride}),
                  {row - by_row.shift, -by_column.shift}, {copied_rows_, pitch_});
    Offset to((i * columns_.phases + j) * phase_elements());
    dsl::store(dsl::make_desc(copy_ + to, {copied_rows_, pitch_}, {pitch_, 1}), {0, 0}, block);
  }

  void convolve_output(const Tile& row, const Tile& output) const {
    const std::int64_t windows = columns_.axis.windows;
    const std::int64_t height = rows_.axis.kernel, width = columns_.axis.kernel;
    Tile filter = filters_ + output * shape_.output_stride, bias, total;
    // Numbers are loaded before blocks, so that all blocks share the loops of the store.
    std::vector<Tile> weights;
    for (std::int64_t i = 0; i < height; ++i)
      for (std::int64_t j = 0; j < width; ++j)
        weights.push_back(dsl::load(
            filter + Offset(i * rows_.axis.filter_stride + j * columns_.axis.filter_stride)));
    if (shape_.has_bias) bias = dsl::load(bias_ + output * shape_.bias_stride);
    for (std::int64_t i = 0; i < height; ++i)
      for (std::int64_t j = 0; j < width; ++j) {
        Offset at((rows_.phase(i) * columns_.phases + columns_.phase(j)) * phase_elements() +
                  rows_.shift(i) * pitch_ + columns_.shift(j));
        Tile x = dsl::load(dsl::make_desc(copy_ + at, {block_rows_, windows}, {pitch_, 1}), {0, 0},
                           {block_rows_, windows});
        const Tile& weight = weights[static_cast<std::size_t>(i * width + j)];
        total = total.defined() ? dsl::fma(x, weight, total) : Tile(x * weight);
      }
    if (bias.defined()) total = total + bias;
    finish_plane_block(site_, *parameters_,
                       {.image = image_,
                        .channel = group_ * shape_.outputs + output,
                        .axes = {{row, rows_.axis.windows, block_rows_}, {0, windows, windows}}},
                       total);
  }

  const ConvolutionSite& site_;
  const ConvolutionShape& shape_;
  CopiedAxis rows_, columns_;
  std::int64_t pitch_;  // of rows of a phase
  std::int64_t block_rows_, copied_rows_;
  std::int64_t blocks_, at_once_ = 1;  // of rows, of all channels and images
  Tile copy_, x_, filters_, bias_;
  const Parameters* parameters_ = nullptr;  // of the program that is written
  Tile image_, group_, row_;                // of the block
};

}  // namespace

LoweredRegion convolve_by_channel(const ConvolutionSite& site) {
  return ChannelProgram(site).emit();
}

}  // namespace tilewright::graph
