// as_strided of views: places count in the memory that the view lies in. Values are PyTorch 2.15's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/exported/exported_module.h"
#include "tests/errors.h"
#include "tests/models/exported_folder.h"

namespace tilewright::exported_storage_test {
namespace {

using namespace testing_exported;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::sizes_of;
using Floats = std::vector<float>;

std::string integers(const std::vector<int>& numbers) {
  std::string text;
  for (int number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return R"({"as_ints": [)" + text + "]}";
}
std::string integer(int number) { return R"({"as_int": )" + std::to_string(number) + "}"; }

struct View {
  std::vector<std::string> nodes;  // that make v of x, which counts from 0 to 19
  std::vector<int> sizes, strides;
  int offset = 0;
};
struct Picked {
  std::vector<int> sizes, strides;
  std::optional<int> offset;  // the view's own by default
};

class ExportedStorage : public Exported {
 protected:
  static ProgramText program_of(const View& view, const std::string& picking) {
    ProgramText program;
    program.inputs = R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})";
    program.tensors = R"("x": )" + tensor_facts(sizes_of({20}), 7, sizes_of({1})) + R"(, "m": )" +
                      tensor_facts(sizes_of({4, 5}), 7, sizes_of({5, 1})) + R"(, "v": )" +
                      tensor_facts(sizes_of(view.sizes), 7, sizes_of(view.strides), view.offset);
    program.nodes.clear();
    for (const std::string& each : view.nodes) program.nodes += each + ", ";
    program.nodes += picking;
    return program;
  }
  static std::vector<std::string> arguments_of(const Picked& picked) {
    std::vector<std::string> arguments = {argument("size", integers(picked.sizes)),
                                          argument("stride", integers(picked.strides))};
    if (picked.offset) arguments.push_back(argument("storage_offset", integer(*picked.offset)));
    return arguments;
  }
  Floats picked(const View& view, const Picked& by) {
    std::vector<std::string> arguments = arguments_of(by);
    arguments.insert(arguments.begin(), tensor_argument("self", "v"));
    auto module = load(
        exported_file(program_of(view, node("torch.ops.aten.as_strided.default", arguments, "y"))));
    return module->forward({arange(0, 20).to(f32)})[0].to_vector<float>();
  }
  Floats scattered(const View& view, const Picked& by) {
    std::vector<std::string> arguments = arguments_of(by);
    arguments.insert(arguments.begin(), tensor_argument("src", "s"));
    arguments.insert(arguments.begin(), tensor_argument("self", "v"));
    const std::string source =
        node("torch.ops.aten.full.default",
             {argument("size", integers(by.sizes)), argument("fill_value", integer(-1))}, "s");
    auto module = load(exported_file(program_of(
        view, source + ", " + node("torch.ops.aten.as_strided_scatter.default", arguments, "y"))));
    return module->forward({arange(0, 20).to(f32)})[0].to_vector<float>();
  }

  const std::string matrix_ =
      node("torch.ops.aten.view.default",
           {tensor_argument("self", "x"), argument("size", integers({4, 5}))}, "m");
  const View rest_{{node("torch.ops.aten.slice.Tensor",
                         {tensor_argument("self", "x"), argument("dim", integer(0)),
                          argument("start", integer(4))},
                         "v")},
                   {16},
                   {1},
                   4};
  const View turned_{
      {matrix_, node("torch.ops.aten.t.default", {tensor_argument("self", "m")}, "v")},
      {5, 4},
      {1, 5}};
};

TEST_F(ExportedStorage, PlacesCountInTheMemoryOfTheView) {
  EXPECT_EQ(picked(rest_, {{2, 2}, {2, 1}, 8}), (Floats{8, 9, 10, 11}));
  EXPECT_EQ(picked(rest_, {{2, 2}, {2, 1}, {}}), (Floats{4, 5, 6, 7}));
  EXPECT_EQ(picked(turned_, {{4}, {1}, {}}), (Floats{0, 1, 2, 3}));
  const View row{{matrix_, node("torch.ops.aten.select.int",
                                {tensor_argument("self", "m"), argument("dim", integer(0)),
                                 argument("index", integer(1))},
                                "v")},
                 {5},
                 {1},
                 5};
  EXPECT_EQ(picked(row, {{3}, {5}, {}}), (Floats{5, 10, 15}));
}

// (x.view(4, 5).t() + 1) lies column by column, as its operand does.
TEST_F(ExportedStorage, ResultsLieAsPyTorchLaysThem) {
  View sum = turned_;
  sum.nodes = {matrix_, node("torch.ops.aten.t.default", {tensor_argument("self", "m")}, "t"),
               node("torch.ops.aten.add.Tensor",
                    {tensor_argument("self", "t"), argument("other", integer(1))}, "v")};
  EXPECT_EQ(picked(sum, {{4}, {1}, {}}), (Floats{1, 2, 3, 4}));
}

TEST_F(ExportedStorage, ScattersGoToTheMemoryOfTheView) {
  EXPECT_EQ(scattered(turned_, {{3}, {4}, {}}),
            (Floats{-1, 5, 10, 15, 1, 6, 11, 16, 2, 7, 12, 17, 3, -1, 13, 18, -1, 9, 14, 19}));
  EXPECT_EQ(scattered(rest_, {{3}, {4}, 2}),
            (Floats{4, 5, -1, 7, 8, 9, -1, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
}

TEST_F(ExportedStorage, RefusesMemoryThatIsNotKnown) {
  ProgramText program =
      program_of(rest_, node("torch.ops.aten.as_strided.default",
                             {tensor_argument("self", "v"), argument("size", integers({2})),
                              argument("stride", integers({1}))},
                             "y"));
  program.tensors = R"("x": )" + tensor_facts(sizes_of({20}), 7, sizes_of({1}));
  EXPECT_THAT(error_of_file(exported_file(program)),
              HasSubstr("of a view with sizes that vary these are not known"));
  program.tensors = R"("x": )" + tensor_facts(sizes_of({20}), 7, sizes_of({2})) + R"(, "v": )" +
                    tensor_facts(sizes_of({16}), 7, sizes_of({2}), 8);
  EXPECT_THAT(error_of_file(exported_file(program)),
              HasSubstr("the tensor that owns the memory has gaps in it"));
}

TEST_F(Exported, ErrorsNameTheLineOfTheModel) {
  ProgramText program = of_any_rows();
  program.nodes = node("torch.ops.aten.pad.default",
                       {tensor_argument("self", "x"), argument("pad", integers({3, 0})),
                        argument("mode", R"({"as_string": "reflect"})")},
                       "y");
  auto module = load(exported_file(program));
  EXPECT_THAT(error_of([&] {
                module->forward({zeros({4, 3})});
              }),
              AllOf(HasSubstr("the axis has 2 to add in this mode"), HasSubstr("net.py:7")));
}

TEST_F(Exported, ReadsUnsignedIntegersOfAllWidths) {
  for (const auto& [number, dtype] : {std::pair{28, u16}, {34, u32}, {35, u64}}) {
    ProgramText program;
    program.inputs = R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})";
    program.tensors = R"("x": )" + tensor_facts(sizes_of({2}), number);
    program.nodes =
        node("torch.ops.aten.to.dtype",
             {tensor_argument("self", "x"), argument("dtype", R"({"as_scalar_type": 5})")}, "y");
    auto module = load(exported_file(program));
    const Tensor x = Tensor::from<std::int64_t>({5, 65535}, {2}).to(dtype);
    EXPECT_EQ(module->forward({x})[0].to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{5, 65535}));
  }
}

}  // namespace
}  // namespace tilewright::exported_storage_test
