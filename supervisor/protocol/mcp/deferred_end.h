// DeferredEnd: the end of a connection. It calls, once and in a later turn of the loop, the function that destroys the
// connection: at that time no code of the connection is on the stack. No call comes after it is destroyed itself.
// Owned by: Connection, streamable_http::HttpConnection. No errors.
#pragma once
#include <functional>
#include <memory>

#include "supervisor/base/loop.h"

namespace mcp {

class DeferredEnd {
 public:
  DeferredEnd(Loop& loop, std::function<void()> on_end);
  // Calls the function in a later turn of the loop. Only the first call has an effect, and none after withdraw().
  void begin();
  // From now on begin() has no effect: the connection is being destroyed.
  void withdraw() { has_started_ = true; }
  bool was_started() const { return has_started_; }

 private:
  Loop& loop_;
  std::shared_ptr<std::function<void()>> on_end_;  // shared with the callback that calls it, which may be late
  bool has_started_ = false;
};

}  // namespace mcp
