// LargeValue: helpers for JSON values that may be large. Large values are read, written, checked and freed on the
// threads of Work (work.h), not on the loop.
// Used by: supervisor/protocol/mcp, supervisor/tools, supervisor/upstream, jail.
#pragma once
#include <string>
#include <utility>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/json/value_bytes.h"
#include "supervisor/base/work.h"

// The text of `value` as dump_json() writes it, made on a thread of Work. The value is freed there. No budget is
// charged.
Task<Result<std::string>> dump_beside(Work& work, Work::Owner owner, Json value);

// Frees a value on a thread of Work, in the destructor, if the value is large. The value must outlive this object.
class FreesBeside {
 public:
  // `work` must outlive this object. nullptr: the destructor does nothing.
  FreesBeside(Work* work, Json& value) : work_(work), value_(value) {}
  ~FreesBeside() {
    if (work_ && value_.is_structured() && is_large(value_)) work_->free_elsewhere(std::move(value_));
  }
  FreesBeside(const FreesBeside&) = delete;
  FreesBeside& operator=(const FreesBeside&) = delete;

 private:
  Work* work_;
  Json& value_;
};

// Owns a value and frees it like FreesBeside, at the end of any owner: also when a task is cancelled.
class FreedBeside {
 public:
  FreedBeside(Work* work, Json value) : work_(work), value_(std::move(value)) {}
  FreedBeside(FreedBeside&& other) noexcept : work_(other.work_), value_(std::move(other.value_)) {}
  ~FreedBeside() { const FreesBeside now(work_, value_); }
  FreedBeside(const FreedBeside&) = delete;
  FreedBeside& operator=(const FreedBeside&) = delete;

  Json& operator*() { return value_; }
  const Json& operator*() const { return value_; }

 private:
  Work* work_;
  Json value_;
};
