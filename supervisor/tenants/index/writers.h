// Writers: counts the executions and tools that change files of one workspace. If two of these write at the same time,
// the daemon cannot know which one changed a file.
// Owned by: Workspace. Used by: WorkspaceIndex, for the list of changed files in an answer. No errors.
#pragma once
#include <cstdint>
#include <utility>

namespace tenants {

// Why changes are logged: for an execution or tool that writes to the workspace, or for one that only reads it.
enum class LogFor { writer, reader };

class Writers {
 public:
  bool is_any() const { return now_ > 0; }
  // Whether there was more than one at any time since the last call.
  bool were_several() { return std::exchange(several_, now_ > 1); }
  // That call's look did not end: the next one answers for its time, too.
  void see_again() { several_ = true; }

  // One writer, as long as the object exists. The Writers must outlive it.
  class Turn {
   public:
    explicit Turn(Writers& writers) : writers_(writers), first_(writers.now_++ == 0), number_(++writers.started_) {
      writers.several_ |= !first_;
    }
    ~Turn() { stop(); }
    Turn(const Turn&) = delete;
    // This writer writes no more. Call it before the last look: what others write after that look is theirs alone.
    void stop() {
      if (!std::exchange(stopped_, true)) writers_.now_--;
    }
    // No other writer was active at any time since this one began.
    bool is_alone() const { return first_ && writers_.started_ == number_; }

   private:
    Writers& writers_;
    bool first_, stopped_ = false;
    uint64_t number_;
  };

 private:
  uint32_t now_ = 0;
  uint64_t started_ = 0;
  bool several_ = false;
};

}  // namespace tenants
