#include "models/weights/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "tests/errors.h"
#include "tests/models/folders.h"

namespace tilewright::safetensors_test {
namespace {

// Entries of a file that is gone at the end of the expression would be gone too.
template <typename File>
concept GivesEntries = requires(File&& file) { std::forward<File>(file).entries(); };
static_assert(GivesEntries<const Safetensors&> && !GivesEntries<Safetensors>);

using ::testing::HasSubstr;
using testing::ScratchFolder;

std::string file_with(std::string_view header, const void* data, std::size_t data_bytes) {
  std::uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), 8);
  file += header;
  return file.append(static_cast<const char*>(data), data_bytes);
}

TEST(Safetensors, GivesBackWhatWasSaved) {
  ScratchFolder folder;
  auto path = folder.path() / "w.safetensors";
  Tensor a = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  Tensor b = Tensor::from<std::int8_t>({-1, 2, -3}, {3});
  Tensor c = Tensor::scalar<std::int64_t>(7);
  save_safetensors(path, {{"a", a}, {"odd \"name\"", b}, {"c", c}}, {{"made by", "a test"}});
  Safetensors file = Safetensors::open(path);
  EXPECT_EQ(file.metadata().at("made by"), "a test");
  EXPECT_EQ(file.tensor("a").to_vector<float>(), a.to_vector<float>());
  EXPECT_EQ(file.tensor("a").shape(), (Shape{2, 3}));
  EXPECT_EQ(file.tensor("odd \"name\"").to_vector<std::int8_t>(), b.to_vector<std::int8_t>());
  EXPECT_EQ(file.tensor("c").item<std::int64_t>(), 7);
  EXPECT_EQ(file.find("d"), nullptr);
}

TEST(Safetensors, CopiesTensorsThatAreNotAligned) {
  ScratchFolder folder;
  float values[] = {1.5F, -2.5F};
  std::string data("\7", 1);
  data.append(reinterpret_cast<const char*>(values), sizeof values);
  auto path =
      folder.write("w", file_with(R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                  R"("y":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})",
                                  data.data(), data.size()));
  Tensor y = Safetensors::open(path).tensor("y");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(y.data()) % 64, 0U);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1.5F, -2.5F}));
}

TEST(Safetensors, WritingToATensorLeavesTheFileAsItWas) {
  ScratchFolder folder;
  auto path = folder.path() / "w";
  save_safetensors(path, {{"a", Tensor::from<float>({1, 2}, {2})}});
  Tensor a = Safetensors::open(path, {.reading = Reading::mapped}).tensor("a");
  static_cast<float*>(a.data())[0] = 9;
  EXPECT_EQ(Safetensors::open(path).tensor("a").to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST(Safetensors, ReadsTheSameInEveryWay) {
  ScratchFolder folder;
  auto path = folder.path() / "w";
  save_safetensors(path, {{"a", Tensor::from<float>({1, 2}, {2})}});
  for (Reading reading : {Reading::as_needed, Reading::copied, Reading::mapped}) {
    auto file = Safetensors::open(path, {.reading = reading});
    EXPECT_EQ(file.tensor("a").to_vector<float>(), (std::vector<float>{1, 2}));
  }
}

TEST(Safetensors, ConvertsFloatingTypesWhenReadingIntoATensor) {
  ScratchFolder folder;
  auto path = folder.path() / "w";
  save_safetensors(path, {{"h", Tensor::from<Half>({Half(1.5F), Half(-0.25F)}, {2})},
                          {"b", Tensor::from<BFloat16>({BFloat16(3.0F), BFloat16(-8.0F)}, {2})}});
  Safetensors file = Safetensors::open(path);
  Tensor into = Tensor::empty({2}, f32);
  file.read("h", into);
  EXPECT_EQ(into.to_vector<float>(), (std::vector<float>{1.5F, -0.25F}));
  file.read("b", into);
  EXPECT_EQ(into.to_vector<float>(), (std::vector<float>{3, -8}));
}

TEST(Safetensors, SaysWhatDoesNotFitWhenReadingIntoATensor) {
  ScratchFolder folder;
  auto path = folder.path() / "w";
  save_safetensors(path, {{"a", Tensor::from<float>({1, 2}, {2})}});
  Safetensors file = Safetensors::open(path);
  Tensor small = Tensor::empty({1}), whole = Tensor::empty({2}, i32);
  EXPECT_THAT(error_of([&] { file.read("a", small); }),
              HasSubstr("tensor \"a\" has shape 2; the destination has 1"));
  EXPECT_THAT(error_of([&] { file.read("a", whole); }),
              HasSubstr("is f32; it cannot be read as i32"));
  EXPECT_THAT(error_of([&] { file.tensor("b"); }), HasSubstr("has no tensor \"b\""));
}

TEST(Safetensors, FindsNanAndInfinityWhenAsked) {
  ScratchFolder folder;
  auto path = folder.path() / "w";
  save_safetensors(path, {{"a", Tensor::from<float>({1, std::nanf("")}, {2})}});
  EXPECT_EQ(error_of([&] { Safetensors::open(path); }), "no error");
  EXPECT_THAT(error_of([&] { Safetensors::open(path, {.scan_non_finite = true}); }),
              HasSubstr("tensor \"a\" is NaN or infinite at element 1"));
  save_safetensors(path, {{"a", Tensor::from<Half>({Half(INFINITY)}, {1})}});
  EXPECT_THAT(error_of([&] { Safetensors::open(path, {.scan_non_finite = true}); }),
              HasSubstr("NaN or infinite at element 0"));
}

TEST(Safetensors, RefusesPathsThatAreNoFiles) {
  ScratchFolder folder;
  EXPECT_THAT(error_of([&] { Safetensors::open(folder.path() / "none"); }),
              HasSubstr("cannot be opened: No such file"));
  EXPECT_THAT(error_of([&] { Safetensors::open(folder.path()); }), HasSubstr("not a regular file"));
}

TEST(Safetensors, FindsAFileThatShrinksWhileItIsOpen) {
  ScratchFolder folder;
  auto path = folder.path() / "w";
  save_safetensors(path, {{"a", Tensor::from<std::uint8_t>({1, 2, 3}, {3})}});
  Safetensors file = Safetensors::open(path);
  std::filesystem::resize_file(path, 10);
  Tensor into = Tensor::empty({3}, u8);
  EXPECT_THAT(error_of([&] { file.read("a", into); }), HasSubstr("; another process changes it"));
}

TEST(Safetensors, SavingRefusesNamesThatNoReaderTakes) {
  ScratchFolder folder;
  Tensor a = Tensor::from<float>({1}, {1});
  auto save = [&](const std::string& name, const Tensor& tensor) {
    return error_of([&] { save_safetensors(folder.path() / "w", {{name, tensor}}); });
  };
  EXPECT_THAT(save("__metadata__", a), HasSubstr("cannot be called \"__metadata__\""));
  EXPECT_THAT(save(std::string(1025, 'x'), a), HasSubstr("names have up to 1024 bytes"));
  EXPECT_THAT(save("\xff", a), HasSubstr("not UTF-8"));
  EXPECT_THAT(save("a", Tensor()), HasSubstr("tensor \"a\" has no data"));
  EXPECT_THAT(error_of([&] {
                save_safetensors(folder.path() / "none/w", {{"a", a}});
              }),
              HasSubstr("[save_safetensors] cannot create a file beside"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// A writer killed at any moment leaves the old file or the new one.
void kill_a_writer(int rounds) {
  ScratchFolder folder;
  auto path = folder.path() / "w";
  auto tensors = [](float value) {
    return std::map<std::string, Tensor>{
        {"a", Tensor::from(std::vector<float>(5000, value), {5000})}};
  };
  save_safetensors(path, tensors(0));
  for (int round = 0; round < rounds; ++round) {
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      for (float value = 1;; ++value) save_safetensors(path, tensors(value));
    ::usleep(static_cast<useconds_t>(500 + round * 61 % 4000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    auto values = Safetensors::open(path).tensor("a").to_vector<float>();
    EXPECT_EQ(values, std::vector<float>(5000, values.front())) << "round " << round;
  }
}
TEST(Safetensors, AKilledWriterLeavesOneWholeFile) { kill_a_writer(60); }
TEST(SlowSafetensors, AWriterKilledAThousandTimesLeavesOneWholeFile) { kill_a_writer(1000); }

}  // namespace
}  // namespace tilewright::safetensors_test
