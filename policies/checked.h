// Checked: like Fields, but continues after an error, so that one pass over a document finds all its errors. Refused
// fields get placeholder values: callers must look at `problems` before they use any value. Used by: the readers of
// policies in this folder.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/json/fields.h"
#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"

namespace policies {

class Checked {
 public:
  Checked(const Json& object, std::string path, std::vector<Error>& problems)
      : fields_(object, std::move(path)), problems_(problems), before_(problems.size()), object_(object.is_object()) {
    if (!object_) take(fields_.done());
  }

  int64_t integer(std::string_view key, int64_t min, int64_t max) { return read(fields_.integer(key, min, max), min); }
  double number(std::string_view key, double min, double max) { return read(fields_.number(key, min, max), min); }
  bool boolean_or(std::string_view key, bool fallback) { return read(fields_.boolean_or(key, fallback), fallback); }
  std::string string(std::string_view key, size_t max_bytes) {
    return read(fields_.string(key, max_bytes), std::string());
  }
  std::string string_or(std::string_view key, std::string fallback, size_t max_bytes) {
    return read(fields_.string_or(key, fallback, max_bytes), fallback);
  }
  std::string one_of(std::string_view key, const std::vector<std::string>& allowed) {
    return read(fields_.one_of(key, allowed), allowed.front());
  }
  std::vector<std::string> strings_or(std::string_view key, std::vector<std::string> fallback) {
    return read(fields_.strings_or(key, fallback), fallback);
  }
  // The list under `key`; an empty list if the value is missing. Another type is a problem, and gives an empty list.
  const Json& list_or_empty(std::string_view key) {
    static const Json kEmpty = Json::array();
    const Json* value = fields_.find(key);
    if (!value) return kEmpty;
    if (!value->is_array()) wrong(key, "not a list");
    return value->is_array() ? *value : kEmpty;
  }
  // The value under `key`, to be read by another Checked; nullptr, and a problem, if it is missing.
  const Json* object(std::string_view key) {
    const Json* value = fields_.find(key);
    if (!value) wrong(key, "missing");
    return value;
  }
  const Json* find(std::string_view key) { return fields_.find(key); }
  bool has(std::string_view key) const { return fields_.has(key); }

  void wrong(std::string_view key, std::string why) { wrong_at(path_of(key), std::move(why)); }
  void wrong_at(std::string path, std::string why) {
    // A value that is not an object has one error already; more errors about it would not help.
    if (object_) problems_.push_back(Error{Code::invalid, 0, std::move(path) + ": " + std::move(why), {}, {}});
  }
  void done() {
    if (object_) take(fields_.done());
  }
  std::string path_of(std::string_view key) const { return fields_.path_of(key); }
  // True if this object has no problems so far.
  bool good() const { return problems_.size() == before_; }

 private:
  template <class T>
  T read(Result<T> value, T fallback) {
    if (value) return *std::move(value);
    if (object_) problems_.push_back(std::move(value).error());
    return fallback;
  }
  void take(Result<> result) {
    if (!result) problems_.push_back(std::move(result).error());
  }

  Fields fields_;
  std::vector<Error>& problems_;
  size_t before_;
  bool object_;
};

}  // namespace policies
