// A global locale that no system has to provide, and that changes every number an untold stream
// prints: 1234567.5 becomes 1.234.567,5.
#pragma once

#include <locale>

namespace tilewright {

// In force while it lives. Other tests of the program must not run at the same time.
class GroupedLocale {
 public:
  GroupedLocale()
      : former_(std::locale::global(std::locale(std::locale::classic(), new Punctuation))) {}
  ~GroupedLocale() { std::locale::global(former_); }
  GroupedLocale(const GroupedLocale&) = delete;
  GroupedLocale& operator=(const GroupedLocale&) = delete;

 private:
  class Punctuation : public std::numpunct<char> {
    char do_thousands_sep() const override { return '.'; }
    char do_decimal_point() const override { return ','; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::locale former_;
};

}  // namespace tilewright
