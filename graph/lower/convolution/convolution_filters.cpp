#include "graph/lower/convolution/convolution_filters.h"

#include <algorithm>
#include <array>
#include <utility>

#include "graph/lower/packed_weights.h"
#include "graph/regions/winograd.h"
#include "runtime/base/divide_up.h"

namespace tilewright::graph {
namespace {

// Rows of a product that is not packed again (dsl/target/packed_product.h), in whole blocks of
// accumulators; and columns of one, likewise.
constexpr std::int64_t most_rows = 40, row_quantum = 8, vectors = 3;
// Filters lie apart by what is often a multiple of pages, whose lines share few places of the
// innermost cache: so many are read side by side that it holds a line of each.
constexpr std::int64_t outputs_together = 8;
constexpr std::int64_t few_windows = 64;  // of which the last vector would leave too much empty

// The largest width that leaves no rest; with one group the last panel may be filled up.
std::int64_t width_of(std::int64_t outputs, std::int64_t groups, std::int64_t most,
                      std::int64_t quantum) {
  if (outputs <= most) return outputs;
  for (std::int64_t width = most; width >= quantum; width -= quantum)
    if (outputs % width == 0) return width;
  if (groups == 1) return most;
  for (std::int64_t width = most;; --width)
    if (outputs % width == 0) return width;
}

// Winograd's transform saves a third of the products, and costs twice the copy and a sum more of
// each result: many outputs share the copy, and many channels the sum.
bool winograd_pays(const ConvolutionShape& shape) {
  constexpr std::int64_t least_outputs = 32, least_channels = 16;
  const WindowAxis& rows = shape.rows();
  return !shape.has_planes() && rows.kernel == winograd::taps && rows.stride == 1 &&
         rows.dilation == 1 && rows.windows >= winograd::results &&
         shape.outputs >= least_outputs && shape.channels >= least_channels;
}

// The depth of a product for one output: channels and the places of a window in a row.
StridedView depth_of(const ConvolutionShape& shape) {
  StridedView view;
  view.shape = {shape.channels};
  view.strides = {shape.filter_stride};
  auto add = [&](const WindowAxis& axis) {
    view.shape.push_back(axis.kernel);
    view.strides.push_back(axis.filter_stride);
  };
  if (shape.has_planes()) add(shape.planes());
  add(shape.columns());
  return view;
}
template <typename List>
List with_ends(std::int64_t first, List list, std::int64_t last) {
  list.insert(list.begin(), first);
  list.push_back(last);
  return list;
}

}  // namespace

bool vectors_go_along_outputs(const ConvolutionShape& shape, const dsl::Target& target) {
  return shape.windows() <= few_windows && shape.columns().windows <= most_rows &&
         shape.outputs >= vectors * target.lanes;
}

ConvolutionFilters::ConvolutionFilters(const ConvolutionSite& site)
    : site_(site),
      vectors_go_along_(vectors_go_along_outputs(site.shape, site.target)),
      uses_winograd_(are_packed() ? storage().is_winograd
                                  : site.list.transforms_rows && winograd_pays(site.shape)),
      width_(vectors_go_along_
                 ? width_of(site.shape.outputs, site.shape.groups, vectors * site.target.lanes,
                            vectors * site.target.lanes)
                 : width_of(site.shape.outputs, site.shape.groups, most_rows, row_quantum)) {}

std::int64_t ConvolutionFilters::group_panels() const {
  return divide_up(site_.shape.outputs, width_);
}
std::int64_t ConvolutionFilters::panel_elements() const { return rows() * depth() * width_; }
std::int64_t ConvolutionFilters::rows() const {
  return uses_winograd_ ? winograd::products : site_.shape.rows().kernel;
}
std::int64_t ConvolutionFilters::depth() const {
  return site_.shape.channels * site_.shape.planes().kernel * site_.shape.columns().kernel;
}

Scratch ConvolutionFilters::scratch() const {
  return {DType::f32, site_.shape.groups * group_panels() * panel_elements()};
}

LoweredProgram ConvolutionFilters::pack(const std::vector<Scratch>& scratch) const {
  const ConvolutionShape& shape = site_.shape;
  dsl::Tracer tracer("convolution_filters");
  Parameters parameters(tracer, site_.list, site_.region);
  const StorageId storage = site_.task.operands[1].storage;
  parameters.add(storage);
  dsl::Tile to = parameters.add_scratch(1, scratch[1]);
  ProgramGrid programs = open_grid({group_panels(), shape.groups, 1}, site_.target);
  Offset from(shape.filter_offset), panel;
  dsl::Operand left = shape.outputs;  // outputs of this panel and those behind it
  if (const dsl::Tile& group = programs.index[1]; group.defined()) {
    from.add(group, shape.outputs * shape.output_stride);
    panel.add(group, group_panels() * panel_elements());
  }
  if (const dsl::Tile& number = programs.index[0]; number.defined()) {
    from.add(number, width_ * shape.output_stride);
    panel.add(number, panel_elements());
    left = shape.outputs - number * width_;
  }
  const StridedView depth = depth_of(shape);
  const Shape packed_shape = with_ends(rows(), depth.shape, width_);
  auto operands = [](const auto& numbers) {
    return std::vector<dsl::Operand>(numbers.begin(), numbers.end());
  };
  std::vector<dsl::Operand> sizes = operands(packed_shape), strides = operands(depth.strides);
  dsl::Desc packed = dsl::make_desc(to + panel, sizes, operands(row_major_strides(packed_shape)));
  sizes.front() = shape.rows().kernel;
  sizes.back() = left;
  strides.insert(strides.begin(), shape.rows().filter_stride);
  strides.emplace_back(shape.output_stride);
  dsl::Desc filters = dsl::make_desc(parameters.pointer(storage) + from, sizes, strides);
  auto pack_outputs = [&](const dsl::Operand& output, std::int64_t count) {
    std::vector<dsl::Operand> place(sizes.size(), 0);
    place.back() = output;
    auto load = [&](std::int64_t first, std::int64_t rows_loaded) {
      place.front() = first;
      return dsl::load(filters, place, with_ends(rows_loaded, depth.shape, count));
    };
    auto store = [&](std::int64_t row, const dsl::Tile& tile) {
      place.front() = row;
      dsl::store(packed, place, tile);
    };
    if (uses_winograd_) {
      const std::array products = winograd::filters(load(0, 1), load(1, 1), load(2, 1));
      for (std::int64_t i = 0; i < winograd::products; ++i)
        store(i, products[static_cast<std::size_t>(i)]);
    } else {
      store(0, load(0, shape.rows().kernel));
    }
  };
  if (width_ % outputs_together == 0)
    for (dsl::Tile output : dsl::range(0, width_, outputs_together))
      pack_outputs(output, outputs_together);
  else
    pack_outputs(0, width_);
  return {tracer.finish(), programs.grid, parameters.memory()};
}

void use_packed_filters(TaskList& list, const Region& region, const dsl::Target& host) {
  Task& task = list.tasks[region.tasks[0]];
  if (!is_convolved_by_products(task, host)) return;
  TaskOperand& filters = task.operands[1];
  if (!may_be_packed(list, filters)) return;
  const ConvolutionSite site(list, region, host, 3);
  const ConvolutionShape& shape = site.shape;
  const ConvolutionFilters panels(site);
  const std::int64_t outputs = shape.groups * shape.outputs;
  const StridedView depth = depth_of(shape);
  Storage packed;
  packed.packed_from = {with_ends(shape.rows().kernel, depth.shape, outputs),
                        with_ends(shape.rows().filter_stride, depth.strides, shape.output_stride),
                        shape.filter_offset};
  packed.panels = {panels.width(), false};
  packed.is_winograd = panels.uses_winograd();
  packed.elements = packed.panels.elements(panels.rows() * panels.depth(), outputs);
  read_packed(list, filters, std::move(packed));
  filters.view.strides = row_major_strides(filters.view.shape);
  filters.view.offset = 0;
}

}  // namespace tilewright::graph
