#include "dsl/interpret/access_check.h"

#include "runtime/base/error.h"

namespace tilewright::ir {
namespace {

std::string head_of(const Touched& touched) {
  std::string_view name = info(touched.inst.op).name;
  return concat(source_place(touched.inst), ": [", name.substr(0, name.find('_')), "] ",
                text_of(touched.program), ", element ", touched.element, ": ");
}

}  // namespace

std::string text_of(const ProgramIndex& program) {
  return concat("program (", program[0], ", ", program[1], ", ", program[2], ")");
}

std::int64_t AccessCheck::base(std::size_t param) const {
  const void* data = memories_[param].data;
  return reinterpret_cast<std::int64_t>(data != nullptr ? data : arguments_[param].pointer);
}

void AccessCheck::require_inside(const Touched& touched) const {
  if (touched.param < 0) return require_in_any(touched);
  auto p = static_cast<std::size_t>(touched.param);
  const std::int64_t bytes = memories_[p].size_bytes;
  if (bytes == 0) return;
  const std::int64_t offset = touched.address - base(p);
  if (offset >= 0 && offset + touched.size_bytes <= bytes) [[likely]]
    return;
  const Param& param = function_.params[p];
  const std::int64_t width = size_bytes(function_.type(param.value).dtype);
  // Rounded down, also below zero.
  const std::int64_t index = offset / width - (offset % width < 0 ? 1 : 0);
  raise_error(concat(head_of(touched), "index ", index, " of ", param.name, " is outside: it has ",
                     bytes / width, " elements; mask elements outside"));
}

// A pointer chosen among several parameters must lie in one of them.
void AccessCheck::require_in_any(const Touched& touched) const {
  for (std::size_t p = 0; p < memories_.size(); ++p) {
    if (!function_.type(function_.params[p].value).is_pointer()) continue;
    if (memories_[p].size_bytes == 0) return;
    const std::int64_t offset = touched.address - base(p);
    if (offset >= 0 && offset + touched.size_bytes <= memories_[p].size_bytes) return;
  }
  raise_error(concat(head_of(touched),
                     "a pointer that was chosen among parameters lies in the memory of none; mask "
                     "elements outside"));
}

}  // namespace tilewright::ir
