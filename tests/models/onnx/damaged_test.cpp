// ONNX files that are damaged, or lie: each is an Error that says what is wrong with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "models/onnx/onnx_module.h"
#include "runtime/base/error.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright::damaged_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using namespace testing::onnx;

std::string error_of(const ScratchFolder& folder, std::string_view content) {
  fs::path path = folder.write("model.onnx", content);
  try {
    load_onnx(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

const std::string eight = floats_as_bytes({1, 2});  // bytes

// y = relu(x), with what is to be wrong in it.
GraphParts relu_parts() {
  return {{node("Relu", {"x"}, {"y"})}, {}, {value("x", {"2"})}, {value("y", {"2"})}};
}
std::string with_node(const std::string& wrong) {
  GraphParts parts = relu_parts();
  parts.nodes.push_back(wrong);
  return model(graph_of(parts));
}
std::string with_tensor(const std::string& wrong) {
  GraphParts parts = relu_parts();
  parts.tensors.push_back(wrong);
  return model(graph_of(parts));
}
std::string with_input(const std::string& wrong) {
  GraphParts parts = relu_parts();
  parts.inputs.push_back(wrong);
  return model(graph_of(parts));
}
std::string of_type(const std::string& type) { return bytes(1, "z") + bytes(2, type); }

std::string repeated(const std::string& what, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += what;
  return all;
}

struct Damage {
  const char* what;
  std::string file;
  const char* says;
};

std::vector<Damage> damages() {
  std::string whole = model(graph_of(relu_parts()));
  std::string huge = varint(~std::uint64_t{0});
  return {
      {"an empty file", "", "it has no graph"},
      {"a text", "This is a text and no model.", "it is not an ONNX model"},
      {"a zip archive", std::string("PK\3\4") + std::string(60, '\0'), "it is not an ONNX model"},
      {"zeros", std::string(100, '\0'), "it is not an ONNX model"},
      {"only a version", number(1, 8), "it has no graph"},
      {"no operator set", bytes(7, graph_of(relu_parts())), "of which operator set"},
      {"an operator set of the future", model(graph_of(relu_parts()), 99),
       "of operator set 99; 1 to 24 are supported; export it with opset_version=24"},
      {"an operator set of old", model(graph_of(relu_parts()), 5), "Relu, 1 time"},
      {"a negative operator set", model(graph_of(relu_parts()), -1), "of operator set -1"},
      {"two graphs", whole + bytes(7, ""), "two graphs"},
      {"two functions of one name", whole + bytes(25, "") + bytes(25, ""), "two functions"},
      {"a graph that is a number", number(7, 1) + opset(17), "is not a text or message"},
      {"a version that is a text", bytes(8, bytes(2, "17")) + whole, "is not an integer"},
      {"a length beyond the end", whole + varint(2 << 3 | 2) + varint(1000), "cut off or damaged"},
      {"the greatest length", whole + varint(2 << 3 | 2) + huge, "cut off or damaged"},
      {"a length without an end", whole + varint(2 << 3 | 2) + "\xff\xff", "has no length"},
      {"a number without an end", whole + varint(1 << 3) + "\xff", "holds no whole number"},
      {"a number of eleven bytes", whole + varint(1 << 3) + std::string(11, '\xff'),
       "holds no whole number"},
      {"a group", whole + varint(2 << 3 | 3), "is of kind 3"},
      {"an unknown kind", whole + varint(2 << 3 | 7), "is of kind 7"},
      {"a field without a number", whole + std::string(1, '\2'), "has no number"},
      {"half of eight bytes", whole + varint(2 << 3 | 1) + "abc", "cut off or damaged"},
      {"half of four bytes", whole + varint(2 << 3 | 5) + "ab", "cut off or damaged"},

      {"a value from nowhere", with_node(node("Relu", {"nothing"}, {"z"})), "read \"nothing\""},
      {"a cycle",
       model(graph_of({{node("Add", {"x", "b"}, {"a"}), node("Relu", {"a"}, {"b"})},
                       {},
                       {value("x", {"2"})},
                       {value("b", {"2"})}})),
       "in a cycle: node \"a\" (Add), which reads node \"b\" (Relu)"},
      {"a node that reads itself", with_node(node("Relu", {"z"}, {"z"})),
       "node \"z\" (Relu), which reads node \"z\" (Relu)"},
      {"two values of one name", with_node(node("Relu", {"x"}, {"y"})), "have the name \"y\""},
      {"a result of the name of an input", with_node(node("Relu", {"x"}, {"x"})),
       "node \"x\" (Relu), which reads node \"x\" (Relu)"},
      {"an output from nowhere",
       model(
           graph_of({{node("Relu", {"x"}, {"y"})}, {}, {value("x", {"2"})}, {value("w", {"2"})}})),
       "the graph's outputs read \"w\""},
      {"a node without an operator", with_node(node("", {"x"}, {"z"})), "has no operator"},
      {"an unknown operator", with_node(node("Novel", {"x"}, {"z"})), "Novel, 1 time"},
      {"a loop without a body",
       with_node(node("Loop", {"x"}, {"z"}, bytes(5, bytes(1, "body") + number(20, 5)))),
       "attribute \"body\" has no graph"},
      {"an operator before its time",
       model(graph_of({{node("Gelu", {"x"}, {"y"})}, {}, {value("x", {"2"})}, {value("y", {"2"})}}),
             17),
       "not supported in operator set 17"},
      {"an attribute of an unknown kind",
       with_node(node("Relu", {"x"}, {"z"}, bytes(5, bytes(1, "a") + number(20, 77)))),
       "is of kind 77"},
      {"an attribute without a kind",
       with_node(node("Relu", {"x"}, {"z"}, bytes(5, bytes(1, "a")))), "is of kind 0"},
      {"an attribute that refers to one",
       with_node(node("Relu", {"x"}, {"z"}, bytes(5, bytes(1, "a") + bytes(21, "b")))),
       "refers to one of a function"},
      {"integers of an attribute that are cut off",
       with_node(node("Relu", {"x"}, {"z"}, bytes(5, bytes(1, "a") + bytes(8, "\xff")))),
       "a list of integers is cut off"},
      {"floats of an attribute that are cut off",
       with_node(node("Relu", {"x"}, {"z"}, bytes(5, bytes(1, "a") + bytes(7, "abc")))),
       "a list of floats is cut off"},
      {"a tensor of an attribute that is not there",
       with_node(node("Constant", {}, {"z"}, bytes(5, bytes(1, "value") + number(20, 4)))),
       "has no tensor"},

      {"too few bytes", with_tensor(tensor("w", {3}, eight)), "12 bytes; the file has 8"},
      {"too many bytes", with_tensor(tensor("w", {1}, eight)), "4 bytes; the file has 8"},
      {"a negative size", with_tensor(tensor("w", {-2}, eight)), "negative or too large"},
      {"sizes that overflow", with_tensor(tensor("w", {1LL << 40, 1LL << 40}, eight)),
       "negative or too large"},
      {"sizes that overflow in bytes", with_tensor(tensor("w", {1LL << 62}, eight)),
       "negative or too large"},
      {"a tensor of many gigabytes", with_tensor(tensor("w", {1LL << 40}, eight)),
       "the file has 8"},
      {"a size without an end", with_tensor(bytes(1, "\xff") + number(2, 1) + bytes(9, eight)),
       "has sizes that are not numbers"},
      {"too many axes", with_tensor(tensor("w", std::vector<std::int64_t>(40, 1), eight)),
       "or more than 32"},
      {"an unknown dtype", with_tensor(tensor("w", {2}, eight, 99)), "element type 99 (unknown)"},
      {"a negative dtype", with_tensor(tensor("w", {2}, eight, -1)), "element type -1"},
      {"strings", with_tensor(tensor("w", {2}, eight, 8)), "element type 8 (string)"},
      {"complex numbers", with_tensor(tensor("w", {1}, eight, 14)), "(complex64)"},
      {"no dtype", with_tensor(numbers(1, {2}) + bytes(8, "w") + bytes(9, eight)),
       "element type 0 (undefined)"},
      {"no elements", with_tensor(numbers(1, {2}) + number(2, 1) + bytes(8, "w")),
       "2 elements; the file has another number"},
      {"a list of too few", with_tensor(numbers(1, {3}) + number(2, 1) + bytes(4, eight)),
       "3 elements; the file has another number"},
      {"a list of too many integers",
       with_tensor(numbers(1, {1}) + number(2, is_int64) + numbers(7, {1, 2})),
       "1 elements; the file has another number"},
      {"a list of another type", with_tensor(numbers(1, {2}) + number(2, 1) + numbers(7, {1, 2})),
       "in a list of another type"},
      {"bytes and a list", with_tensor(tensor("w", {2}, eight) + bytes(4, eight)),
       "has its elements twice, as bytes (raw_data) and as a list of numbers"},
      {"segments", with_tensor(tensor("w", {2}, eight) + bytes(3, "")), "is in segments"},
      {"a list in many pieces", with_tensor(number(2, 1) + repeated(bytes(4, ""), 70'000)),
       "in more than 65536 pieces"},
      {"a node of many inputs", with_node(repeated(bytes(1, ""), 70'000) + bytes(4, "Sum")),
       "a list of more than 65536 entries"},
      {"many outputs", model(graph_of(relu_parts()) + repeated(bytes(12, ""), 70'000)),
       "a list of more than 65536 entries"},
      {"two tensors of one name",
       model(graph_of({{}, {tensor("w", {2}, eight), tensor("w", {2}, eight)}, {}, {}})),
       "have the name \"w\""},
      {"two inputs of one name",
       model(graph_of({{}, {}, {value("z", {"2"}), value("z", {"2"})}, {}})),
       "two inputs have the name \"z\""},
      {"two inputs of the name of a tensor",
       model(graph_of({{}, {tensor("w", {2}, eight)}, {value("w", {"2"}), value("w", {"2"})}, {}})),
       "two inputs have the name \"w\""},
      {"a sparse tensor", model(graph_of(relu_parts()) + bytes(15, "")), "has sparse tensors"},

      {"an input without a type", with_input(bytes(1, "z")), "has no type"},
      {"an input that is a sequence", with_input(of_type(bytes(4, ""))), "is no tensor"},
      {"an input of an unknown dtype", with_input(value("z", {"2"}, 55)), "element type 55"},
      {"an input with too many axes", with_input(value("z", std::vector<std::string>(40, "1"))),
       "more than 32 axes"},
  };
}

TEST(DamagedOnnx, IsAnErrorThatSaysWhatIsWrong) {
  ScratchFolder folder;
  std::vector<Damage> all = damages();
  ASSERT_GE(all.size(), 50U);
  for (const Damage& damage : all) {
    std::string error = error_of(folder, damage.file);
    EXPECT_THAT(error, HasSubstr(damage.says)) << damage.what;
    EXPECT_THAT(error, HasSubstr("[load_onnx]")) << damage.what;
  }
}

TEST(DamagedOnnx, IsAnErrorWhereverItIsCutOff) {
  ScratchFolder folder;
  GraphParts parts = relu_parts();
  parts.tensors.push_back(tensor("w", {2}, eight));
  std::string whole = model(graph_of(parts));
  EXPECT_EQ(error_of(folder, whole), "no error");
  std::size_t without_error = 0;
  for (std::size_t size = 0; size < whole.size(); ++size)
    without_error += error_of(folder, whole.substr(0, size)) == "no error";
  EXPECT_EQ(without_error, 0U);
}

// Whatever byte is another, the file is read or refused with an Error.
TEST(DamagedOnnx, NeverEndsTheProcess) {
  ScratchFolder folder;
  GraphParts parts = relu_parts();
  parts.tensors.push_back(tensor("w", {2}, eight));
  parts.nodes.push_back(node("Gather", {"x", "i"}, {"z"}, attribute("axis", 0)));
  parts.tensors.push_back(numbers(1, {2}) + number(2, is_int64) + numbers(7, {0, 1}) +
                          bytes(8, "i"));
  std::string whole = model(graph_of(parts));
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (int change : {1, 0x80, 0xff, 0x55}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ change);
      refused += error_of(folder, changed) != "no error";
    }
  EXPECT_GT(refused, whole.size());
}

TEST(DamagedOnnx, ReachesNoFilesOutsideOfItsFolder) {
  ScratchFolder outside;
  fs::path secret = outside.write("secret", eight);
  ScratchFolder folder;
  folder.write("data", eight);
  folder.write("short", "1234");
  fs::create_symlink(secret, folder.path() / "link");
  fs::create_hard_link(secret, folder.path() / "second");
  fs::create_directory(folder.path() / "inner");
  struct Row {
    std::string location;
    const char *offset, *length, *says;
  };
  const std::vector<Row> rows = {
      {secret.string(), "0", "", "name"},
      {"../" + secret.parent_path().filename().string() + "/secret", "0", "", "name"},
      {"inner/../data", "0", "", "name"},
      {"..", "0", "", ""},
      {"", "0", "", "not named"},
      {"link", "0", "", "link"},
      {"second", "0", "", "hard link"},
      {"inner", "0", "", "inner"},
      {"missing", "0", "", "missing"},
      {"short", "0", "", "which has 4"},
      {"data", "4", "", "which has 8"},
      {"data", "9223372036854775807", "", "which has 8"},
      {"data", "-8", "", "a number that is not negative is wanted"},
      {"data", "none", "", "a number that is not negative is wanted"},
      {"data", "0", "4", "with 4 bytes"},
      {"data", "0", "99999999999999999999", "a number that is not negative is wanted"},
  };
  EXPECT_EQ(error_of(folder, with_tensor(tensor_elsewhere("w", {2}, "data", "0", "8"))),
            "no error");
  for (const Row& row : rows) {
    std::string error = error_of(
        folder, with_tensor(tensor_elsewhere("w", {2}, row.location, row.offset, row.length)));
    EXPECT_THAT(error, HasSubstr(row.says)) << row.location << " at " << row.offset;
    EXPECT_THAT(error, HasSubstr("[load_onnx]")) << row.location << " at " << row.offset;
  }
  EXPECT_THAT(error_of(folder, with_tensor(tensor_elsewhere("w", {2}, "data") + bytes(9, eight))),
              HasSubstr("has elements here and in another file"));
}

}  // namespace
}  // namespace tilewright::damaged_test
