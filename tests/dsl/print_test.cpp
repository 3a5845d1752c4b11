// Output of print in programs, by its definition, on the host and on emulated GPUs.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/interpret/interpret.h"
#include "dsl/ir/text/text.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/launch/compile.h"
#include "tests/errors.h"

namespace tilewright::dsl::print_test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

ir::Function talking() {
  Tracer tracer("talking");
  Tile x = tracer.pointer_param("x", f32);
  Tile total = sum(load(x + arange(0, 4)), 0);
  device_print("program {} of {}: {}, 100%, {}\n",
               {program_id(0), num_programs(0), total, program_id(0) > 0});
  return tracer.finish();
}

std::vector<std::string> lines_of(const ir::Function& function, const char* device) {
  alignas(64) float numbers[] = {0.25, 1, 2, 4};
  std::vector<Argument> arguments = {{.pointer = numbers}};
  Grid grid{{3, 1, 1}};
  testing::internal::CaptureStdout();
  if (device == nullptr)
    ir::interpret(function, grid, arguments);
  else
    launch(*compile(function, *device == 0 ? host_target() : target_named(device)), grid,
           arguments.data());
  std::istringstream text(testing::internal::GetCapturedStdout());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

TEST(Print, EachProgramSpeaksOnce) {
  for (const char* device : {static_cast<const char*>(nullptr), "", "sm_80", "sm_90a"})
    EXPECT_THAT(lines_of(talking(), device),
                ElementsAre("program 0 of 3: 7.25, 100%, 0", "program 1 of 3: 7.25, 100%, 1",
                            "program 2 of 3: 7.25, 100%, 1"))
        << (device == nullptr ? "interpreter" : device);
}

TEST(Print, IsReadAsItIsWritten) {
  std::string text = "func @f(%x: f32) {\n  print %x, @\"x is {}\\x0a\"\n  print @\"done\"\n}\n";
  EXPECT_EQ(ir::print(ir::parse(text)), text);
}

TEST(Print, IsVprintfOnAGpu) {
  EXPECT_THAT(gpu::generate_ptx(talking(), target_named("sm_80")).text, HasSubstr("vprintf"));
}

TEST(Print, RefusesTilesAndAWrongNumberOfValues) {
  Tracer tracer("f");
  EXPECT_THAT(error_of([] { device_print("{}", {arange(0, 4)}); }),
              EndsWith("[print] operand 0 is i32[4]; it must be a scalar; reduce a tile to one"));
  EXPECT_THAT(error_of([] { device_print("{} {}", {program_id(0)}); }),
              EndsWith("[print] the text has 2 places for values, 1 are given; write {} for each"));
}

}  // namespace
}  // namespace tilewright::dsl::print_test
