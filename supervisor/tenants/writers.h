// Writers: executions and tools that change files of one workspace, now and before. Where two did at the same time,
// what has changed cannot be told apart by who changed it.
// Used by: supervisor/tools, for what an answer says of files.
#pragma once
#include <cstdint>

namespace tenants {

class Writers {
 public:
  // One writer, while it lives. The workspace outlives it.
  class Turn {
   public:
    explicit Turn(Writers& writers) : writers_(writers), first_(writers.now_++ == 0), number_(++writers.begun_) {}
    ~Turn() { writers_.now_--; }
    Turn(const Turn&) = delete;
    // No other has written since this one began.
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
