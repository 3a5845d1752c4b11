// Limits on reading files of strangers: a second, and 64 MiB with three times the file, its own
// text being one of the three.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <functional>
#include <sstream>

#include "models/tokenizer/tokenizer.h"
#include "models/weights/safetensors_header.h"
#include "tests/errors.h"
#include "tests/models/folders.h"

namespace tilewright::loader_limits_test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != "VmHWM:") {
  }
  std::int64_t kb = 0;
  status >> kb;
  return kb * 1024;
}

struct Cost {
  double seconds = 0;
  std::int64_t bytes = 0;  // beyond the text's own
  std::string error;
};

// The cost of reading the text, in a process of its own.
Cost cost_of(const std::string& text, const std::function<void()>& read) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  pid_t child = ::fork();
  if (child == 0) {
    volatile char sum = 0;
    for (std::size_t i = 0; i < text.size(); i += 4096) sum = static_cast<char>(sum + text[i]);
    std::ofstream("/proc/self/clear_refs") << 5;  // resets the peak
    std::int64_t before = peak_bytes();
    auto begin = std::chrono::steady_clock::now();
    std::string error = error_of(read);
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::string report =
        concat(took.count(), ' ', peak_bytes() - before, ' ', error.substr(0, 500));
    ::_exit(::write(ends[1], report.data(), report.size()) > 0 ? 0 : 1);
  }
  ::close(ends[1]);
  char report[2000] = {};
  EXPECT_GT(::read(ends[0], report, sizeof report - 1), 0);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  Cost cost;
  std::istringstream in(report);
  in >> cost.seconds >> cost.bytes;
  std::getline(in, cost.error);
  return cost;
}

void expect_cheap(const std::string& text, const std::function<void()>& read,
                  const std::string& message) {
  Cost cost = cost_of(text, read);
  EXPECT_THAT(cost.error, HasSubstr(message));
  EXPECT_LE(cost.bytes, (std::int64_t{64} << 20) + 2 * std::ssize(text)) << text.size();
  // The promise is one second on a machine of its own; tests share theirs, under sanitizers too.
  EXPECT_LT(cost.seconds, 20);
  std::printf("             %zu MB: %.2f s, %lld MiB\n", text.size() / 1'000'000, cost.seconds,
              static_cast<long long>(cost.bytes >> 20));
}

void expect_cheap_tokenizer(const std::string& text, const std::string& message) {
  expect_cheap(
      text, [&] { Tokenizer::parse(text, "t"); }, message);
}

void expect_cheap_header(const std::string& text, const std::string& message) {
  expect_cheap(
      text, [&] { weights::parse_safetensors_header(text, text.size() + 8, "w"); }, message);
}

std::string tokenizer_with(const std::string& vocab, const std::string& merges,
                           const std::string& more = "") {
  return R"({"model":{"type":"BPE","vocab":{)" + vocab + R"(},"merges":[)" + merges + "]}" + more +
         "}";
}

TEST(SlowLoaderLimits, HoldForAVocabularyOfFourMillionTokens) {
  std::string vocab;
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-";
  for (std::size_t i = 0; i < 1 << 22; ++i) {
    vocab += i > 0 ? ",\"" : "\"";
    for (std::size_t rest = i, digit = 0; digit < 4; ++digit, rest /= 64)
      vocab += letters[rest % 64];
    vocab += "\":" + std::to_string(i);
  }
  expect_cheap_tokenizer(tokenizer_with(vocab, ""), "no error");
  expect_cheap_tokenizer(tokenizer_with(vocab.replace(1, 4, "baaa"), ""), "\"baaa\" appears twice");
}

TEST(SlowLoaderLimits, HoldForMillionsOfMerges) {
  std::string vocab, merges;
  std::vector<std::string> letters;
  for (int i = 0; i < 1500; ++i) letters.push_back(concat(static_cast<char>('a' + i % 26), i));
  for (std::size_t id = 0; id < letters.size(); ++id)
    vocab += concat(id > 0 ? "," : "", '"', letters[id], "\":", id);
  for (int i = 0; i < 1500; ++i)
    for (int j = 0; j < 1500; ++j)
      merges += (merges.empty() ? "\"" : ",\"") + letters[i] + ' ' + letters[j] + '"';
  expect_cheap_tokenizer(tokenizer_with(vocab, merges), "merge 0 needs the token");
}

TEST(SlowLoaderLimits, HoldForValuesOutsideOfTheTables) {
  std::string numbers = "[";
  for (int i = 0; i < 1'000'000; ++i) numbers += "0,";
  expect_cheap_tokenizer(tokenizer_with("\"a\":0", "", R"(,"x":)" + numbers + "0]"),
                         "JSON values outside its tables");
  std::string tokens = R"(,"added_tokens":[{})";
  for (int i = 0; i < 4'000'000; ++i) tokens += ",{}";
  expect_cheap_tokenizer(tokenizer_with("\"a\":0", "", tokens + "]"),
                         "JSON values outside its tables");
  std::string members = R"(,"x":{"a":0)";
  for (int i = 0; i < 1'000'000; ++i) members += ",\"" + std::to_string(i) + "\":0";
  expect_cheap_tokenizer(tokenizer_with("\"a\":0", "", members + "}"),
                         "JSON values outside its tables");
}

TEST(SlowLoaderLimits, HoldForAMillionTensors) {
  std::string header = "{";
  for (int i = 0; i < 1'000'000; ++i)
    header += concat(i ? "," : "", "\"", i, R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})");
  expect_cheap_header(header + "}", "no error");
  std::string names = "{";
  for (int i = 0; i < 600'000; ++i)
    names += concat(i ? "," : "", "\"model.layers.self_attention.projection.", i,
                    R"(":{"dtype":"U8","shape":[0,1,2,3,4,5,6,7],"data_offsets":[0,0]})");
  expect_cheap_header(names + "}", "no error");
}

TEST(SlowLoaderLimits, HoldForMetadata) {
  std::string header = R"({"__metadata__":{"a":"")";
  for (int i = 0; i < 700'000; ++i) header += concat(",\"", i, "\":\"\"");
  expect_cheap_header(header + "}}", "more than 100000 entries in __metadata__");
  expect_cheap_header(R"({"__metadata__":{"a":")" + std::string(9'900'000, 'x') + "\"}}",
                      "no error");
}

}  // namespace
}  // namespace tilewright::loader_limits_test
