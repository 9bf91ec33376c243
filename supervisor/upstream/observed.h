// Observed: the form of a tool's results, for tools without an outputSchema: types and member names, never a value. The
// stubs of all tenants show it, so a name that could be a tenant's data is left out. An object counts as a map, without
// member names, if a name is no identifier, if there are too many names, or if names rarely repeat.
// Source: results of the upstream server, which is not trusted: depth, members and number are bounded. Used by:
// definitions.h.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "supervisor/base/json/json_value.h"

namespace upstream {

// The union of the forms of all values seen at one place.
class Shape {
 public:
  static constexpr int kMaxDepth = 5;
  static constexpr size_t kMaxMembers = 24;  // of one object
  static constexpr size_t kMaxItems = 8;     // items of one list that are read
  static constexpr size_t kMaxName = 40;     // bytes

  void see(const Json& value) { see(value, 0); }
  // A JSON Schema that all values seen fit; {}: any value. Names that at most half of the objects had are left out.
  Json schema() const;
  // The form as it is stored in a file. from_json() ignores invalid parts.
  Json to_json() const;
  static Shape from_json(const Json& saved, int depth = 0);

 private:
  struct Member;
  void see(const Json& value, int depth);
  void see_object(const Json& object, int depth);

  uint32_t kinds_ = 0;    // bits of Kind
  uint32_t objects_ = 0;  // number of objects seen
  bool map_ = false;      // the names of the objects are data
  std::map<std::string, Member> members_;
  std::vector<Shape> items_;  // at most one: the union of all items of lists
};

struct Shape::Member {
  uint32_t seen = 0;
  Shape shape;
};

// The results of one tool.
struct Observed {
  static constexpr uint32_t kNeeded = 2;       // results before there is a schema
  static constexpr uint32_t kMax = 64;         // results that are read
  static constexpr uint32_t kMaxReported = 5;  // changes of `schema`; each one rewrites all stubs
  uint32_t results = 0;
  uint32_t reported = 0;
  Shape shape;
  Json schema;  // null: too few results yet

  // Notes one result. True: `schema` has changed.
  bool see(const Json& value);
  Json to_json() const;
  static Observed from_json(const Json& saved);
};

// ObservedResults: the results of all tools of one server. May be used on any thread.
class ObservedResults {
 public:
  using Filter = std::function<bool(const std::string& tool)>;

  // Notes one result of a tool without outputSchema. True: its schema has changed.
  bool see(const std::string& tool, const Json& value);
  // null: too few results yet.
  Json schema_of(const std::string& tool) const;
  // A copy with the tools that pass the filter.
  std::shared_ptr<ObservedResults> of_tools(const Filter& passes) const;
  Json to_json() const;
  static std::shared_ptr<ObservedResults> from_json(const Json& stored, const Filter& passes);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Observed> tools_;  // by mutex_
};

}  // namespace upstream
