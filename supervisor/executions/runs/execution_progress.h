// ExecutionProgress: reports to the client that asked for it what its execution does: why it waits, the last line that
// the program printed, or that it still runs.
#pragma once
#include <string>
#include <string_view>

#include "supervisor/base/task.h"
#include "supervisor/executions/execution_registry.h"

namespace mcp {
class RequestContext;
}

namespace runs {

class ExecutionProgress {
 public:
  // Both must outlive it. Without a progress token of the client no message is sent; a token may still come, with a
  // request that is repeated.
  ExecutionProgress(mcp::RequestContext& context, const executions::ExecutionRecord& execution)
      : context_(context), execution_(execution) {}
  ExecutionProgress(const ExecutionProgress&) = delete;

  // "a free place": what the execution waits for before it runs; empty: it waits no more.
  void set_waits_for(std::string subject) { waits_for_ = std::move(subject); }
  // A line of the program, or about one of its calls.
  void set_line(std::string_view line) {
    last_line_ = line;
    has_news_ = true;
  }
  // Sends notifications until it is destroyed: the first after 200 ms, then at most 4 a second.
  Task<> send();

 private:
  std::string message() const;

  mcp::RequestContext& context_;
  const executions::ExecutionRecord& execution_;
  std::string waits_for_, last_line_;
  bool has_news_ = false;
};

}  // namespace runs
