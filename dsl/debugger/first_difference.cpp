#include "dsl/debugger/first_difference.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <typeinfo>

#include "dsl/debugger/element_value.h"
#include "dsl/debugger/host_arguments.h"
#include "dsl/debugger/interpretation.h"
#include "dsl/debugger/observed_program.h"
#include "dsl/language/launch_checks.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/staged.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

// Compares as many elements as two functions give.
class Comparison {
 public:
  Comparison(DType dtype, const DifferenceOptions& options) : dtype_(dtype), options_(options) {}

  struct Found {
    std::int64_t first = 0, differing = 0;
    ElementValue defined, computed;
  };
  template <typename Defined, typename Computed>
  std::optional<Found> operator()(std::int64_t count, Defined defined, Computed computed) const {
    double largest = 0;
    for (std::int64_t i = 0; is_floating(dtype_) && i < count; ++i)
      if (double size = std::abs(defined(i).number); std::isfinite(size))
        largest = std::max(largest, size);
    const double bound = options_.absolute + relative() * largest;
    std::optional<Found> found;
    for (std::int64_t i = 0; i < count; ++i) {
      const ElementValue a = defined(i), b = computed(i);
      if (!differ(a, b, bound)) continue;
      if (!found) found = Found{i, 0, a, b};
      ++found->differing;
    }
    return found;
  }

 private:
  double relative() const {
    return options_.relative.value_or(std::ldexp(1, -(digits(dtype_) / 2 + 1)));
  }
  bool differ(const ElementValue& a, const ElementValue& b, double bound) const {
    if (!is_floating(dtype_)) return a.integer != b.integer;
    if (std::isnan(a.number) || std::isnan(b.number))
      return std::isnan(a.number) != std::isnan(b.number);
    if (a.number == b.number) return false;
    return !(std::abs(a.number - b.number) <= bound);
  }

  DType dtype_;
  const DifferenceOptions& options_;
};

class Search {
 public:
  Search(const ir::Function& program, const Device& device, const Grid& grid,
         LaunchArguments arguments, const DifferenceOptions& options)
      : program_(program), device_(device), grid_(grid), arguments_(arguments), options_(options) {}

  std::optional<Difference> run() {
    std::optional<Difference> difference = in_results();
    if (!difference) return std::nullopt;
    difference->device = device_.text();
    constexpr std::size_t together = 16;
    difference->origin = earliest(together);
    if (difference->origin)
      difference->origin->is_seen_alone = is_seen_alone(*difference->origin);
    else if ((difference->origin = earliest(1)))
      difference->origin->is_seen_alone = true;
    return difference;
  }

 private:
  using Origin = Difference::Origin;

  // Also notes what there is to observe, and how often each is computed.
  std::optional<Difference> in_results() {
    note_values();
    HostArguments defined(program_, arguments_, true), computed(program_, arguments_, true);
    interpret_on(defined, [this](const TraceStep& step) {
      for (ObservedValue& value : values_)
        if (value.instruction == step.instruction)
          value.times = std::max(value.times, step.turn + 1);
    });
    std::erase_if(values_, [](const ObservedValue& value) { return value.times == 0; });
    launch_staged(device_, *compile(program_, device_), grid_, computed.values(),
                  computed.memories());
    std::vector<ParameterUse> uses = parameter_use(program_);
    for (std::size_t p = 0; p < uses.size(); ++p) {
      if (!uses[p].is_written) continue;
      const DType dtype = arguments_[p].dtype();
      const std::int64_t count = arguments_[p].size_bytes() / size_bytes(dtype);
      auto at = [&](const HostArguments& side) {
        return [&, memory = side.values()[p].pointer](std::int64_t i) {
          return element_at(dtype, memory, i);
        };
      };
      if (auto found = Comparison(dtype, options_)(count, at(defined), at(computed)))
        return Difference{program_.params[p].name, dtype, found->first,
                          found->differing,        count, found->defined,
                          found->computed,         {},    {}};
    }
    return std::nullopt;
  }

  void note_values() {
    std::size_t place = 0;
    ir::for_each_inst(program_.body, [&](const ir::Inst& inst) {
      for (std::size_t i = 0; i < inst.results.size(); ++i)
        if (const ir::Type& type = program_.type(inst.results[i]); type.is_value())
          values_.push_back({place, i, type, 0, 0});
      ++place;
    });
  }

  // Without what the debugger looks for: only values are compared here.
  void interpret_on(HostArguments& copies, const TraceObserver& observer) const {
    std::vector<LaunchArgument> arguments;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const LaunchArgument& argument = arguments_[i];
      if (argument.is_pointer())
        arguments.emplace_back(copies.values()[i].pointer, argument.dtype(),
                               argument.size_bytes() / size_bytes(argument.dtype()));
      else
        arguments.push_back(argument);
    }
    interpret(program_, grid_, arguments, {.observer = observer});
  }

  // The earliest difference of those that groups of so many values show.
  std::optional<Origin> earliest(std::size_t together) {
    std::optional<Origin> first;
    std::int64_t earliest_step = 0;
    for (std::size_t begin = 0; begin < values_.size(); begin += together) {
      std::size_t count = std::min(together, values_.size() - begin);
      std::int64_t step = 0;
      auto found = in_values(std::span(values_).subspan(begin, count), step);
      if (!found || (first && step >= earliest_step)) continue;
      first = std::move(found);
      earliest_step = step;
    }
    return first;
  }

  bool is_seen_alone(const Origin& origin) {
    std::int64_t step = 0;
    for (const ObservedValue& value : values_)
      if (texts_.at(value.instruction) == origin.text)
        if (in_values({&value, 1}, step)) return true;
    return false;
  }

  // The values that compiled code has stored.
  struct Stored {
    ObservedValue value;
    std::vector<std::int64_t> counts;
    std::shared_ptr<Buffer> elements;
    ElementValue at(std::int64_t program, std::int64_t time, std::int64_t element) const {
      return element_at(value.type.dtype, elements->data(),
                        (program * value.times + time) * value.elements() + element);
    }
    bool has(std::int64_t program, std::int64_t time) const {
      return program < value.programs && time < value.times &&
             time < counts[static_cast<std::size_t>(program)];
    }
  };

  // As many programs, and then as many times of each, as there is room for.
  std::vector<ObservedValue> fitted(std::span<const ObservedValue> values) const {
    std::vector<ObservedValue> fitted(values.begin(), values.end());
    const std::int64_t room = options_.most_bytes / static_cast<std::int64_t>(values.size());
    for (ObservedValue& value : fitted) {
      const std::int64_t bytes = value.elements() * size_bytes(value.type.dtype);
      value.programs = std::clamp<std::int64_t>(room / bytes, 1, grid_.count());
      value.times = std::clamp<std::int64_t>(room / (bytes * value.programs), 1, value.times);
    }
    return fitted;
  }

  std::vector<Stored> stored(std::span<const ObservedValue> values) const {
    HostArguments host(program_, arguments_, true);
    std::vector<Argument> all(host.values().begin(), host.values().end());
    std::vector<ir::Memory> memories(host.memories().begin(), host.memories().end());
    const std::vector<ObservedValue> observed = fitted(values);
    std::vector<Stored> stored;
    for (const ObservedValue& value : observed) {
      const std::int64_t bytes =
          value.programs * value.times * value.elements() * size_bytes(value.type.dtype);
      stored.push_back({value, std::vector<std::int64_t>(static_cast<std::size_t>(grid_.count())),
                        Buffer::allocate(bytes)});
    }
    for (Stored& one : stored) {
      memories.push_back({one.counts.data(), std::ssize(one.counts) * 8});
      memories.push_back({one.elements->data(), one.elements->size_bytes()});
    }
    for (std::size_t i = all.size(); i < memories.size(); ++i)
      all.push_back({.pointer = memories[i].data});
    launch_staged(device_, *compile(observed_program(program_, observed), device_), grid_, all,
                  memories);
    return stored;
  }

  std::optional<Origin> in_values(std::span<const ObservedValue> values, std::int64_t& at_step) {
    const std::vector<Stored> all = stored(values);
    std::optional<Origin> first;
    texts_.clear();
    HostArguments copies(program_, arguments_, true);
    interpret_on(copies, [&](const TraceStep& step) {
      texts_.resize(std::max(texts_.size(), step.instruction + 1));
      texts_[step.instruction] = step.text;
      if (first && step.number >= at_step) return;
      for (const Stored& one : all) {
        if (one.value.instruction != step.instruction) continue;
        const std::int64_t program = linear(step.program);
        if (!one.has(program, step.turn)) continue;
        const TileView& tile = step.results[one.value.result];
        auto found = Comparison(tile.dtype(), options_)(
            tile.count(),
            [&](std::int64_t i) {
              return ElementValue{tile.number(i), tile.integer(i)};
            },
            [&](std::int64_t i) { return one.at(program, step.turn, i); });
        if (!found) continue;
        first = origin_of(step, tile, *found);
        at_step = step.number;
        return;
      }
    });
    return first;
  }

  static Origin origin_of(const TraceStep& step, const TileView& tile,
                          const Comparison::Found& found) {
    Origin origin;
    origin.text = step.text;
    origin.name = step.name;
    origin.place = step.place;
    origin.program = step.program;
    origin.turn = step.turn;
    origin.index = tile.index_of(found.first);
    origin.dtype = tile.dtype();
    origin.defined = found.defined;
    origin.computed = found.computed;
    origin.differing = found.differing;
    origin.count = tile.count();
    return origin;
  }

  std::int64_t linear(const std::array<std::int64_t, 3>& program) const {
    return program[0] + grid_.size[0] * (program[1] + grid_.size[1] * program[2]);
  }

  const ir::Function& program_;
  const Device& device_;
  const Grid& grid_;
  LaunchArguments arguments_;
  const DifferenceOptions& options_;
  std::vector<ObservedValue> values_;
  std::vector<std::string> texts_;  // of the instructions that were run, by place
};

}  // namespace

std::string Difference::text() const {
  std::string text =
      concat("index ", index, " of ", parameter, " is ", element_text(dtype, computed), " on ",
             device, ", and ", element_text(dtype, defined), " by definition (", differing, " of ",
             count, " elements differ)\n");
  if (!origin)
    return text +
           "no tile in between differs where it is observed: the code is another when it stores "
           "what it computes\n";
  text += concat(origin->place, ": ", origin->text, "\n  is the first that differs: program (",
                 origin->program[0], ", ", origin->program[1], ", ", origin->program[2], "), turn ",
                 origin->turn, ", element ", index_text(origin->index), " is ",
                 element_text(origin->dtype, origin->computed), ", and ",
                 element_text(origin->dtype, origin->defined), " by definition (",
                 origin->differing, " of ", origin->count, " elements differ)\n");
  if (!origin->is_seen_alone)
    text += "  where it alone is observed it does not differ: the code is then another\n";
  return text;
}

std::optional<Difference> first_difference(const ir::Function& program, const Device& device,
                                           const Grid& grid, LaunchArguments arguments,
                                           const DifferenceOptions& options) {
  if (require_grid(program.name, grid) == 0) return std::nullopt;
  require_arguments(program, arguments);
  return Search(program, device, grid, arguments, options).run();
}

std::optional<Difference> first_difference(const Kernel& kernel, const Device& device,
                                           const LaunchGrid& grid, LaunchArguments arguments,
                                           const DifferenceOptions& options) {
  try {
    ir::Function program = kernel.program_of(arguments, device);
    std::vector<LaunchArgument> of_program = arguments_of_program(kernel, arguments);
    return first_difference(program, device, grid.of(kernel, arguments), of_program, options);
  } catch (const Error& error) {
    // Errors that mean more than their text go on as they are.
    if (typeid(error) != typeid(Error)) throw;
    raise_error(concat(error.what(), " (compared at ", describe(grid.where()), ")"));
  }
}

std::optional<Difference> first_difference(const Kernel& kernel, const Device& device,
                                           const LaunchGrid& grid,
                                           std::initializer_list<LaunchArgument> arguments,
                                           const DifferenceOptions& options) {
  return first_difference(kernel, device, grid,
                          LaunchArguments(arguments.begin(), arguments.size()), options);
}

}  // namespace tilewright::dsl
