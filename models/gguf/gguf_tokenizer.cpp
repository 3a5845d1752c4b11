// The tokenizer of a GGUF file as a tokenizer.json.
//
// Byte-level BPE has its merges in the file; the way in which a text is cut before that has a name.
// SentencePiece's BPE has scores instead of merges: the pair is joined that makes the piece of the
// highest score, so merges are all pairs that make a piece, in the order of its score.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "models/files/reader.h"
#include "models/gguf/gguf_model.h"
#include "runtime/base/error.h"

namespace tilewright::gguf {
namespace {

// llama.cpp's numbers of the types of tokens.
enum : int { normal_token = 1, unknown_token, control_token, user_token, unused_token, byte_token };

constexpr std::string_view gpt2_words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view llama3_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view qwen2_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

// tokenizer.ggml.pre: the patterns by which a text is cut, and whether a word that is a token is
// taken whole.
struct Cutting {
  std::string_view name, digits, words;
  bool takes_words = false;
};
constexpr Cutting cuttings[] = {
    {"default", {}, gpt2_words},           {"gpt-2", {}, gpt2_words},
    {"llama-bpe", {}, llama3_words, true}, {"llama3", {}, llama3_words, true},
    {"llama-v3", {}, llama3_words, true},  {"qwen2", {}, qwen2_words},
    {"deepseek-r1-qwen", {}, qwen2_words}, {"smollm", R"(\p{N})", gpt2_words},
    {"starcoder", R"(\p{N})", gpt2_words}, {"refact", R"(\p{N})", gpt2_words},
    {"command-r", R"(\p{N})", gpt2_words},
};

std::string in_quotes(std::string_view text) { return json::quote(text, gguf_operation); }

std::string split(std::string_view pattern) {
  return concat(R"({"type": "Split", "pattern": {"Regex": )", in_quotes(pattern),
                R"(}, "behavior": "Isolated", "invert": false})");
}

class TokenizerWriter {
 public:
  explicit TokenizerWriter(const GgufFile& file)
      : file_(file), tokens_(file.texts("tokenizer.ggml.tokens")) {
    types_ = file.numbers("tokenizer.ggml.token_type");
    require(types_.empty() || types_.size() == tokens_.size(), "[", gguf_operation, "] ",
            file.name(), ": tokenizer.ggml.token_type has ", types_.size(), " numbers; there are ",
            tokens_.size(), " tokens");
  }

  std::string text() const {
    const std::string kind = file_.text("tokenizer.ggml.model");
    require(kind == "gpt2" || kind == "llama", "[", gguf_operation, "] ", file_.name(),
            ": tokenizer.ggml.model is \"", json::excerpt(kind),
            "\"; known are gpt2 (byte-level BPE) and llama (SentencePiece BPE)");
    const bool adds_bos = file_.boolean("tokenizer.ggml.add_bos_token", kind == "llama");
    const bool adds_eos = file_.boolean("tokenizer.ggml.add_eos_token", false);
    return concat(R"({"version": "1.0", "added_tokens": )", added_tokens(), ", ",
                  kind == "gpt2" ? byte_level() : pieces(), R"(, "post_processor": )",
                  around(adds_bos, adds_eos), "}");
  }

 private:
  int type_of(std::size_t token) const {
    return types_.empty() ? normal_token : static_cast<int>(types_[token]);
  }

  std::string vocabulary() const {
    std::string text = "{";
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      text += concat(i == 0 ? "" : ", ", in_quotes(tokens_[i]), ": ", i);
    return text + "}";
  }

  // Tokens that are looked for in the text itself.
  std::string added_tokens() const {
    std::string text;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const int type = type_of(i);
      if (type != control_token && type != user_token && type != unknown_token) continue;
      text += concat(
          text.empty() ? "[" : ", ", R"({"id": )", i, R"(, "content": )", in_quotes(tokens_[i]),
          R"(, "single_word": false, "lstrip": false, "rstrip": false, )",
          R"("normalized": false, "special": )", type == user_token ? "false" : "true", "}");
    }
    return text.empty() ? "[]" : text + "]";
  }

  std::string token_of(std::string_view key) const {
    const std::int64_t id = file_.integer(key);
    require(id >= 0 && id < std::ssize(tokens_), "[", gguf_operation, "] ", file_.name(), ": ", key,
            " is ", id, "; there are ", tokens_.size(), " tokens");
    return tokens_[static_cast<std::size_t>(id)];
  }

  // The ids before and after the text.
  std::string around(bool adds_bos, bool adds_eos) const {
    if (!adds_bos && !adds_eos) return "null";
    std::string single, table;
    auto special = [&](const char* key) {
      const std::string name = in_quotes(token_of(key));
      table += concat(table.empty() ? "" : ", ", name, R"(: {"id": )", name, R"(, "ids": [)",
                      file_.integer(key), R"(], "tokens": [)", name, "]}");
      return concat(R"({"SpecialToken": {"id": )", name, R"(, "type_id": 0}})");
    };
    if (adds_bos) single += special("tokenizer.ggml.bos_token_id") + ", ";
    single += R"({"Sequence": {"id": "A", "type_id": 0}})";
    if (adds_eos) single += ", " + special("tokenizer.ggml.eos_token_id");
    return concat(R"({"type": "TemplateProcessing", "single": [)", single,
                  R"(], "pair": [], "special_tokens": {)", table, "}}");
  }

  std::string byte_level() const {
    const std::string pre = file_.text("tokenizer.ggml.pre", "default");
    std::string known;
    for (const Cutting& each : cuttings) known += concat(known.empty() ? "" : ", ", each.name);
    const auto* cutting = std::ranges::find(cuttings, pre, &Cutting::name);
    require(cutting != std::end(cuttings), "[", gguf_operation, "] ", file_.name(),
            ": tokenizer.ggml.pre is \"", json::excerpt(pre), "\"; known are ", known);
    std::string merges;
    for (const std::string& merge : file_.texts("tokenizer.ggml.merges"))
      merges += concat(merges.empty() ? "" : ", ", in_quotes(merge));
    const std::string digits = cutting->digits.empty() ? "" : concat(split(cutting->digits), ", ");
    return concat(
        R"("normalizer": null, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [)", digits,
        split(cutting->words),
        R"(, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, )",
        R"("use_regex": false}]}, "decoder": {"type": "ByteLevel", "add_prefix_space": true, )",
        R"("trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", )",
        R"("ignore_merges": )", cutting->takes_words ? "true" : "false", R"(, "vocab": )",
        vocabulary(), R"(, "merges": [)", merges, "]}");
  }

  std::string pieces() const {
    const bool has_space = file_.boolean("tokenizer.ggml.add_space_prefix", true);
    const std::string replace =
        R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})";
    const std::string normalizer =
        has_space ? concat(R"({"type": "Prepend", "prepend": "▁"}, )", replace) : replace;
    const std::string strip =
        has_space ? R"(, {"type": "Strip", "content": " ", "start": 1, "stop": 0})" : "";
    return concat(R"("normalizer": {"type": "Sequence", "normalizers": [)", normalizer,
                  R"(]}, "pre_tokenizer": null, "decoder": {"type": "Sequence", "decoders": [)",
                  R"({"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, )",
                  R"({"type": "ByteFallback"}, {"type": "Fuse"})", strip,
                  R"(]}, "model": {"type": "BPE", "fuse_unk": true, "byte_fallback": true, )",
                  R"("unk_token": )", in_quotes(token_of("tokenizer.ggml.unknown_token_id")),
                  R"(, "vocab": )", vocabulary(), R"(, "merges": [)", merges_by_scores(), "]}");
  }

  std::string merges_by_scores() const {
    const std::vector<double> scores = file_.numbers("tokenizer.ggml.scores");
    require(scores.size() == tokens_.size(), "[", gguf_operation, "] ", file_.name(),
            ": tokenizer.ggml.scores has ", scores.size(), " numbers; there are ", tokens_.size(),
            " tokens");
    std::unordered_map<std::string_view, std::size_t> ids;
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (type_of(i) == normal_token || type_of(i) == user_token) ids.emplace(tokens_[i], i);
    std::vector<std::size_t> order(tokens_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](auto a, auto b) { return scores[a] > scores[b]; });
    std::string text;
    for (std::size_t id : order) {
      const std::string_view piece = tokens_[id];
      if (!ids.contains(piece)) continue;
      for (std::size_t at = 1; at < piece.size(); ++at) {
        if (!ids.contains(piece.substr(0, at)) || !ids.contains(piece.substr(at))) continue;
        text += concat(text.empty() ? "[" : ", [", in_quotes(piece.substr(0, at)), ", ",
                       in_quotes(piece.substr(at)), "]");
      }
    }
    return text;
  }

  const GgufFile& file_;
  const std::vector<std::string>& tokens_;
  std::vector<double> types_;
};

}  // namespace

std::string tokenizer_json(const GgufFile& file) { return TokenizerWriter(file).text(); }

}  // namespace tilewright::gguf
