// Signature: a tool in one line, enough to write the call.
//   create_issue(owner: str, title: str, labels?: list[str], state?: "open" | "closed" = "open") -> {number: int}
// "?" marks optional parameters. A tool with functions but no schema: dos_detector.{analyze, report}.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/json/json_fwd.h"

namespace catalog {

constexpr size_t kMaxSignatureBytes = 600;

// `rest`: the other members of the definition.
std::string signature(std::string_view name, const Json& rest);

}  // namespace catalog
