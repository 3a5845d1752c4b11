#include "dsl/target/wgmma_form.h"

#include <charconv>

namespace tilewright::dsl::emulator {
namespace {

// Takes `prefix` off the front of `text`.
bool skip(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool take_number(std::string_view& text, int& number) {
  auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return parsed.ec == std::errc();
}

bool take_format(std::string_view& text, Format& format) {
  for (const NumberFormat& row : number_formats)
    if (skip(text, row.name)) {
      format = row.format;
      return true;
    }
  return false;
}

// Integer products have fewer sizes than the others.
bool has_columns(const WgmmaForm& form) {
  int step = form.format == Format::s8 && form.columns > 32 ? 16 : 8;
  return form.columns >= 8 && form.columns <= 256 && form.columns % step == 0;
}

std::string registers(int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}

// "=f,=f,0,1": results, and operands in the same registers.
std::string tied_constraints(int count, char letter) {
  std::string results, operands;
  for (int i = 0; i < count; ++i) {
    results += letter == 'f' ? "=f," : "=r,";
    operands += std::to_string(i) + ",";
  }
  return results + operands;
}

}  // namespace

std::optional<WgmmaForm> parse_wgmma(std::string_view name) {
  WgmmaForm form;
  int depth = 0;
  if (!skip(name, "wgmma_m64n") || !take_number(name, form.columns) || !skip(name, "k") ||
      !take_number(name, depth) || !skip(name, "_") || !take_format(name, form.format))
    return std::nullopt;
  form.a_in_registers = skip(name, "_rs");
  if (!form.a_in_registers && !skip(name, "_ss")) return std::nullopt;
  form.transposes_a = skip(name, "_ta");
  form.transposes_b = skip(name, "_tb");
  bool has_steps = skip(name, "_x");
  if (has_steps && (!take_number(name, form.steps) || form.steps < 2 || form.steps > 16))
    return std::nullopt;
  bool may_transpose = bytes_of(form.format) == 2;
  if (!name.empty() || depth != form.depth() || !has_columns(form) ||
      (form.transposes_a && (form.a_in_registers || !may_transpose)) ||
      (form.transposes_b && !may_transpose))
    return std::nullopt;
  return form;
}

std::optional<WgmmaWait> parse_wgmma_wait(std::string_view name) {
  WgmmaWait wait;
  if (!skip(name, "wgmma_wait_") || !take_number(name, wait.groups) || !skip(name, "_"))
    return std::nullopt;
  if (!name.starts_with('f') && !name.starts_with('i')) return std::nullopt;
  wait.letter = name.front();
  name.remove_prefix(1);
  if (!take_number(name, wait.accumulators) || !name.empty() || wait.accumulators < 1 ||
      wait.groups < 0 || wait.groups > 7)
    return std::nullopt;
  return wait;
}

std::string ptx_of(const WgmmaForm& form) {
  int count = form.accumulators(), next = 2 * count;
  int scale = next + form.steps * (form.a_in_registers ? 5 : 2);
  std::string type(name_of(form.format)), to = std::to_string(scale);
  std::string text = "{ .reg .pred p, q; setp.ne.b32 p, $" + to + ", 0; ";
  if (form.steps > 1) text += "setp.eq.b32 q, $" + to + ", $" + to + "; ";
  std::string operands;
  for (int step = 0; step < form.steps; ++step) {
    text += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(form.columns) + "k" +
            std::to_string(form.depth()) + (form.format == Format::s8 ? ".s32." : ".f32.") + type +
            "." + type + " " + registers(0, count) + ", ";
    if (form.a_in_registers) {
      text += registers(next, 4);
      operands += "r,r,r,r,";
      next += 4;
    } else {
      text += "$" + std::to_string(next++);
      operands += "l,";
    }
    text += ", $" + std::to_string(next++) + (step == 0 ? ", p" : ", q");
    operands += "l,";
    if (form.format != Format::s8) text += ", 1, 1";
    if (bytes_of(form.format) == 2) {
      if (!form.a_in_registers) text += form.transposes_a ? ", 1" : ", 0";
      text += form.transposes_b ? ", 1" : ", 0";
    }
    text += "; ";
  }
  return text + "} | " + tied_constraints(count, form.accumulator_letter()) + operands + "r";
}

std::string ptx_of(const WgmmaWait& wait) {
  return "wgmma.wait_group.sync.aligned " + std::to_string(wait.groups) + "; | " +
         tied_constraints(wait.accumulators, wait.letter) + "~{memory}";
}

}  // namespace tilewright::dsl::emulator
