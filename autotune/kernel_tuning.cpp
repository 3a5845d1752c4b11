#include "autotune/kernel_tuning.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright::autotune {

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

KernelCall::Names::Names(const dsl::Kernel& kernel, const KernelTuning& tuning)
    : all(kernel.parameter_names()) {
  const std::size_t parameters = all.size();
  for (const Knob& knob : tuning.space.knobs()) {
    of_knobs.push_back(place(knob.name));
    dsl::Knobs none;
    if (of_knobs.back() >= parameters && dsl::set_knob(none, knob.name, 1))
      of_launch_knobs.push_back(of_knobs.back());
  }
  for (const auto& [name, compute] : tuning.heuristics) of_heuristics.push_back(place(name));
}

std::size_t KernelCall::Names::place(const std::string& name) {
  auto at = std::ranges::find(all, name);
  if (at != all.end()) return static_cast<std::size_t>(at - all.begin());
  all.push_back(name);
  return all.size() - 1;
}

std::int64_t KernelCall::operator[](std::string_view name) const {
  const std::vector<std::string>& all = names_->all;
  auto at = static_cast<std::size_t>(std::ranges::find(all, name) - all.begin());
  if (at < all.size() && numbers_[at]) {
    if (read_ != nullptr) (*read_)[at] = true;
    return *numbers_[at];
  }
  std::vector<std::string> known;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (numbers_[i]) known.push_back(all[i]);
  std::ranges::sort(known);
  raise_error(concat("[autotune] a call has no \"", name, "\"; it has: ", listed(known)));
}

}  // namespace tilewright::autotune
