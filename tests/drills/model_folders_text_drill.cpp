// config.json, tokenizer.json and the index of shards, with members that are not what they should
// be.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/drills/model_folders.h"

namespace tilewright::drills {
namespace {

Json hostile_value(Chance& chance) {
  switch (chance.below(14)) {
    case 0: return nullptr;
    case 1: return 0;
    case 2: return -1;
    case 3: return std::int64_t{1} << 31;
    case 4: return std::numeric_limits<std::int64_t>::max();
    case 5: return 1e308;
    case 6: return 0.5;
    case 7: return true;
    case 8: return "\x1b]0;gone\x07";
    case 9: return std::string(60'000, 'x');
    case 10: return Json::array();
    case 11: return Json::object();
    case 12: return Json::array({1, "a", nullptr});
    default: return 4'194'304;
  }
}

// All places in a tree, as pointers.
void collect(const Json& node, const Json::json_pointer& at, std::vector<Json::json_pointer>& all) {
  all.push_back(at);
  if (node.is_object())
    for (const auto& [key, value] : node.items()) collect(value, at / key, all);
  if (node.is_array())
    for (std::size_t i = 0; i < node.size(); ++i) collect(node[i], at / i, all);
}

void change_a_place(Json& root, Chance& chance) {
  std::vector<Json::json_pointer> all;
  collect(root, Json::json_pointer(""), all);
  const Json::json_pointer& place = chance.of(all);
  if (place.empty() || chance.below(4) != 0) {
    root[place] = hostile_value(chance);
    return;
  }
  Json& parent = root[place.parent_pointer()];
  if (parent.is_object())
    parent.erase(place.back());
  else
    parent.push_back(root[place]);
}

// Text with the first member of an object twice, which Json cannot hold.
std::string with_a_member_twice(const std::string& text) {
  std::size_t begin = text.find('"'), end = text.find(',', begin);
  return text.substr(0, end) + "," + text.substr(begin, end - begin) + text.substr(end);
}

TEST(ModelFolders, WithAnotherConfigAreSafe) {
  const std::vector<std::string> sizes = {
      "hidden_size",         "intermediate_size", "num_hidden_layers",      "num_attention_heads",
      "num_key_value_heads", "vocab_size",        "max_position_embeddings"};
  each_case(251, [&](std::uint64_t number) {
    Chance chance(number);
    ModelFiles mutated = whole_model();
    std::string& text = mutated["config.json"];
    Json config = Json::parse(text);
    Verdict verdict = Verdict::refused;
    switch (chance.below(6)) {
      case 0: text = with_a_member_twice(text); break;
      case 1: text.resize(chance.below(text.size())); break;
      case 2: text += chance.below(2) == 0 ? std::string("\0}", 2) : "}"; break;
      case 3: {  // a size that is none
        Json value = hostile_value(chance);
        while (value.is_null() || value == 4'194'304) value = hostile_value(chance);
        config[chance.of(sizes)] = value;
        text = config.dump();
        break;
      }
      case 4:
        config[chance.below(2) == 0 ? "some_new_member" : "\x1b[2J"] = 1;
        text = config.dump();
        break;
      default:
        change_a_place(config, chance);
        text = config.dump();
        verdict = Verdict::either;
    }
    expect_safe(mutated, verdict);
  });
}

// Breaks a rule of the tokenizer's file.
void break_a_law(Json& root, Chance& chance) {
  Json& model = root["model"];
  switch (chance.below(8)) {
    case 0: model["vocab"]["b"] = 3; break;  // as "a" has
    case 1: model["vocab"]["b"] = -1; break;
    case 2: model["vocab"]["b"] = 1 << 22; break;
    case 3: model["merges"].push_back("no such"); break;
    case 4: model["merges"].push_back("a b"); break;  // twice
    case 5: root["added_tokens"][0]["id"] = 17; break;
    case 6: root["pre_tokenizer"]["pattern"]["Regex"] = "(a"; break;
    default: root["decoder"]["type"] = "\x1b]0;gone\x07";
  }
}

TEST(ModelFolders, WithAnotherTokenizerAreSafe) {
  each_case(106, [](std::uint64_t number) {
    Chance chance(number);
    ModelFiles mutated = whole_model();
    std::string& text = mutated["tokenizer.json"];
    Json tokenizer = Json::parse(text);
    Verdict verdict = Verdict::refused;
    switch (chance.below(5)) {
      case 0: text = with_a_member_twice(text); break;
      case 1: text.resize(chance.below(text.size())); break;
      case 2:
        break_a_law(tokenizer, chance);
        text = tokenizer.dump();
        break;
      default:
        change_a_place(tokenizer, chance);
        text = tokenizer.dump();
        verdict = Verdict::either;
    }
    expect_safe(mutated, verdict);
  });
}

TEST(ModelFolders, WithAnotherIndexAreSafe) {
  const std::vector<std::string> names = {"/etc/passwd",
                                          "../model-0.safetensors",
                                          "..",
                                          ".",
                                          "",
                                          "a/b",
                                          "none",
                                          "config.json",
                                          std::string("model-0.safetensors\0", 20),
                                          "\x1b]0;gone\x07",
                                          std::string(5000, 'x')};
  each_case(65, [&](std::uint64_t number) {
    Chance chance(number);
    ModelFiles mutated = model_in_shards();
    std::string& text = mutated["model.safetensors.index.json"];
    Json index = Json::parse(text);
    Json& map = index["weight_map"];
    auto any = std::next(map.begin(), static_cast<std::ptrdiff_t>(chance.below(map.size())));
    Verdict verdict = Verdict::refused;
    switch (chance.below(8)) {
      case 0:
      case 1: *any = chance.of(names); break;
      case 2:
        *any = *any == "model-0.safetensors" ? "model-1.safetensors" : "model-0.safetensors";
        break;
      case 3: map.erase(any); break;
      case 4: map["another"] = "model-0.safetensors"; break;
      case 5: *any = Json::array({1}); break;
      case 6: mutated.erase("model-1.safetensors"); break;
      default:  // which is advice, and says nothing
        index["metadata"]["total_size"] = hostile_value(chance);
        verdict = Verdict::either;
    }
    text = index.dump();
    expect_safe(mutated, verdict);
  });
}

}  // namespace
}  // namespace tilewright::drills
