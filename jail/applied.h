// Applied: the isolation that was really applied to one jail while it was built, as text for its receipt (receipt.h).
// Waiting jails make it ahead of time.
// Source: jail-init's report (its namespace numbers are compared with the daemon's own), and the host's facts. Used by:
// jail/receipt.cc. No errors.
#pragma once
#include <string>

namespace jail {

struct Host;
class Jail;

struct Applied {
  std::string members;  // members of the receipt: JSON, comma-separated, no braces
  std::string weaker;   // what a stronger host would add: JSON strings, comma-separated; may be empty
};
Applied applied_to(const Host& host, const Jail& jail);

// Appends a text to a list of the form that Applied::weaker has.
void add_weaker(std::string& list, const std::string& text);

}  // namespace jail
