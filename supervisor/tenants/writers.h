// Writers: counts the executions and tools that change files of one workspace. If two of these write at the same time,
// the daemon cannot know which one changed a file.
// Owned by: Tenant. Used by: supervisor/tools, for the list of changed files in an answer. No errors.
#pragma once
#include <cstdint>

namespace tenants {

class Writers {
 public:
  // One writer, as long as the object exists. The Writers must outlive it.
  class Turn {
   public:
    explicit Turn(Writers& writers) : writers_(writers), first_(writers.now_++ == 0), number_(++writers.begun_) {}
    ~Turn() { writers_.now_--; }
    Turn(const Turn&) = delete;
    // No other writer was active at any time since this one began.
    bool is_alone() const { return first_ && writers_.begun_ == number_; }

   private:
    Writers& writers_;
    bool first_;
    uint64_t number_;
  };

 private:
  uint32_t now_ = 0;
  uint64_t begun_ = 0;
};

}  // namespace tenants
