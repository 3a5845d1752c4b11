// Programs of many nodes and long lists: chains of views, which must take linear time, and lists on
// the host whose length the program says, for which there is no memory: the Error names the
// operator and the number of bytes.
#include <gtest/gtest.h>

#include <functional>

#include "runtime/base/error.h"
#include "tests/drills/archives.h"
#include "tests/drills/cases.h"
#include "tests/drills/child.h"
#include "tests/models/exported_files.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright::drills {
namespace {

using namespace testing::onnx;

std::string constant(const std::string& name, const std::vector<std::int64_t>& values) {
  return numbers(1, {static_cast<std::int64_t>(values.size())}) + number(2, is_int64) +
         numbers(7, values) + bytes(8, name);
}
std::string long_chain(const std::function<std::string(int, std::string, std::string)>& link) {
  constexpr int count = 60'000;
  std::vector<std::string> nodes;
  for (int i = 0; i < count; ++i)
    nodes.push_back(link(i, i == 0 ? "x" : concat("v", i - 1),
                         i == count - 1 ? std::string("y") : concat("v", i)));
  return model(graph_of(
      {nodes,
       {constant("one", {2}), constant("two", {2, 1}), constant("zero", {0}), constant("end", {2})},
       {value("x", {"2"})},
       {bytes(1, "y") + bytes(2, bytes(1, number(1, is_float)))}}));
}

TEST(OnnxLists, OfViewsTakeLinearTime) {
  using Strings = std::vector<std::string>;
  const std::function<std::string(int, std::string, std::string)> all[] = {
      [](int i, const std::string& from, const std::string& to) {
        return node("Reshape", Strings{from, i % 2 == 0 ? "two" : "one"}, Strings{to});
      },
      [](int, const std::string& from, const std::string& to) {
        return node("Slice", Strings{from, "zero", "end"}, Strings{to});
      },
      [](int i, const std::string& from, const std::string& to) {
        return node(i % 2 == 0 ? "Unsqueeze" : "Squeeze", Strings{from, "zero"}, Strings{to});
      },
      [](int i, const std::string& from, const std::string& to) {
        return i % 2 == 0 ? node("Reshape", Strings{from, "two"}, Strings{to})
                          : node("Flatten", Strings{from}, Strings{to});
      },
  };
  each_case(std::size(all), [&](std::uint64_t number) {
    expect_safe("m.onnx", long_chain(all[number]), Verdict::either);
  });
}

// An operator of a tensor of ones; `first` is the name of that argument.
struct OfOnes {
  std::string op, first, others;
  std::vector<std::int64_t> sizes;
  int dtype;
};
std::string program_of(const OfOnes& of) {
  using namespace testing;
  std::string list;
  for (std::int64_t size : of.sizes) list += concat(list.empty() ? "" : ", ", size);
  ProgramText program;
  program.nodes =
      node("torch.ops.aten.full.default",
           {argument("size", R"({"as_ints": [)" + list + "]}"),
            argument("fill_value", R"({"as_int": 1})"),
            argument("dtype", concat(R"({"as_scalar_type": )", of.dtype, "}"))},
           "z") +
      ", " + node("torch.ops.aten." + of.op, {tensor_argument(of.first, "z") + of.others}, "y");
  return exported_file(program);
}

// Under this limit of the process, the operator is refused with such words.
void expect_no_memory(const std::string& bytes, const std::vector<std::string>& words) {
  ScratchFolder folder;
  folder.write("m.pt2", bytes);
  std::string header = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", file;
  tilewright::testing::append_number(file, header.size(), 8);
  folder.write("in.safetensors", file + header + std::string(8, '\0'));
  for (const char* backend : {"tilewright", "eager"}) {
    Command command = tilewright_command(
        folder.path(), {"run", "m.pt2", "--inputs", "in.safetensors", "--backend", backend});
    command.limits.push_back({RLIMIT_AS, rlim_t{2'000'000'000}});
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, 1) << outcome.text();
    EXPECT_FALSE(outcome.is_hung()) << outcome.text();
    for (const std::string& word : words)
      EXPECT_NE(outcome.err.find(word), std::string::npos) << word << "\n" << outcome.text();
  }
}

TEST(ArchiveLists, WithoutMemoryNameTheOperationAndTheBytes) {
  struct Case {
    OfOnes program;
    std::vector<std::string> words;
  };
  constexpr int i8 = 2, f32 = 7, boolean = 12;
  constexpr std::int64_t many = 1 << 28;
  const std::string ends = R"(, {"name": "align_corners", "arg": {"as_bool": false}, "kind": 1})";
  auto sizes = [](const std::string& name, const std::string& list) {
    return R"(, {"name": ")" + name + R"(", "arg": {"as_ints": [)" + list + R"(]}, "kind": 1})";
  };
  const Case all[] = {
      {{"nonzero.default", "self", "", {many}, i8}, {"[nonzero]", "a list of 2147483648 bytes"}},
      {{"masked_select.default",
        "self",
        ", " + testing::tensor_argument("mask", "z"),
        {many},
        boolean},
       {"[nonzero]", "a list of 2147483648 bytes"}},
      {{"affine_grid_generator.default",
        "theta",
        sizes("size", "1, 1, 2147483647, 2") + ends,
        {1, 2, 3},
        f32},
       {"[arange]", "a list of 17179869176 bytes"}},
      {{"_upsample_bilinear2d_aa.default",
        "self",
        sizes("output_size", "1, 2147483647") + ends,
        {1, 1, 1, 2},
        f32},
       {"[arange]", "a list of 17179869176 bytes"}},
      {{"_upsample_bicubic2d_aa.default",
        "self",
        sizes("output_size", "2147483647, 1") + ends,
        {1, 1, 1, 2},
        f32},
       {"[arange]", "a list of 17179869176 bytes"}},
  };
  each_case(std::size(all), [&](std::uint64_t number) {
    expect_no_memory(program_of(all[number].program), all[number].words);
  });
}

}  // namespace
}  // namespace tilewright::drills
