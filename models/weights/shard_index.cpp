#include "models/weights/shard_index.h"

#include "models/files/tree.h"
#include "models/weights/safetensors_header.h"
#include "runtime/base/error.h"

namespace tilewright::weights {
namespace {

constexpr std::size_t max_files = 10'000;

// Receives {"tensor": "file", ..}.
class WeightMap : public json::Events {
 public:
  WeightMap(std::string_view what, ShardIndex& index) : what_(what), index_(index) {}
  void key(std::string name) override { name_ = std::move(name); }
  void scalar(json::Scalar value) override {
    require(depth_ == 1 && value.kind == json::Scalar::Kind::string, "[", weights_operation, "] ",
            what_, ": weight_map has ", value, " at \"", json::excerpt(name_),
            "\"; an object of file names is needed");
    require(name_.size() <= max_name_bytes && index_.file_of.size() < max_tensors, "[",
            weights_operation, "] ", what_, ": more than ", max_tensors,
            " tensors, or a name above ", max_name_bytes, " bytes");
    ++index_.files[value.string];
    require(index_.files.size() <= max_files, "[", weights_operation, "] ", what_, ": more than ",
            max_files, " files");
    require(index_.file_of.emplace(name_, std::move(value.string)).second, "[", weights_operation,
            "] ", what_, ": tensor \"", json::excerpt(name_), "\" appears twice");
  }
  void begin_object() override {
    require(++depth_ == 1, "[", weights_operation, "] ", what_,
            ": weight_map holds an object; file names are needed");
  }
  void end_object() override { --depth_; }
  void begin_array() override {
    raise_error(concat("[", weights_operation, "] ", what_,
                       ": weight_map has a list; an object is needed"));
  }
  void end_array() override {}

 private:
  std::string_view what_;
  ShardIndex& index_;
  std::string name_;
  int depth_ = 0;
};

}  // namespace

ShardIndex parse_shard_index(std::string_view text, std::string_view what) {
  ShardIndex index;
  WeightMap events(what, index);
  json::Limits limits{
      .text_bytes = max_index_bytes, .depth = 8, .string_bytes = 4096, .nodes = 10'000};
  json::Node root =
      json::read_tree(text, weights_operation, what, limits, {{"weight_map", &events}});
  require(root.find("weight_map") != nullptr, "[", weights_operation, "] ", what,
          ": has no weight_map; an object from tensor to file name is needed");
  return index;
}

}  // namespace tilewright::weights
