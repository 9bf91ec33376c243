#include "supervisor/programs/cli/amounts.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace cli {

Result<double> parse_amount(const std::string& text, const AmountRange& range) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool plain = text.find_first_not_of("0123456789.eE+-") == text.npos;  // neither 0x10 nor inf
  if (plain && !text.empty() && *end == '\0' && value >= range.least && value <= range.max) return value;
  char limits[96];
  std::snprintf(limits, sizeof limits, "is not a number of %s from %.10g to %.10g", range.unit, range.least, range.max);
  return fail(Code::invalid, "'" + text.substr(0, 64) + "' " + limits, std::string("for example: ") + range.example);
}

}  // namespace cli
