// run_beside(): does a call's work on large values on the threads of JsonWork, within the tenant's budget.
// Used by: upstream_call.cc, tools/catalog/call_tool.cc.
#pragma once
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "supervisor/base/json_work.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/calls/upstream_call.h"

namespace calls {

template <class T>
std::shared_ptr<T> shared_value(T value) {
  return std::make_shared<T>(std::move(value));
}

// Returns function(): on a JSON thread if `bytes` is more than JsonWork::kSmall, else at once. The function must own
// its data. `bytes`: size of the answer that it works on. `parsed`: bytes that it reads as JSON, charged to the
// tenant's budget. Errors: those of JsonWork::run().
template <class Function, class T = std::invoke_result_t<Function>>
Task<Result<T>> run_beside(CallEnvironment& environment, CallContext who, size_t bytes, size_t parsed,
                           Function function) {
  if (bytes <= JsonWork::kSmall) co_return function();
  std::function<Result<T>()> job = [function = std::move(function)]() -> Result<T> { return function(); };
  JsonWork::Owner owner{who.tenant->name(), who.policy->limits.standard.json_bytes_per_second};
  auto done = co_await environment.json.run(std::move(owner), parsed, std::move(job));
  co_return done;
}

struct Measured {
  upstream::ToolValue told;
  size_t bytes = 0;  // written as JSON
};

}  // namespace calls
