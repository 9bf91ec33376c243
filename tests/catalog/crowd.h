// Crowd: made-up tools of made-up companies, as many as asked for, that stand around the tools of a test: their words
// are those of real definitions (verbs, business nouns, qualifiers), and each company keeps to one trade.
// Deterministic: the same number is the same tool on every machine.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/base/json/json_value.h"

namespace crowd {

struct Tool {
  std::string server, name, description;
  std::vector<std::pair<std::string, std::string>> parameters;  // name, description
};

constexpr uint32_t kToolsOfServer = 20;

Tool tool(uint32_t number);
Json definition(const Tool& tool);  // as a server tells it

}  // namespace crowd
