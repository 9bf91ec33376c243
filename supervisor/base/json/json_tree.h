// JsonTree: builds a Json from the events of a parser, in the parser's order. Does not recurse.
// Used by: the two readers of JSON text, json.cc and strict_json.cc.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "supervisor/base/json/json_value.h"

class JsonTree {
 public:
  explicit JsonTree(int max_depth) : max_depth_(static_cast<size_t>(max_depth)) {}

  // Puts the value at the last key, at the end of the open array, or as the whole document.
  Json& put(Json&& value) {
    if (open_.empty()) return root_ = std::move(value);
    if (!open_.back()->is_array()) return *slot_ = std::move(value);
    open_.back()->push_back(std::move(value));
    return open_.back()->back();
  }
  // Returns false if the open object has the key already. Then the last value counts, at the position of the first.
  bool key(std::string&& name) {
    const auto [member, is_new] = open_.back()->emplace(std::move(name), nullptr);
    slot_ = &*member;
    return is_new;
  }
  // Begins an object or an array. Returns false if it is nested deeper than max_depth.
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
  std::vector<Json*> open_;  // the open containers, from the root to the innermost
  Json* slot_ = nullptr;     // the value of the last key
  Json root_;
  bool too_deep_ = false;
};
