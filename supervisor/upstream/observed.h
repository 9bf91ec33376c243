// Observed: what a tool's results have looked like, for tools that declare no outputSchema: types and member names,
// never a value. Everybody's stubs are made from it, so a name that could be somebody's data is none: an object whose
// names are not all identifiers, or too many, or which rarely repeat, is a map of whatever.
// Source: results, which are the server's word: bounded in depth, breadth and number.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "supervisor/base/json_value.h"

namespace upstream {

// The union of all values seen at one place.
class Shape {
 public:
  static constexpr int kMaxDepth = 5;
  static constexpr size_t kMaxMembers = 24;  // of one object
  static constexpr size_t kMaxItems = 8;     // of one list that are looked at
  static constexpr size_t kMaxName = 40;     // bytes

  void see(const Json& value) { see(value, 0); }
  // A JSON Schema that all values seen fit; {} for anything. Names that fewer than half of the objects had are left
  // out.
  Json schema() const;
  // For a file. from_json() takes what to_json() gave, and of anything else what it can.
  Json to_json() const;
  static Shape from_json(const Json& kept, int depth = 0);

 private:
  struct Member;
  void see(const Json& value, int depth);
  void see_object(const Json& object, int depth);

  uint32_t kinds_ = 0;    // bits of Kind
  uint32_t objects_ = 0;  // seen here
  bool map_ = false;      // an object's names are data
  std::map<std::string, Member> members_;
  std::vector<Shape> items_;  // one, of lists
};

struct Shape::Member {
  uint32_t seen = 0;
  Shape shape;
};

// One tool's results.
struct Observed {
  static constexpr uint32_t kNeeded = 2;    // results before anything is said
  static constexpr uint32_t kMost = 64;     // that are looked at
  static constexpr uint32_t kMostTold = 5;  // times that what is said may change: each time all stubs are written anew
  uint32_t results = 0;
  uint32_t told = 0;
  Shape shape;
  Json schema;  // what is said; null: nothing yet

  // True: `schema` is another now.
  bool see(const Json& value);
  Json to_json() const;
  static Observed from_json(const Json& kept);
};

}  // namespace upstream
