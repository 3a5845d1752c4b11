#include "dsl/debugger/interpretation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <typeinfo>
#include <unordered_map>

#include "dsl/debugger/host_arguments.h"
#include "dsl/debugger/memory_watch.h"
#include "dsl/interpret/access_check.h"
#include "dsl/ir/text/text.h"
#include "dsl/language/launch_checks.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

using ir::Executed;
using ir::Inst;
using ir::OpClass;
using ir::Touched;

bool makes_numbers(const Inst& inst) {
  switch (ir::info(inst.op).op_class) {
    case OpClass::elementwise:
    case OpClass::reduction:
    case OpClass::contraction: return true;
    case OpClass::creation:
    case OpClass::shape:
    case OpClass::memory:
    case OpClass::hint:
    case OpClass::control:
    case OpClass::exchange:
    case OpClass::selection: return false;
  }
  __builtin_unreachable();
}

bool is_floating_tile(const TileView& tile) {
  return tile.type().is_value() && is_floating(tile.dtype());
}

bool has_nan(const TileView& tile) {
  if (!is_floating_tile(tile)) return false;
  for (std::int64_t i = 0; i < tile.count(); ++i)
    if (std::isnan(tile.number(i))) return true;
  return false;
}

// Watches one run.
class Watch {
 public:
  Watch(const ir::Function& function, const HostArguments& arguments,
        const InterpretOptions& options)
      : function_(function),
        arguments_(arguments),
        options_(options),
        texts_(ir::instruction_texts(function)),
        races_(function, arguments.values()),
        writes_(function, arguments.values(), options.unwritten, options.complete) {
    ir::for_each_inst(function.body, [&](const Inst& inst) {
      std::string place = ir::source_place(inst);
      instructions_.emplace(&inst, Known{instructions_.size(), std::move(place)});
    });
    require(options.watch.empty() ||
                std::ranges::find(function.hints, options.watch) != function.hints.end(),
            "[", function.name, "] no tile is named \"", options.watch, "\"; ", known_names());
  }

  ir::Observer observer() {
    ir::Observer observer;
    observer.executed = [this](const Executed& executed) { look(executed); };
    observer.touched = [this](const Touched& touched) { look(touched); };
    return observer;
  }
  // When all programs have run.
  void finish() const { writes_.finish(arguments_.memories()); }

 private:
  struct Known {
    std::size_t number;
    std::string place;
  };
  // The progress of one program.
  struct Progress {
    std::int64_t steps = 0;
    std::unordered_map<const Inst*, std::int64_t> turns;
  };

  std::string known_names() const {
    std::string text;
    for (const std::string& name : function_.hints)
      if (!name.empty() && text.find("\"" + name + "\"") == std::string::npos)
        text += (text.empty() ? "there are \"" : ", \"") + name + "\"";
    return text.empty() ? "name it by named(tile, \"name\")" : text;
  }

  // Only the programs of one cluster are under way together.
  Progress& progress_of(const ir::ProgramIndex& program) {
    const ir::ProgramIndex cluster = {program[0] / function_.cluster, program[1], program[2]};
    if (cluster != cluster_) progress_.clear();
    cluster_ = cluster;
    return progress_[program];
  }

  void look(const Touched& touched) {
    require_some(touched);
    if (options_.races) races_.look(touched, progress_of(touched.program).steps);
    if (!options_.unwritten.empty() || !options_.complete.empty()) writes_.look(touched);
  }

  // The interpreter takes no bytes for an unknown size; memory that is known to have none is known.
  void require_some(const Touched& touched) const {
    if (touched.param < 0) return;
    auto p = static_cast<std::size_t>(touched.param);
    require(!arguments_.is_empty(p), ir::source_place(touched.inst), ": [",
            ir::info(touched.inst.op).name, "] ", ir::text_of(touched.program), ", element ",
            touched.element, ": ", element_name(function_, arguments_.values(), touched),
            " is outside: it has 0 elements; mask elements outside");
  }

  void look(const Executed& executed) {
    Progress& progress = progress_of(executed.program);
    const std::int64_t number = progress.steps++, turn = progress.turns[&executed.inst]++;
    const bool is_shown = options_.observer && is_wanted(executed);
    if (!is_shown && !options_.nans) return;
    const Known& known = instructions_.at(&executed.inst);
    std::string_view name;
    for (ir::Value result : executed.inst.results)
      if (name.empty()) name = ir::name_of(function_, result);
    TraceStep step{
        executed.program, number, turn, known.number, texts_[known.number], name, known.place,
        executed.inst,    {},     {}};
    if (executed.inst.bodies.empty()) step.operands = views(executed, executed.inst.operands);
    step.results = views(executed, executed.inst.results);
    if (is_shown) options_.observer(step);
    if (options_.nans && makes_numbers(executed.inst)) require_no_new_nan(step);
  }

  bool is_wanted(const Executed& executed) const {
    if (options_.program && *options_.program != executed.program) return false;
    return options_.watch.empty() || std::ranges::any_of(executed.inst.results, [&](ir::Value v) {
             return ir::name_of(function_, v) == options_.watch;
           });
  }

  std::vector<TileView> views(const Executed& executed,
                              const std::vector<ir::Value>& values) const {
    std::vector<TileView> views;
    for (ir::Value value : values) {
      const ir::TileData& data = *executed.values[value];
      std::string_view array;
      std::int64_t base = 0;
      if (data.param >= 0) {
        const auto p = static_cast<std::size_t>(data.param);
        array = function_.params[p].name;
        base = reinterpret_cast<std::int64_t>(arguments_.values()[p].pointer);
      }
      views.emplace_back(function_.type(value), data, array, base);
    }
    return views;
  }

  static void require_no_new_nan(const TraceStep& step) {
    const bool by_element = ir::info(step.inst.op).op_class == OpClass::elementwise;
    if (!by_element && std::ranges::any_of(step.operands, has_nan)) return;
    for (const TileView& result : step.results) {
      if (!is_floating_tile(result)) continue;
      for (std::int64_t i = 0; i < result.count(); ++i) {
        if (!std::isnan(result.number(i))) continue;
        std::string from;
        bool is_new = true;
        for (const TileView& operand : step.operands) {
          if (!by_element) continue;
          is_new = is_new && !(is_floating_tile(operand) && std::isnan(operand.number(i)));
          from += (from.empty() ? " of " : " and ") + operand.text(i);
        }
        require(!is_new, step.place, ": [", ir::info(step.inst.op).name, "] ",
                ir::text_of(step.program), ", element ", index_text(result.index_of(i)), ": ",
                step.text, " makes NaN", from, "; no operand has one there");
      }
    }
  }

  const ir::Function& function_;
  const HostArguments& arguments_;
  const InterpretOptions& options_;
  std::vector<std::string> texts_;
  RaceWatch races_;
  WriteWatch writes_;
  std::unordered_map<const Inst*, Known> instructions_;
  ir::ProgramIndex cluster_ = {-1, -1, -1};
  std::map<ir::ProgramIndex, Progress> progress_;
};

void require_program(const ir::Function& function, const Grid& grid,
                     const InterpretOptions& options) {
  if (!options.program) return;
  const auto& [x, y, z] = *options.program;
  const bool is_there =
      x >= 0 && x < grid.size[0] && y >= 0 && y < grid.size[1] && z >= 0 && z < grid.size[2];
  require(is_there, "[", function.name, "] there is no ", ir::text_of(*options.program),
          "; the grid is ", grid.size[0], " x ", grid.size[1], " x ", grid.size[2]);
}

}  // namespace

void interpret(const ir::Function& program, const Grid& grid, LaunchArguments arguments,
               const InterpretOptions& options) {
  if (require_grid(program.name, grid) == 0) return;
  require_program(program, grid, options);
  require_arguments(program, arguments);
  HostArguments host(program, arguments, false);
  Watch watch(program, host, options);
  ir::interpret(program, grid, host.values(), host.memories(), watch.observer());
  watch.finish();
  host.write_back();
}

std::string program_text(const Kernel& kernel, LaunchArguments arguments) {
  return ir::print(kernel.program_of(arguments, Device::cpu()));
}

std::string program_text(const Kernel& kernel, std::initializer_list<LaunchArgument> arguments) {
  return program_text(kernel, LaunchArguments(arguments.begin(), arguments.size()));
}

void interpret(const Kernel& kernel, const LaunchGrid& grid, LaunchArguments arguments,
               const InterpretOptions& options) {
  try {
    ir::Function program = kernel.program_of(arguments, Device::cpu());
    interpret(program, grid.of(kernel, arguments), arguments_of_program(kernel, arguments),
              options);
  } catch (const Error& error) {
    // Errors that mean more than their text go on as they are.
    if (typeid(error) != typeid(Error)) throw;
    raise_error(concat(error.what(), " (interpreted at ", describe(grid.where()), ")"));
  }
}

void interpret(const Kernel& kernel, const LaunchGrid& grid,
               std::initializer_list<LaunchArgument> arguments, const InterpretOptions& options) {
  interpret(kernel, grid, LaunchArguments(arguments.begin(), arguments.size()), options);
}

}  // namespace tilewright::dsl
