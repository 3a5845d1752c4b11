// The ways in which a convolution becomes programs (lower_convolution in convolution.cpp chooses).
#pragma once

#include "graph/lower/convolution/convolution_shape.h"
#include "graph/lower/frame.h"

namespace tilewright::graph {

// Shared by the programs of one region.
struct ConvolutionSite {
  ConvolutionSite(const TaskList& list, const Region& region, const dsl::Target& target,
                  std::size_t axes)
      : list(list),
        region(region),
        target(target),
        task(list.tasks[region.tasks[0]]),
        shape(task, axes) {}

  const TaskList& list;
  const Region& region;
  const dsl::Target& target;
  const Task& task;
  ConvolutionShape shape;
};

// Programs that copy and programs that read the copy are launched in turns, at most this many: a
// plan lists them all.
inline constexpr std::int64_t most_turns = 128;

// True if the task is a convolution whose programs are of the first of these.
bool is_convolved_by_products(const Task& task, const dsl::Target& target);
// On a host, of f32, of sites with three axes: filters that see several channels, and those of one.
LoweredRegion convolve_by_products(const ConvolutionSite& site);
LoweredRegion convolve_by_channel(const ConvolutionSite& site);
// On GPUs: each element of x is read where it lies.
LoweredRegion convolve_in_place(const ConvolutionSite& site);

}  // namespace tilewright::graph
