// GGUF files that are damaged, cut short or of an unknown kind: messages name the setting or the
// tensor and what would be right, and no count of the file takes memory that it does not fill.
// Values are compared in published_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "models/decoder/load_model.h"
#include "models/gguf/gguf_model.h"
#include "tests/errors.h"
#include "tests/models/folders.h"

namespace tilewright::gguf_test {
namespace {

using ::testing::HasSubstr;

// The bytes of a file, written from its beginning on.
class Bytes {
 public:
  template <typename T>
  Bytes& number(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& text(const std::string& value) {
    number<std::uint64_t>(value.size());
    text_ += value;
    return *this;
  }
  Bytes& head(std::uint64_t tensors, std::uint64_t settings, std::uint32_t version = 3) {
    text_ += "GGUF";
    return number(version).number(tensors).number(settings);
  }
  Bytes& setting(const std::string& key, const std::string& value) {
    return text(key).number<std::uint32_t>(8).text(value);
  }
  Bytes& setting(const std::string& key, std::uint32_t value) {
    return text(key).number<std::uint32_t>(4).number(value);
  }
  Bytes& tensor(const std::string& name, std::vector<std::uint64_t> sizes, std::uint32_t type,
                std::uint64_t offset = 0) {
    text(name).number(static_cast<std::uint32_t>(sizes.size()));
    for (std::uint64_t size : sizes) number(size);
    return number(type).number(offset);
  }
  Bytes& fill(std::size_t until) {
    text_.resize(std::max(until, text_.size()));
    return *this;
  }
  const std::string& bytes() const { return text_; }

 private:
  std::string text_;
};

class Gguf : public ::testing::Test {
 protected:
  std::filesystem::path written(const Bytes& bytes) {
    const std::filesystem::path path = scratch_.path() / "a.gguf";
    std::ofstream(path, std::ios::binary) << bytes.bytes();
    return path;
  }
  std::shared_ptr<const gguf::GgufFile> open(const Bytes& bytes) {
    return gguf::GgufFile::open(written(bytes));
  }
  std::string error_with(const Bytes& bytes) {
    return error_of([&] { open(bytes); });
  }
  testing::ScratchFolder scratch_;
};

TEST_F(Gguf, KnowsItsSettingsAndTensors) {
  Bytes bytes;
  bytes.head(1, 2).setting("a.b", "text").setting("n", 7).tensor("t", {32, 2}, 2).fill(512);
  const auto file = open(bytes);
  EXPECT_EQ(file->text("a.b"), "text");
  EXPECT_EQ(file->integer("n"), 7);
  EXPECT_EQ(file->integer("m", 8), 8);
  EXPECT_EQ(file->tensors().at("t").shape, Shape({2, 32}));
  EXPECT_EQ(file->tensors().at("t").size, 36U);
  EXPECT_THAT(error_of([&] { file->integer("a.b"); }),
              HasSubstr("the setting a.b is of another type; an integer is needed"));
  EXPECT_THAT(error_of([&] { file->text("m"); }),
              HasSubstr("the setting m is missing; a text is needed"));
  EXPECT_THAT(error_of([&] { gguf::stored_tensor(*file, "u"); }), HasSubstr("has no tensor \"u\""));
}

TEST_F(Gguf, ThatIsDamagedIsRefused) {
  EXPECT_THAT(error_with(Bytes().text("not one")), HasSubstr("does not begin with GGUF"));
  EXPECT_THAT(error_with(Bytes().head(0, 0, 1)), HasSubstr("is of the version 1; 2 and 3"));
  EXPECT_THAT(error_with(Bytes().head(1, 0)), HasSubstr("ends within its head"));
  EXPECT_THAT(error_with(Bytes().head(std::uint64_t{1} << 60, 0)),
              HasSubstr("1152921504606846976 tensors and 0 settings; at most"));
  EXPECT_THAT(error_with(Bytes().head(0, 1).number<std::uint64_t>(1 << 30)),
              HasSubstr("the name of a setting has 1073741824 bytes; at most 1024"));
  EXPECT_THAT(error_with(Bytes().head(0, 2).setting("a", 1).setting("a", 2)),
              HasSubstr("has the setting \"a\" twice"));
  EXPECT_THAT(error_with(Bytes().head(0, 1).text("a").number<std::uint32_t>(13)),
              HasSubstr("a setting has the type 13; 0 to 12 are known"));
  auto array = [](std::uint32_t type, std::uint64_t count) {
    return Bytes().head(0, 1).text("a").number<std::uint32_t>(9).number(type).number(count);
  };
  EXPECT_THAT(error_with(array(4, std::uint64_t{1} << 61)),
              HasSubstr("elements; 0 bytes are left"));
  EXPECT_THAT(error_with(array(9, 1)), HasSubstr("elements of the type 9; numbers and texts"));
  EXPECT_THAT(error_with(Bytes().head(0, 1).setting("general.alignment", 3)),
              HasSubstr("general.alignment is 3; a power of two"));
}

TEST_F(Gguf, WithATensorThatDoesNotFitIsRefused) {
  auto error = [&](std::vector<std::uint64_t> sizes, std::uint32_t type, std::uint64_t offset = 0) {
    return error_with(Bytes().head(1, 0).tensor("t", sizes, type, offset).fill(512));
  };
  EXPECT_THAT(error({1, 1, 1, 1, 1}, 0), HasSubstr("tensor \"t\" has 5 axes; at most 4"));
  EXPECT_THAT(error({0}, 0), HasSubstr("has an axis of 0; a size above 0"));
  EXPECT_THAT(error({1ULL << 39, 1ULL << 39}, 0), HasSubstr("less than 2^62 elements"));
  EXPECT_THAT(error({31}, 2), HasSubstr("is of the type 2 and 31; rows of whole blocks of one"));
  EXPECT_THAT(error({32}, 99), HasSubstr("q4_0 (2), q4_1 (3)"));
  EXPECT_THAT(error({32}, 2, 8), HasSubstr("begins at 8; a multiple of 32"));
  EXPECT_THAT(error({1024}, 0), HasSubstr("has 4096 bytes from 0 on; the data have"));
  EXPECT_THAT(error({32}, 2, 1 << 20), HasSubstr("has 18 bytes from 1048576 on"));
  EXPECT_THAT(error_with(Bytes().head(2, 0).tensor("t", {1}, 0).tensor("t", {1}, 0).fill(512)),
              HasSubstr("has the tensor \"t\" twice"));
}

TEST_F(Gguf, OfAnArchitectureThatIsNotKnownIsRefused) {
  const auto path = written(Bytes().head(0, 1).setting("general.architecture", "mamba").fill(512));
  EXPECT_THAT(error_of([&] { load_model(path); }),
              HasSubstr("general.architecture is \"mamba\"; known are llama, qwen2"));
  const auto file =
      open(Bytes().head(0, 2).setting("general.architecture", "llama").setting("llama.magic", 1));
  EXPECT_THAT(error_of([&] { gguf::config_json(*file); }),
              HasSubstr("the setting llama.magic is not used by this library"));
  const auto split =
      open(Bytes().head(0, 2).setting("general.architecture", "llama").setting("split.count", 2));
  EXPECT_THAT(error_of([&] { gguf::weights_of(split); }), HasSubstr("is one of 2 files; a model"));
}

TEST_F(Gguf, WithATokenizerThatIsNotKnownIsRefused) {
  auto tokens = [](Bytes bytes, std::vector<std::string> texts) {
    bytes.text("tokenizer.ggml.tokens").number<std::uint32_t>(9).number<std::uint32_t>(8);
    bytes.number<std::uint64_t>(texts.size());
    for (const std::string& text : texts) bytes.text(text);
    return bytes;
  };
  auto error = [&](const Bytes& bytes) {
    const auto file = open(Bytes(bytes).fill(512));
    return error_of([&] { gguf::tokenizer_json(*file); });
  };
  EXPECT_THAT(error(Bytes().head(0, 0)), HasSubstr("the setting tokenizer.ggml.tokens is missing"));
  EXPECT_THAT(error(tokens(Bytes().head(0, 2).setting("tokenizer.ggml.model", "bert"), {"a"})),
              HasSubstr("tokenizer.ggml.model is \"bert\"; known are gpt2"));
  EXPECT_THAT(error(tokens(Bytes()
                               .head(0, 3)
                               .setting("tokenizer.ggml.model", "gpt2")
                               .setting("tokenizer.ggml.pre", "magic"),
                           {"a"})),
              HasSubstr("tokenizer.ggml.pre is \"magic\"; known are default"));
  Bytes scored = Bytes().head(0, 5);
  scored.setting("tokenizer.ggml.model", "llama").setting("tokenizer.ggml.bos_token_id", 0);
  scored.setting("tokenizer.ggml.unknown_token_id", 4);
  scored.text("tokenizer.ggml.scores").number<std::uint32_t>(9).number<std::uint32_t>(6);
  scored.number<std::uint64_t>(1).number(0.5F);
  EXPECT_THAT(error(tokens(scored, {"a"})),
              HasSubstr("tokenizer.ggml.unknown_token_id is 4; there are 1 tokens"));
  EXPECT_THAT(error(tokens(Bytes()
                               .head(0, 4)
                               .setting("tokenizer.ggml.model", "llama")
                               .setting("tokenizer.ggml.bos_token_id", 0)
                               .setting("tokenizer.ggml.unknown_token_id", 0),
                           {"a"})),
              HasSubstr("tokenizer.ggml.scores has 0 numbers; there are 1 tokens"));
}

// A prefix of a good file is an error, never a crash.
TEST_F(Gguf, CutShortAnywhereIsRefused) {
  Bytes whole;
  whole.head(1, 2).setting("a.b", "text").setting("n", 7).tensor("t", {32, 2}, 2).fill(128 + 36);
  open(whole);
  for (std::size_t size = 0; size < whole.bytes().size(); ++size) {
    const std::filesystem::path path = scratch_.path() / "cut.gguf";
    std::ofstream(path, std::ios::binary) << whole.bytes().substr(0, size);
    EXPECT_THAT(error_of([&] { gguf::GgufFile::open(path); }), HasSubstr("[load_gguf]")) << size;
  }
}

}  // namespace
}  // namespace tilewright::gguf_test
