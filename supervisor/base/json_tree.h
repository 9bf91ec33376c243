// JsonTree: puts a Json together from what a parser reads, in the order in which it reads it. Does not recurse.
// Used by: the two readers of JSON text, json.cc and strict_json.cc.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "supervisor/base/json_value.h"

class JsonTree {
 public:
  explicit JsonTree(int max_depth) : max_depth_(static_cast<size_t>(max_depth)) {}

  // The value of the key just read, the next item of the open array, or the whole document.
  Json& put(Json&& value) {
    if (open_.empty()) return root_ = std::move(value);
    if (!open_.back()->is_array()) return *slot_ = std::move(value);
    open_.back()->push_back(std::move(value));
    return open_.back()->back();
  }
  // Of a key that an object has twice, the last value counts, at the first one's place.
  void key(std::string&& name) { slot_ = &(*open_.back())[std::move(name)]; }
  // An object or an array begins. False: too deep.
  bool open(Json&& container) {
    if (open_.size() >= max_depth_) {
      too_deep_ = true;
      return false;
    }
    open_.push_back(&put(std::move(container)));
    return true;
  }
  void close() { open_.pop_back(); }

  Json take() { return std::move(root_); }
  bool too_deep() const { return too_deep_; }

 private:
  size_t max_depth_;
  std::vector<Json*> open_;  // from the root to where we are
  Json* slot_ = nullptr;     // the value of the key just read
  Json root_;
  bool too_deep_ = false;
};
