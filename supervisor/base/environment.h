// environment(): a variable of this process's environment. No errors.
#pragma once
#include <cstdlib>
#include <string>

// Empty: the variable is empty or not set.
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}
