// Fields: reads the fields of one JSON object, each at most once, and refuses the fields that no call has read.
//   Fields in(object, "limits");
//   TRY(double cpus, in.number("cpus", 0.01, 8));
//   CHECKED(in.done());                       // "limits.cpu: unknown key; known keys: cpus, tasks"
// Errors: invalid, "limits.cpus: 64 is outside 0.01..8" naming path, value and range.
// The object must outlive the reader.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json/json_fwd.h"
#include "supervisor/base/result.h"

class Fields {
 public:
  // A value that is not an object reads as an error at the first access or at done().
  Fields(const Json& object, std::string path);

  bool has(std::string_view key) const;
  // The raw value, marked as read; nullptr when absent or null.
  const Json* find(std::string_view key);
  Result<double> number(std::string_view key, double min, double max);
  Result<int64_t> integer(std::string_view key, int64_t min, int64_t max);
  Result<int64_t> integer_or(std::string_view key, int64_t min, int64_t max, int64_t fallback);
  Result<bool> boolean_or(std::string_view key, bool fallback);
  Result<std::string> string(std::string_view key, size_t max_bytes = 4096);
  Result<std::string> string_or(std::string_view key, std::string fallback, size_t max_bytes = 4096);
  Result<std::string> one_of(std::string_view key, const std::vector<std::string>& allowed,
                             std::optional<std::string> fallback = {});
  Result<std::vector<std::string>> strings_or(std::string_view key, std::vector<std::string> fallback);
  // Checks that each key of the object was read. Errors as above.
  Result<> done() const;
  std::string path_of(std::string_view key) const;

 private:
  Result<const Json*> need(std::string_view key);
  const Json& object_;
  std::string path_;
  std::set<std::string, std::less<>> read_keys_;
};
