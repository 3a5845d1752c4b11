#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "dsl/ir/text/stage_text.h"
#include "dsl/ir/text/text.h"
#include "runtime/base/error.h"

namespace tilewright::ir {
namespace {

// Deeper blocks stand below each other: blanks would else be most of the text.
constexpr std::size_t most_indent = 64;
// Longer names of the user's are left out, so that a name with its number can be read.
constexpr std::size_t most_given = 128;

bool is_word(const std::string& name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  auto rest = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; };
  return !name.empty() && letter(name.front()) && std::ranges::all_of(name, rest);
}

std::string quoted(const std::string& name) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text = "\"";
  for (char c : name) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e || c == '"' || c == '\\')
      text += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    else
      text += c;
  }
  return text + "\"";
}

// The shortest decimal that reads back as the same number of the type. A NaN that is not the usual
// one shows its bits.
std::string floating_text(DType dtype, double value) {
  if (std::isnan(value)) {
    auto bits = std::bit_cast<std::uint64_t>(value);
    if (bits == std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN()))
      return "nan";
    return "nan(" + std::to_string(bits) + ")";
  }
  char buffer[40];
  auto end = dtype == DType::f64
                 ? std::to_chars(buffer, buffer + sizeof buffer, value)
                 : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value));
  return {buffer, end.ptr};
}

std::string scalar_text(const Scalar& scalar) {
  if (is_boolean(scalar.dtype)) return scalar.integer != 0 ? "true" : "false";
  if (is_floating(scalar.dtype)) return floating_text(scalar.dtype, scalar.floating);
  return std::to_string(scalar.integer);
}

std::string list_text(const std::vector<int>& list) {
  std::string text = "(";
  for (int item : list) text += (text.size() > 1 ? ", " : "") + std::to_string(item);
  return text + ")";
}

// Empty where there is nothing to say.
std::string immediate_text(const Immediate& immediate) {
  struct Visitor {
    std::string operator()(std::monostate) { return ""; }
    std::string operator()(const Scalar& s) { return scalar_text(s); }
    std::string operator()(const Bounds& b) {
      return std::to_string(b.start) + " to " + std::to_string(b.end);
    }
    std::string operator()(const Axis& a) { return std::to_string(a.axis); }
    std::string operator()(const Extent& e) {
      return e.shape.empty() ? "[]" : "[" + to_string(e.shape) + "]";
    }
    std::string operator()(const Permutation& p) { return list_text(p.dims); }
    std::string operator()(const DType& d) { return std::string(name_of(d)); }
    std::string operator()(const Access& a) {
      return a.cache == CachePolicy::normal ? "" : std::string(name_of(a.cache));
    }
    std::string operator()(const BlockAccess& a) {
      std::string shape = (*this)(Extent{a.shape}), cache = (*this)(Access{a.cache});
      return cache.empty() ? shape : shape + " " + cache;
    }
    std::string operator()(const Reduction& r) {
      return std::string(name_of(r.kind)) + " " + std::to_string(r.axis);
    }
    std::string operator()(const Atomic& a) {
      std::string text(name_of(a.kind));
      if (a.order != MemoryOrder::relaxed) text += " " + std::string(name_of(a.order));
      if (a.scope != MemoryScope::gpu) text += " " + std::string(name_of(a.scope));
      return text;
    }
    std::string operator()(const LoopEnd&) { return ""; }
    std::string operator()(const Precision& p) {
      return p.input == InputPrecision::ieee ? "" : std::string(name_of(p.input));
    }
    std::string operator()(const Text& t) { return "@" + quoted(t.text); }
  };
  return std::visit(Visitor{}, immediate);
}

class Printer {
 public:
  explicit Printer(const Function& function) : function_(function), names_(function.types.size()) {}

  std::string run() {
    text_ = "func @" + (is_word(function_.name) ? function_.name : quoted(function_.name)) + "(";
    std::set<std::string> taken;
    for (const Param& param : function_.params) {
      define(param.value);
      if (is_word(param.name) && taken.insert(param.name).second)
        names_[param.value] = "%" + param.name;
      if (&param != &function_.params.front()) text_ += ", ";
      text_ += name(param.value) + ": " + to_string(function_.type(param.value));
      if (param.align_bytes != Param{}.align_bytes)
        text_ += " align " + std::to_string(param.align_bytes);
    }
    text_ += ")";
    if (function_.cluster != 1) text_ += " cluster " + std::to_string(function_.cluster);
    text_ += stage_text(function_) + " {\n";
    std::string head = std::exchange(text_, "");
    block(function_.body, "  ");
    return head + layouts_ + text_ + "}\n";
  }
  std::vector<std::string> instructions() {
    run();
    return std::move(instructions_);
  }

 private:
  void define(Value value) {
    names_[value] = "%" + std::to_string(count_++);
    std::string given(name_of(function_, value));
    if (given.size() <= most_given && is_word(given)) names_[value] += "." + given;
  }

  // A value that nothing defines is a bug that a dump should show, not hide.
  std::string name(Value value) const {
    bool known = value < names_.size() && !names_[value].empty();
    return known ? names_[value] : "%undefined" + std::to_string(value);
  }

  std::string names(const std::vector<Value>& values, std::size_t from = 0) const {
    std::string text;
    for (std::size_t i = from; i < values.size(); ++i)
      text += (i > from ? ", " : "") + name(values[i]);
    return text;
  }

  std::string types(const std::vector<Value>& values) {
    std::string text;
    for (Value value : values)
      text += (text.empty() ? " : " : ", ") + to_string(function_.type(value)) + layout(value);
    return text;
  }

  // Layouts are numbered by their first use, whatever their place in the function's table.
  std::string layout(Value value) {
    if (!function_.has_layout(value)) return "";
    auto id = static_cast<std::size_t>(function_.layout_of[value]);
    layout_names_.resize(function_.layouts.size());
    std::string& name = layout_names_[id];
    if (name.empty()) {
      name = " @L" + std::to_string(layout_count_++);
      const dsl::layout::Layout& layout = function_.layouts[id];
      layouts_ +=
          "  layout" + name + " = [" + to_string(layout.shape()) + "] " + bases_text(layout) + "\n";
    }
    return name;
  }

  void block(const Block& b, const std::string& indent) {
    for (const Inst& inst : b.insts) instruction(inst, indent);
  }

  // Results are numbered after the bodies, which come before them in time.
  void instruction(const Inst& inst, const std::string& indent) {
    std::string body;
    const std::size_t place = instructions_.size();
    instructions_.emplace_back();
    std::string operands = inst.op == Op::loop_ ? loop_header(inst) : plain_operands(inst);
    std::swap(text_, body);
    for (const Block& b : inst.bodies) {
      text_ += &b == &inst.bodies.front() ? " {\n" : indent + "} else {\n";
      block(b, indent.size() < most_indent ? indent + "  " : indent);
    }
    if (!inst.bodies.empty()) text_ += indent + "}";
    std::swap(text_, body);
    for (Value result : inst.results) define(result);
    const std::string head = names(inst.results) + (inst.results.empty() ? "" : " = ") +
                             std::string(info(inst.op).name) + operands;
    const std::string tail =
        types(inst.results) + (inst.op == Op::loop_ ? "" : schedule_text(inst.schedule));
    instructions_[place] = head + tail;
    text_ += indent + head + body + tail + "\n";
  }

  std::string plain_operands(const Inst& inst) const {
    std::string operands = names(inst.operands), immediate = immediate_text(inst.immediate);
    std::string text = operands + (operands.empty() || immediate.empty() ? "" : ", ") + immediate;
    return text.empty() ? "" : " " + text;
  }

  std::string loop_header(const Inst& inst) {
    const Block& body = inst.bodies.front();
    std::string text = " " + name(inst.operands[0]) + " to " + name(inst.operands[1]) + " step " +
                       name(inst.operands[2]);
    for (Value param : body.params) define(param);
    text += " index " + name(body.params.front());
    if (ends_by_condition(inst)) text += " while";
    for (std::size_t i = 1; i < body.params.size(); ++i)
      text +=
          (i == 1 ? " with (" : ", ") + name(body.params[i]) + " = " + name(inst.operands[i + 2]);
    return text + (body.params.size() > 1 ? ")" : "") + schedule_text(inst.schedule);
  }

  const Function& function_;
  std::vector<std::string> names_;
  std::vector<std::string> instructions_;  // in the order in which they begin
  std::string text_, layouts_;
  std::vector<std::string> layout_names_;  // by place in the function's table, where in use
  int count_ = 0, layout_count_ = 0;
};

}  // namespace

std::string print(const Function& function) { return Printer(function).run(); }

std::vector<std::string> instruction_texts(const Function& function) {
  return Printer(function).instructions();
}

}  // namespace tilewright::ir
