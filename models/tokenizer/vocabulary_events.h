// The two big tables of a tokenizer.json, received as they are read: "vocab" and "merges".
//
// Separate from model.cpp because they never become JSON values: a vocabulary has up to four
// million entries.
#pragma once

#include "models/files/reader.h"
#include "models/tokenizer/model.h"

namespace tilewright::tokenizer {

// {"token": id, ..}, or [["token", score], ..], where ids are places in the list
class TokenEvents : public json::Events {
 public:
  TokenEvents(std::string_view what, Vocabulary& vocabulary)
      : what_(what), vocabulary_(vocabulary) {}
  void key(std::string name) override { token_ = std::move(name); }
  void scalar(json::Scalar value) override;
  void begin_object() override;
  void end_object() override { --depth_; }
  void begin_array() override;
  void end_array() override;

 private:
  void add(Id id);
  void part(json::Scalar value);
  std::string_view what_;
  Vocabulary& vocabulary_;
  std::string token_;
  int depth_ = 0;
  int parts_ = 0;  // of the pair that is being read
};

// ["a b", ..] or [["a", "b"], ..]
class MergeEvents : public json::Events {
 public:
  MergeEvents(std::string_view what, Vocabulary& vocabulary)
      : what_(what), vocabulary_(vocabulary) {}
  void key(std::string) override {}
  void scalar(json::Scalar value) override;
  void begin_object() override;
  void end_object() override {}
  void begin_array() override;
  void end_array() override;

 private:
  void add(std::string_view left, std::string_view right);
  std::string_view what_;
  Vocabulary& vocabulary_;
  int depth_ = 0;
  std::vector<std::string> pair_;
};

}  // namespace tilewright::tokenizer
