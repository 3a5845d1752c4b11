// Tile IR that is wrong or strange: the texts that once hung the commands, and thousands of mutants
// that go through the parser, the passes and both code generators.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/codegen/host/codegen.h"
#include "dsl/ir/text/text.h"
#include "dsl/passes/pipeline.h"
#include "runtime/base/error.h"
#include "tests/drills/cases.h"
#include "tests/drills/child.h"
#include "tests/drills/tile_programs_mutant.h"
#include "tests/scratch_folder.h"

namespace tilewright::drills {
namespace {

constexpr std::int64_t most_bytes = std::int64_t{256} << 20;
constexpr int most_cpu_s = 5;
constexpr std::size_t longest_message = 4096;
constexpr int batch = 50;  // that one child compiles

// Takes a program through our tables and LLVM: parses, prints, and generates code for the host or a
// GPU.
void compile(const std::string& text, Chance& chance) {
  ir::Function function = ir::parse(text);
  std::string printed = ir::print(function);
  check(ir::print(ir::parse(printed)) == printed, "what was printed reads as something else");
  const std::vector<std::string> gpus = {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"};
  bool on_gpu = chance.below(2) == 0;
  dsl::Target target = on_gpu ? dsl::target_named(chance.of(gpus)) : dsl::host_target();
  dsl::run_passes(function, {.target = target});
  if (on_gpu)
    dsl::gpu::generate_ptx(function, target);
  else
    dsl::generate_host_code(function, target);
}

// The problem with the outcome, or nothing.
std::string problem_of(std::uint64_t number) {
  Chance chance(number + 1);
  try {
    compile(mutant_of_tile_program(number), chance);
    return {};
  } catch (const Error& error) {
    std::string message = error.what();
    if (message.size() > longest_message) return concat("a message of ", message.size(), " bytes");
    return message.find('[') == message.npos ? "names no operation: " + message : std::string();
  } catch (const std::exception& error) {
    return concat("no Error: ", error.what());
  }
}

std::int64_t address_space_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0;
  file >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

// A forked process that compiles mutants by number until its input ends, or until one kills it.
class Compiler {
 public:
  Compiler() {
    int to[2], from[2];
    check(::pipe(to) == 0 && ::pipe(from) == 0, "no pipe");
    pid_ = ::fork();
    check(pid_ >= 0, "no child");
    if (pid_ == 0) {
      ::close(to[1]);
      ::close(from[0]);
      serve(to[0], from[1]);
    }
    ::close(to[0]);
    ::close(from[1]);
    to_ = to[1];
    from_ = from[0];
  }
  ~Compiler() {
    ::close(to_);
    ::close(from_);
    if (!has_ended_) ::waitpid(pid_, nullptr, 0);
  }
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  bool has_ended() const { return has_ended_; }
  std::string problem(std::uint64_t number) {
    std::string text(longest_message, '\0');
    std::uint32_t size = 0;
    bool answers = ::write(to_, &number, sizeof number) == sizeof number &&
                   ::read(from_, &size, sizeof size) == sizeof size &&
                   ::read(from_, text.data(), size) == static_cast<ssize_t>(size);
    if (answers) return text.substr(0, size);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    has_ended_ = true;
    if (!WIFSIGNALED(status)) return concat("ended with ", WEXITSTATUS(status));
    bool is_late = WTERMSIG(status) == SIGPROF;
    return is_late ? concat("more than ", most_cpu_s, " s") : ::strsignal(WTERMSIG(status));
  }

 private:
  [[noreturn]] static void serve(int from, int to) {
    auto bytes = static_cast<rlim_t>(address_space_bytes() + most_bytes);
    rlimit memory{bytes, bytes}, core{0, 0};
    ::setrlimit(RLIMIT_AS, &memory);
    ::setrlimit(RLIMIT_CORE, &core);
    ::signal(SIGPROF, SIG_DFL);
    std::uint64_t number = 0;
    while (::read(from, &number, sizeof number) == sizeof number) {
      itimerval alarm{{0, 0}, {most_cpu_s, 0}};
      ::setitimer(ITIMER_PROF, &alarm, nullptr);
      std::string problem = problem_of(number).substr(0, longest_message);
      auto size = static_cast<std::uint32_t>(problem.size());
      bool is_told = ::write(to, &size, sizeof size) == sizeof size &&
                     ::write(to, problem.data(), size) == static_cast<ssize_t>(size);
      if (!is_told) break;
    }
    ::_exit(0);
  }

  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  bool has_ended_ = false;
};

TEST(TilePrograms, MutantsBecomeCodeOrErrors) {
  ::signal(SIGPIPE, SIG_IGN);
  std::optional<Compiler> compiler;
  int compiled = 0;
  each_case(6700, [&](std::uint64_t number) {
    if (compiled++ % batch == 0 || !compiler || compiler->has_ended()) compiler.emplace();
    EXPECT_EQ(compiler->problem(number), "") << mutant_of_tile_program(number).substr(0, 4000);
  });
}

std::string many(int count, const std::function<std::string(int)>& line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line(i);
  return text;
}

struct Built {
  const char* name;
  std::vector<std::string> words;  // of the command
  std::string text;
  std::string said;  // in its errors; empty: it succeeds
};
void PrintTo(const Built& built, std::ostream* out) { *out << built.name; }

class BuiltPrograms : public testing::TestWithParam<Built> {};

TEST_P(BuiltPrograms, TakeTimeAndMemoryByTheirSize) {
  ScratchFolder folder;
  Command command = tilewright_command(folder.path(), GetParam().words);
  command.in = folder.write("program.tile", GetParam().text).string();
  Outcome outcome = run(command);
  expect_answer(outcome, static_cast<std::int64_t>(GetParam().text.size()));
  if (GetParam().said.empty())
    EXPECT_EQ(outcome.status, 0) << outcome.text();
  else
    EXPECT_THAT(outcome.err, testing::HasSubstr(GetParam().said)) << outcome.text();
  EXPECT_LT(outcome.err.size(), 2000u);
}

std::vector<Built> built_programs() {
  auto names_and_ifs =
      "func @f(%p: ptr<f32>, %n: i64) {\n" +
      many(20000, [](int i) { return concat("%x", i, " = constant ", i, " : f32\n"); }) +
      "%z = constant 0 : i64\n%c = lt %z, %n : bool\n" +
      many(20000, [](int) { return "if %c {\nyield\n} else {\nyield\n}\n"; }) + "store %p, %x0\n}";
  auto pairs =
      "func @f(%p: ptr<f32>, %q: ptr<f32>) {\n" +
      many(10000,
           [](int i) { return concat("%x", i, " = load %p : f32\nstore %q, %x", i, "\n"); }) +
      "}";
  auto parameters =
      "func @f(" +
      many(100000, [](int i) { return concat(i ? ", " : "", "%p", i, ": ptr<f32>"); }) +
      ") {\n%x = load %p0 : f32\nstore %p1, %x\n}";
  std::string product = R"(func @f(%p: ptr<f32>, %n: i64) {
    %o = constant 1 : i64
    %d = make_desc %p, %n, %n, %n, %o : desc<f32, 2>
    %a = load_desc %d, %n, %n, [1024x1024] : f32[1024x1024]
    %z = constant 0 : f32
    %s = splat %z, [1024x1024] : f32[1024x1024]
    %e = dot %a, %a, %s : f32[1024x1024]
    store_desc %d, %e, %n, %n
  })";
  std::string number = "func @f() { %a = constant " + std::string(5 << 20, '9') + " : i32 }";
  return {{"names_and_ifs", {"opt"}, names_and_ifs, ""},
          {"names_and_ifs_on_a_gpu", {"ptx"}, names_and_ifs, ""},
          {"pairs", {"opt", "--emit", "llvm"}, pairs, ""},
          {"pairs_on_a_gpu", {"ptx"}, pairs, "32768 instructions of a thread"},
          {"parameters", {"opt", "--emit", "llvm"}, parameters, "100000 parameters"},
          {"parameters_on_a_gpu", {"ptx"}, parameters, "100000 parameters"},
          {"product", {"opt", "--emit", "llvm"}, product, ""},
          {"product_on_a_gpu", {"ptx"}, product, "f32[1024x1024]"},
          {"number", {"opt"}, number, "is not a number of i32"},
          {"long_text", {"opt"}, std::string(9 << 20, ' '), "more than 8388608 bytes"}};
}

INSTANTIATE_TEST_SUITE_P(TilePrograms, BuiltPrograms, testing::ValuesIn(built_programs()),
                         [](const auto& test) { return test.param.name; });

TEST(TilePrograms, AreNotReadWithoutEnd) {
  ScratchFolder folder;
  for (const char* command : {"opt", "ptx"}) {
    Outcome outcome = run(tilewright_command(folder.path(), {command, "/dev/zero"}));
    expect_answer(outcome);
    EXPECT_THAT(outcome.err, testing::HasSubstr("/dev/zero has more than 8388608 bytes"));
  }
}

}  // namespace
}  // namespace tilewright::drills
