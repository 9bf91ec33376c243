// Amounts: numbers that flags take, with a range and a unit.
// Source: words of the command line. Used by: declaration.cc (`warder run`), admin/control.cc (`warder limit`).
// Errors: invalid: "'abc' is not a number of MB from 1 to 1048576", with an example as the remedy.
#pragma once
#include <string>

#include "supervisor/base/result.h"

namespace cli {

struct AmountRange {
  const char* unit;  // "MB"
  double least, max;
  const char* example;  // "--memory 256"
};
inline constexpr AmountRange kMemoryAmount{"MB", 1, 1'048'576, "--memory 256"};
inline constexpr AmountRange kSecondsAmount{"seconds", 0.001, 86'400, "--timeout 30"};

Result<double> parse_amount(const std::string& text, const AmountRange& range);

}  // namespace cli
