// The environment during one test.
#pragma once

#include <cstdlib>
#include <string>

namespace tilewright {

// Sets a variable for one test and puts back what was there.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    const char* old = std::getenv(name);
    had_ = old != nullptr;
    if (had_) old_ = old;
    if (value != nullptr)
      setenv(name, value, 1);
    else
      unsetenv(name);
  }
  ~Setting() {
    if (had_)
      setenv(name_, old_.c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  bool had_;
  std::string old_;
};

}  // namespace tilewright
