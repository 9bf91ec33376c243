// Applied: what was really applied to one jail while it was built, in the words of a receipt (receipt.h). Waiting jails
// have it ready. Source: jail-init's report (namespace numbers compared with the daemon's own), the host's facts.
#pragma once
#include <string>

namespace jail {

struct Host;
class Jail;

struct Applied {
  std::string members;  // of the receipt: JSON, comma-separated, no braces
  std::string weaker;   // what a stronger host would add: JSON strings, comma-separated; may be empty
};
Applied applied_to(const Host& host, const Jail& jail);

// Appends a text to such a list.
void add_weaker(std::string& list, const std::string& text);

}  // namespace jail
