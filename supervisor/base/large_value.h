// LargeValue: what is said of JSON values that may be large. Those are read, written, checked and freed beside the loop
// (json_work.h).
#pragma once
#include <string>
#include <utility>

#include "supervisor/base/json_value.h"
#include "supervisor/base/json_work.h"
#include "supervisor/base/value_bytes.h"

// The text of `value`, as dump_json() writes it, made beside the loop; the value is freed there. Is charged to nobody.
Task<Result<std::string>> dump_beside(JsonWork& work, JsonWork::Owner owner, Json value);

// At its end frees what is left of a value beside the loop, where that is large. The value must outlive it.
class FreesBeside {
 public:
  // The work must outlive it. nullptr: the value is left alone.
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

// Holds a value that is freed so, whoever gives it up, and when: also a task that is cancelled.
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
