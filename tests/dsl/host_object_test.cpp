// Object code of hosts as bytes: equal whenever it is generated, loaded whole or refused, and kept
// from process to process.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "dsl/codegen/host/codegen.h"
#include "dsl/language/kernel.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/launch/compile.h"
#include "dsl/launch/device.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/code/callable_functions.h"
#include "runtime/code/object.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"

namespace tilewright::dsl::host_object_test {
namespace {

namespace fs = std::filesystem;

// y[i] = tanh(x[i]) * scale: with constants, and with calls of functions outside.
ir::Function tanh_program(double scale = 2.5) {
  Tracer t("tanh");
  Tile x = t.pointer_param("x", f64), y = t.pointer_param("y", f64);
  store(make_desc(y, {8}, {1}), {0}, tanh(load(make_desc(x, {8}, {1}), {0}, {8})) * scale);
  return t.finish();
}

void expect_tanh(const Artifact& kernel, double scale = 2.5) {
  alignas(64) double x[8] = {-2, -1, -0.5, 0, 0.25, 1, 2, 3}, y[8] = {};
  const Argument arguments[2] = {{.pointer = x}, {.pointer = y}};
  launch(kernel, Grid(1), arguments);
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(y[i], std::tanh(x[i]) * scale, 1e-14) << x[i];
}

std::string load_error(std::span<const char> bytes, std::string_view entry = "kernel") {
  try {
    load_object(bytes, entry, callable_functions());
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(HostObjects, AreEqualWheneverTheyAreGenerated) {
  const HostObject first = generate_host_object(tanh_program(), host_target());
  generate_host_object(tanh_program(7), host_target());
  const HostObject second = generate_host_object(tanh_program(), host_target());
  EXPECT_EQ(first.bytes, second.bytes);
  EXPECT_NE(first.bytes, generate_host_object(tanh_program(7), host_target()).bytes);
  expect_tanh(*load_host_object(tanh_program(), second));
}

TEST(HostObjects, AreRefusedWithTheReason) {
  const HostObject object = generate_host_object(tanh_program(), host_target());
  EXPECT_EQ(load_error(object.bytes), "");
  EXPECT_EQ(load_error(object.bytes, "other"),
            "[loading code] the object has no function \"other\"");
  EXPECT_EQ(load_error({}),
            "[loading code] the object's headers lie at bytes 0 and the 64 behind, "
            "where the object has 0 bytes");
  try {
    load_object(object.bytes, "kernel", callable_functions().first(2));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "[loading code] the object calls \"tanh\", which is none of the functions that a "
                 "kernel may call");
  }
}

// Damage may leave an object that loads, but nothing outside it is read or written on the way.
TEST(HostObjects, OfWhichAnyPartIsDamagedAreLoadedOrRefused) {
  const HostObject whole = generate_host_object(tanh_program(), host_target());
  for (std::size_t bytes = 0; bytes < whole.bytes.size(); bytes += 7)
    load_error({whole.bytes.data(), bytes});
  int refused = 0;
  std::vector<char> bytes = whole.bytes;
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (char value : {'\0', '\1', '\x7f', '\xff'}) {
      bytes[at] = value;
      refused += !load_error(bytes).empty();
      bytes[at] = whole.bytes[at];
    }
  EXPECT_GT(refused, 200);
}

// Compiles the program in a new process: "c" if it was compiled there, "l" if it was loaded.
char in_new_process(double scale = 2.5, const Target& target = host_target()) {
  const pid_t child = ::fork();
  if (child == 0) {
    const CompileStatistics before = compile_statistics();
    expect_tanh(*compile(tanh_program(scale), target), scale);
    const CompileStatistics after = compile_statistics();
    const char result = after.compiled > before.compiled ? 'c'
                        : after.loaded > before.loaded   ? 'l'
                                                         : '?';
    ::_exit(testing::Test::HasFailure() ? '!' : result);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? static_cast<char>(WEXITSTATUS(status)) : '!';
}

class KeptObjects : public testing::Test {
 protected:
  void SetUp() override {
    if (host_target() != Device::cpu().target()) GTEST_SKIP() << "only the host has object code";
  }
  fs::path file() const {
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
      if (entry.is_regular_file()) return entry.path();
    return {};
  }
  ScratchFolder folder_;
  Setting cache_{"TILEWRIGHT_CACHE_DIR", folder_.path().c_str()};
};

TEST_F(KeptObjects, AreLoadedByTheNextProcess) {
  EXPECT_EQ(in_new_process(), 'c');
  EXPECT_EQ(in_new_process(), 'l');
  EXPECT_EQ(in_new_process(3), 'c') << "another program";
  EXPECT_EQ(in_new_process(3), 'l');
  const Setting off("TILEWRIGHT_CACHE_DIR", "off");
  EXPECT_EQ(in_new_process(), 'c');
}

TEST_F(KeptObjects, AreCompiledAgainWhereTheFileIsDamaged) {
  ASSERT_EQ(in_new_process(), 'c');
  const std::string whole = read_file(file());
  std::string damaged = whole;
  damaged[damaged.size() / 2] ^= 1;
  std::ofstream(file(), std::ios::binary) << damaged;
  EXPECT_EQ(in_new_process(), 'c');
  EXPECT_EQ(read_file(file()), whole) << "objects are reproducible";
  EXPECT_EQ(in_new_process(), 'l');
}

// A value of a setting that is not its default.
std::string other_value(const env::Row& row, const fs::path& folder) {
  if (row.variable == "TILEWRIGHT_CHECK") return "bounds";
  if (row.variable == "TILEWRIGHT_STOP_AFTER") return "pack_products";
  if (row.type == "integer") return "3";
  if (row.type == "flag") return "1";
  return row.type == "list" ? "dead_code" : (folder / "other").string();
}

// The same for a kernel by hand, whose checks are a setting.
char kernel_in_new_process() {
  const pid_t child = ::fork();
  if (child == 0) {
    const CompileStatistics before = compile_statistics();
    std::vector<float> x(128);
    Kernel("ones", [](Pointer p) { store(p + arange(0, 128), 1.0); }, {"x"}).launch(1, x);
    const CompileStatistics after = compile_statistics();
    ::_exit(after.compiled > before.compiled ? 'c' : after.loaded > before.loaded ? 'l' : '?');
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? static_cast<char>(WEXITSTATUS(status)) : '!';
}

// TILEWRIGHT_CPU is read once a process, and names the target.
char under_setting(const env::Row& row) {
  if (row.variable == "TILEWRIGHT_CPU") return in_new_process(2.5, target_named("sse"));
  if (row.variable == "TILEWRIGHT_CHECK") return kernel_in_new_process();
  return in_new_process();
}

// Every row of the table has the effect on kept code that it names.
TEST_F(KeptObjects, AreFoundUnderSettingsWithoutAnEffectOnThemAlone) {
  ASSERT_EQ(in_new_process(), 'c');
  ASSERT_EQ(kernel_in_new_process(), 'c');
  for (const env::Row& row : env::rows()) {
    SCOPED_TRACE(row.variable);
    const bool is_place = row.effect == env::Effect::place;
    {
      const Setting named("TILEWRIGHT_CACHE_DIR", is_place ? nullptr : folder_.path().c_str());
      const Setting xdg("XDG_CACHE_HOME", nullptr);
      const Setting other(row.variable.data(), other_value(row, folder_.path()).c_str());
      EXPECT_EQ(under_setting(row), row.effect == env::Effect::none ? 'l' : 'c');
      EXPECT_EQ(under_setting(row), row.effect == env::Effect::unkept ? 'c' : 'l');
    }
    EXPECT_EQ(in_new_process(), 'l');
    EXPECT_EQ(kernel_in_new_process(), 'l');
  }
}

// Settings under which code is not what it is otherwise.
TEST_F(KeptObjects, AreNeitherReadNorWrittenWhereSettingsChangeTheCode) {
  ASSERT_EQ(in_new_process(), 'c');
  {
    const Setting setting("TILEWRIGHT_SKIP_PASSES", "canonicalise");
    EXPECT_EQ(in_new_process(), 'c');
    EXPECT_EQ(in_new_process(3), 'c');
  }
  EXPECT_EQ(in_new_process(3), 'c') << "it was kept though a pass was skipped";
  EXPECT_EQ(in_new_process(), 'l');
  EXPECT_EQ(in_new_process(2.5, target_named("sse")), 'c') << "of another processor";
  EXPECT_EQ(in_new_process(2.5, target_named("sse")), 'l');
}

}  // namespace
}  // namespace tilewright::dsl::host_object_test
