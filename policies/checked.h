// Checked: Fields that goes on after an error, so that one look at a document tells everything that is wrong with it.
// Values of refused fields are placeholders; whoever reads with it looks at `problems` before using anything.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/fields.h"
#include "supervisor/base/json.h"
#include "supervisor/base/json_value.h"
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
  // A list; an empty one where it is missing or none.
  const Json& list_or_empty(std::string_view key) {
    static const Json kEmpty = Json::array();
    const Json* value = fields_.find(key);
    if (!value) return kEmpty;
    if (!value->is_array()) wrong(key, "not a list");
    return value->is_array() ? *value : kEmpty;
  }
  // An object to be read by a Checked of its own; nullptr, and a problem, where it is missing.
  const Json* object(std::string_view key) {
    const Json* value = fields_.find(key);
    if (!value) wrong(key, "missing");
    return value;
  }
  const Json* find(std::string_view key) { return fields_.find(key); }
  bool has(std::string_view key) const { return fields_.has(key); }

  void wrong(std::string_view key, std::string why) { wrong_at(path_of(key), std::move(why)); }
  void wrong_at(std::string path, std::string why) {
    // One complaint about something that is no object is enough.
    if (object_) problems_.push_back(Error{Code::invalid, 0, std::move(path) + ": " + std::move(why), {}, {}});
  }
  void done() {
    if (object_) take(fields_.done());
  }
  std::string path_of(std::string_view key) const { return fields_.path_of(key); }
  // Nothing was wrong so far.
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
