// model.safetensors with a header that breaks a law of the format, or with other bytes.
#include <gtest/gtest.h>

#include <limits>

#include "tests/drills/model_folders.h"

namespace tilewright::drills {
namespace {

// A change of the header as a tree.
void change_an_entry(Json& header, Chance& chance) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : header.items())
    if (name != "__metadata__") names.push_back(name);
  std::string name = chance.of(names);
  Json& entry = header[name];
  Json &shape = entry["shape"], &range = entry["data_offsets"];
  auto begin = range[0].get<std::int64_t>(), end = range[1].get<std::int64_t>();
  switch (chance.below(14)) {
    case 0: shape[0] = shape[0].get<std::int64_t>() + 1; break;
    case 1: shape[0] = -1; break;
    case 2: shape[0] = std::numeric_limits<std::int64_t>::max(); break;
    case 3: shape[0] = 0.5; break;
    case 4: shape = Json(std::vector<int>(9, 1)); break;
    case 5: entry["dtype"] = chance.below(2) == 0 ? "F64" : "F16"; break;
    case 6: entry["dtype"] = "\x1b]0;gone\x07"; break;
    case 7: range = {begin + 4, end + 4}; break;
    case 8: range = {end, begin}; break;
    case 9: range = {begin, std::int64_t{1} << 62}; break;
    case 10: entry["more"] = 1; break;
    case 11: entry.erase("shape"); break;
    case 12: header.erase(name); break;
    default:
      header["\x1b]0;gone\x07" + std::string(chance.below(3000), 'x')] = entry;
      header.erase(name);
  }
}

// A change of the header as text, or of the file around it.
std::string changed_text(const WeightFile& whole, Chance& chance) {
  WeightFile file = whole;
  std::string& header = file.header;
  std::size_t brace = header.find_last_of('}');
  switch (chance.below(12)) {
    case 0: {
      std::string all = file.bytes();
      return all.substr(0, chance.below(all.size()));
    }
    case 1: return file.bytes() + std::string(1 + chance.below(100), '\0');
    case 2:
      header.insert(brace,
                    R"(,"model.norm.weight":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})");
      break;
    case 3: header.insert(brace, R"(,"__metadata__":{"a":1})"); break;
    case 4:
      header.insert(brace, R"(,"a\u0000b":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})");
      break;
    case 5:
      header.insert(brace, ",\"\xff\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}");
      break;
    case 6: header.insert(brace + 1, std::string("\0}}PK", 5)); break;
    case 7: header = std::string(1 + chance.below(100'000), '['); break;
    case 8: header = std::string(1 + chance.below(10'000), '{'); break;
    case 9:
      header.insert(brace, R"(,"a":{"dtype":"F32","shape":[1e99],"data_offsets":[0,0]})");
      break;
    case 10: return "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    default: {
      std::string all = file.bytes();
      all[chance.below(8)] ^= static_cast<char>(1 + chance.below(255));  // the header's length
      return all;
    }
  }
  return file.bytes();
}

TEST(ModelFolders, WithOtherWeightsAreSafe) {
  each_case(168, [](std::uint64_t number) {
    Chance chance(number);
    ModelFiles mutated = whole_model();
    std::string& bytes = mutated["model.safetensors"];
    WeightFile file = WeightFile::parse(bytes);
    switch (chance.below(5)) {
      case 0:
      case 1: {
        Json header = Json::parse(file.header);
        change_an_entry(header, chance);
        file.header = header.dump();
        bytes = file.bytes();
        return expect_safe(mutated, Verdict::refused);
      }
      case 2: {  // numbers that nothing vouches for
        for (std::uint64_t edits = 1 + chance.below(50); edits > 0; --edits)
          file.data[chance.below(file.data.size())] = static_cast<char>(chance.below(256));
        bytes = file.bytes();
        return expect_safe(mutated, Verdict::either);
      }
      default: bytes = changed_text(file, chance); return expect_safe(mutated, Verdict::refused);
    }
  });
}

}  // namespace
}  // namespace tilewright::drills
