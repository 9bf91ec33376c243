// Work of a call on large values: it is done on the JSON threads, within the tenant's budget.
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

// What a pure function makes of an answer of so many bytes: beside the loop, where they are many. `parsed`: bytes that
// are read as JSON; the tenant's budget is charged with these.
template <class Function, class T = std::invoke_result_t<Function>>
Task<Result<T>> run_beside(CallEnvironment& environment, Who who, size_t bytes, size_t parsed, Function function) {
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
