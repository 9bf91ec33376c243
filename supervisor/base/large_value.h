// LargeValue: helpers for JSON values that may be large. Large values are read, written, checked and freed on the
// threads of JsonWork (json_work.h), not on the loop.
// Used by: supervisor/mcp, supervisor/tools, supervisor/upstream, jail.
#pragma once
#include <string>
#include <utility>

#include "supervisor/base/json_value.h"
#include "supervisor/base/json_work.h"
#include "supervisor/base/value_bytes.h"

// The text of `value` as dump_json() writes it, made on a thread of JsonWork. The value is freed there. No budget is
// charged.
Task<Result<std::string>> dump_beside(JsonWork& work, JsonWork::Owner owner, Json value);

// Frees a value on a thread of JsonWork, in the destructor, if the value is large. The value must outlive this object.
class FreesBeside {
 public:
  // `work` must outlive this object. nullptr: the destructor does nothing.
  FreesBeside(JsonWork* work, Json& value) : work_(work), value_(value) {}
  ~FreesBeside() {
    if (work_ && value_.is_structured() && is_large(value_)) work_->free_elsewhere(std::move(value_));
  }
  FreesBeside(const FreesBeside&) = delete;
  FreesBeside& operator=(const FreesBeside&) = delete;

 private:
  JsonWork* work_;
  Json& value_;
};

// Owns a value and frees it like FreesBeside, at the end of any owner: also when a task is cancelled.
class FreedBeside {
 public:
  FreedBeside(JsonWork* work, Json value) : work_(work), value_(std::move(value)) {}
  FreedBeside(FreedBeside&& other) noexcept : work_(other.work_), value_(std::move(other.value_)) {}
  ~FreedBeside() { const FreesBeside now(work_, value_); }
  FreedBeside(const FreedBeside&) = delete;
  FreedBeside& operator=(const FreedBeside&) = delete;

  Json& operator*() { return value_; }
  const Json& operator*() const { return value_; }

 private:
  JsonWork* work_;
  Json value_;
};
