// The node tests of ONNX with extreme numbers: attributes, elements and sizes of tensors, inputs
// that are missing. The inputs of a case are initializers of its model, since sizes and axes that
// are tensors must be constants to many operators.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "models/exported/archive.h"
#include "runtime/base/error.h"
#include "tests/drills/extremes.h"
#include "tests/drills/wire_message.h"
#include "tests/source_folder.h"

namespace tilewright::drills {
namespace {

constexpr int graph_field = 7, node_field = 1, initializer_field = 5, input_field = 11;
constexpr int attribute_field = 5, type_field = 20;
constexpr std::array<float, 7> extreme_floats = {0,
                                                 -1,
                                                 1e30F,
                                                 -1e30F,
                                                 std::numeric_limits<float>::infinity(),
                                                 std::numeric_limits<float>::quiet_NaN(),
                                                 std::numeric_limits<float>::denorm_min()};

struct NodeTest {
  std::string name, model;
  std::vector<std::string> inputs;
};

// All that end by themselves: the turns of a loop are a number of the model's.
const std::vector<NodeTest>& node_tests() {
  static const std::vector<NodeTest> tests = [] {
    std::vector<NodeTest> all;
    for (const char* name : {"cases.zip", "microsoft.zip", "engines.zip", "learners.zip",
                             "encoders.zip", "exporters.zip"}) {
      const auto archive = exported::Archive::open(source_folder() / "tests/models/onnx" / name);
      for (const exported::ArchiveEntry& entry : archive.entries()) {
        if (entry.name.find("loop") != entry.name.npos ||
            entry.name.find("scan") != entry.name.npos || entry.size_bytes > 50'000)
          continue;
        NodeTest test{entry.name, {}, {}};
        for (WireField& field : wire_message(archive.text(entry, 1 << 24))) {
          if (field.number == 1) test.model = std::move(field.bytes);
          if (field.number == 2) test.inputs.push_back(std::move(field.bytes));
        }
        all.push_back(std::move(test));
      }
    }
    return all;
  }();
  return tests;
}

class Mutant {
 public:
  Mutant(const NodeTest& test, Chance& chance) : chance_(chance), model_(wire_message(test.model)) {
    graph_ = wire_message(text_of(model_, graph_field));
    hold_inputs(test.inputs);
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (graph_[i].number == node_field) nodes_.push_back(i);
      if (graph_[i].number == initializer_field) tensors_.push_back(i);
    }
  }

  void change() {
    const std::uint64_t kind = chance_.below(8);
    if (kind < 4 && !nodes_.empty()) return change_node();
    if (!tensors_.empty()) return change_tensor();
    if (!nodes_.empty()) change_node();
  }
  std::string bytes() {
    if (WireField* field = field_of(model_, graph_field)) field->bytes = bytes_of(graph_);
    return bytes_of(model_);
  }

 private:
  void hold_inputs(const std::vector<std::string>& inputs) {
    std::size_t next = 0;
    WireMessage held;
    for (WireField& field : graph_) {
      if (field.number == input_field && next < inputs.size()) {
        WireMessage info = wire_message(field.bytes), tensor = wire_message(inputs[next++]);
        std::erase_if(tensor, [](const WireField& part) { return part.number == 8; });
        tensor.push_back({8, WireField::Kind::bytes, 0, text_of(info, 1)});
        held.push_back({initializer_field, WireField::Kind::bytes, 0, bytes_of(tensor)});
      } else {
        held.push_back(std::move(field));
      }
    }
    graph_ = std::move(held);
  }

  void change_node() {
    WireField& field = graph_[nodes_[chance_.below(nodes_.size())]];
    WireMessage node = wire_message(field.bytes);
    std::vector<std::size_t> attributes, inputs;
    for (std::size_t i = 0; i < node.size(); ++i) {
      if (node[i].number == attribute_field) attributes.push_back(i);
      if (node[i].number == 1) inputs.push_back(i);
    }
    if (!attributes.empty() && chance_.below(8) != 0) {
      const std::size_t at = chance_.of(attributes);
      WireMessage attribute = wire_message(node[at].bytes);
      if (chance_.below(10) == 0)
        node.erase(node.begin() + static_cast<std::ptrdiff_t>(at));
      else
        node[at].bytes = bytes_of(changed_attribute(std::move(attribute)));
    } else if (!inputs.empty()) {
      const std::size_t at = chance_.of(inputs);
      if (chance_.below(2) == 0)
        node[at].bytes.clear();
      else
        node.erase(node.begin() + static_cast<std::ptrdiff_t>(at));
    }
    field.bytes = bytes_of(node);
  }

  WireMessage changed_attribute(WireMessage attribute) {
    constexpr int of_float = 2, of_integer = 3, of_text = 4, of_floats = 7, of_integers = 8;
    if (WireField* number = field_of(attribute, of_integer)) {
      number->value = static_cast<std::uint64_t>(extreme_integer(chance_));
    } else if (WireField* floating = field_of(attribute, of_float)) {
      floating->bytes = four_bytes(extreme_floats[chance_.below(extreme_floats.size())]);
    } else if (field_of(attribute, of_integers) != nullptr) {
      set_integers(attribute, of_integers, changed_list(integers_of(attribute, of_integers)));
    } else if (WireField* floats = field_of(attribute, of_floats)) {
      if (floats->kind == WireField::Kind::bytes)
        floats->bytes = floats->bytes.substr(0, floats->bytes.size() / 8 * 4);
      else
        floats->bytes = four_bytes(extreme_floats[chance_.below(extreme_floats.size())]);
    } else if (WireField* text = field_of(attribute, of_text)) {
      text->bytes = chance_.below(2) == 0 ? "" : text->bytes + "x";
    } else if (WireField* type = field_of(attribute, type_field)) {
      type->value = chance_.below(12);
    }
    return attribute;
  }

  std::vector<std::int64_t> changed_list(std::vector<std::int64_t> list) {
    const std::uint64_t kind = chance_.below(8);
    if (kind == 0 || list.empty()) {
      list.push_back(extreme_integer(chance_));
    } else if (kind == 1) {
      list.pop_back();
    } else if (kind == 2) {
      list.clear();
    } else {
      list[chance_.below(list.size())] = extreme_integer(chance_);
      if (kind == 3) list.assign(list.size(), list[chance_.below(list.size())]);
    }
    return list;
  }

  void change_tensor() {
    WireField& field = graph_[tensors_[chance_.below(tensors_.size())]];
    WireMessage tensor = wire_message(field.bytes);
    WireField *raw = field_of(tensor, 9), *type = field_of(tensor, 2);
    if (raw == nullptr || type == nullptr) return;
    const std::vector<std::int64_t> sizes = integers_of(tensor, 1);
    std::size_t count = 1;
    for (std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
    // By ONNX's number of the dtype; 0: of floats of few bits and others, whose elements stay.
    constexpr std::size_t widths[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8};
    const std::size_t width = type->value < std::size(widths) ? widths[type->value] : 0;
    if (width == 0 || raw->bytes.size() != count * width) return;
    constexpr std::uint64_t of_f32 = 1, of_i32 = 6, of_i64 = 7;
    const bool has_numbers =
        type->value == of_f32 || type->value == of_i32 || type->value == of_i64;
    if (count == 0 || !has_numbers || chance_.below(3) == 0) {
      resize(tensor, sizes, width);
    } else {
      std::string element(width, '\0');
      const std::int64_t integer = extreme_integer(chance_);
      std::memcpy(element.data(), &integer, width);
      if (type->value == of_f32)
        element = four_bytes(extreme_floats[chance_.below(extreme_floats.size())]);
      raw->bytes.replace(chance_.below(count) * width, width, element);
    }
    field.bytes = bytes_of(tensor);
  }

  // Other sizes, with elements of 1 (of floats a small number).
  void resize(WireMessage& tensor, std::vector<std::int64_t> sizes, std::size_t width) {
    switch (chance_.below(7)) {
      case 0: sizes.clear(); break;
      case 1: sizes = {0}; break;
      case 2: sizes = {1}; break;
      case 3: sizes.assign(sizes.size() + 1, 1); break;
      case 4: sizes.assign(6, 1); break;
      case 5:
        if (!sizes.empty()) sizes[chance_.below(sizes.size())] = 0;
        break;
      default:
        if (!sizes.empty()) sizes.pop_back();
        break;
    }
    std::size_t count = 1;
    for (std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
    std::string element(width, '\0'), all;
    element.front() = 1;
    for (std::size_t i = 0; i < count; ++i) all += element;
    set_integers(tensor, 1, sizes);
    field_of(tensor, 9)->bytes = all;
  }

  static std::string four_bytes(float value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  }

  Chance& chance_;
  WireMessage model_, graph_;
  std::vector<std::size_t> nodes_, tensors_;  // their fields in the graph
};

TEST(Extremes, OfOnnxModelsAreBounded) {
  each_case(
      12'000,
      [](std::uint64_t number) {
        Chance chance(number);
        const NodeTest& test = chance.of(node_tests());
        SCOPED_TRACE(test.name);
        Mutant mutant(test, chance);
        do mutant.change();
        while (chance.below(4) == 0);
        expect_bounded("m.onnx", mutant.bytes(), "");
      },
      share_of_extremes);
}

}  // namespace
}  // namespace tilewright::drills
