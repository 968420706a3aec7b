// Sets an environment variable for a test. The destructor restores the old value.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace testing {

class Variable {
 public:
  // Null: unset.
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) const {
    value != nullptr ? setenv(name_, value, 1) : unsetenv(name_);
  }

  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace testing
