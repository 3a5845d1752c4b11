#include "models/layers/repeated_blocks.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <typeindex>
#include <typeinfo>
#include <vector>

#include "graph/tensor/capture.h"
#include "models/layers/module.h"

namespace tilewright::detail {
namespace {

thread_local RepeatedBlocks* active_blocks = nullptr;

// Without the namespaces around it: "DecoderLayer".
std::string class_name(const Module& module) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(typeid(module).name(), nullptr, nullptr, &status), &std::free);
  std::string name = text ? text.get() : typeid(module).name();
  std::size_t arguments = std::min(name.find('<'), name.size());
  std::size_t begin = name.rfind("::", arguments);
  return begin == std::string::npos ? name : name.substr(begin + 2);
}

std::size_t operations_recorded() {
  graph::Capture* capture = graph::Capture::active();
  return capture == nullptr ? 0 : capture->operations();
}

}  // namespace

RepeatedBlocks::RepeatedBlocks(const Module& model) : around_(active_blocks) {
  if (graph::Capture::active() == nullptr) return;
  mark_ = std::make_unique<graph::MarkScope>();
  collect(model);
  active_blocks = this;
}

RepeatedBlocks::~RepeatedBlocks() {
  if (mark_) active_blocks = around_;
}

void RepeatedBlocks::collect(const Module& module) {
  const std::vector<const Module*> parts = module.parts();
  std::map<std::type_index, std::size_t> alike;  // parts of each class
  if (module.is_list())
    for (const Module* part : parts) ++alike[typeid(*part)];
  auto is_repeated = [&](const Module& part) {
    const std::size_t count = alike[typeid(part)];
    return count > 1 || count == parts.size();
  };
  for (const Module* part : parts) {
    if (module.is_list() && !part->parts().empty() && is_repeated(*part))
      blocks_.emplace(part, Block{class_name(*part), &module});
    else
      collect(*part);
  }
}

bool RepeatedBlocks::enter(const Module& module) {
  auto found = blocks_.find(&module);
  if (found == blocks_.end() || is_in_expression_) return false;
  mark_->close();
  mark_->open(found->second.name);
  list_ = found->second.list;
  operations_ = operations_recorded();
  return is_in_expression_ = true;
}

void RepeatedBlocks::leave_expression() {
  is_in_expression_ = false;
  if (operations_recorded() != operations_) mark_->close();
}

void RepeatedBlocks::leave_list(const Module& list) {
  if (&list == list_ && !is_in_expression_) mark_->close();
}

bool enter_block(const Module& block) {
  return active_blocks != nullptr && graph::Capture::active() != nullptr &&
         active_blocks->enter(block);
}
void leave_block() { active_blocks->leave_expression(); }
void leave_list(const Module& list) {
  if (active_blocks != nullptr && graph::Capture::active() != nullptr)
    active_blocks->leave_list(list);
}

}  // namespace tilewright::detail
