// Errors of a program in memory that violate no bounds: races of programs, and reads of memory that
// was never written. Apart from the run that is watched, since each is a rule about single
// elements.
#pragma once

#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dsl/debugger/element_value.h"
#include "dsl/interpret/interpret.h"
#include "dsl/interpret/observer.h"
#include "runtime/artifact.h"

namespace tilewright::dsl {

// "index 5 of y"
std::string element_name(const ir::Function& function, std::span<const Argument> arguments,
                         const ir::Touched& touched);

// Raises `Error` where two programs touch one element, one of them writes, and not both by atomics;
// unless both write the same value. Also where a store writes one element twice, with different
// values.
class RaceWatch {
 public:
  RaceWatch(const ir::Function& function, std::span<const Argument> arguments)
      : function_(function), arguments_(arguments) {}
  // `step` differs for each instruction that a program runs.
  void look(const ir::Touched& touched, std::int64_t step);

 private:
  enum class Kind : std::uint8_t { read, write, atomic };
  struct Access {
    Kind kind;
    ir::ProgramIndex program;
    const ir::Inst* inst;
    std::int64_t step;
    std::size_t element;
    ElementValue value;  // that is written
  };
  static Kind kind_of(const ir::Inst& inst);
  static bool conflict(const Access& a, const Access& b);
  static void keep(std::vector<Access>& known, const Access& access);
  [[noreturn]] void raise(const ir::Touched& touched, const Access& now,
                          const Access& before) const;
  std::string value_text(const Access& access) const;
  std::string described(const Access& access) const;

  const ir::Function& function_;
  std::span<const Argument> arguments_;
  std::unordered_map<std::int64_t, std::vector<Access>> accesses_;  // by address
};

// Notes the writes to some parameters.
class WriteWatch {
 public:
  // Raises `Error` for a name that is not a pointer of the function.
  WriteWatch(const ir::Function& function, std::span<const Argument> arguments,
             const std::vector<std::string>& unwritten, const std::vector<std::string>& complete);
  // Raises `Error` where an element of `unwritten` parameters is read that no program has written.
  void look(const ir::Touched& touched);
  // Raises `Error` where an element of `complete` parameters has never been written.
  void finish(std::span<const ir::Memory> memories) const;

 private:
  const ir::Function& function_;
  std::span<const Argument> arguments_;
  std::vector<bool> is_unwritten_, is_complete_;  // by parameter
  std::vector<std::set<std::string>> places_;     // by parameter: the lines that write there
  std::unordered_set<std::int64_t> written_;
};

}  // namespace tilewright::dsl
