// await(): runs a task to its end in a test, with a bound. A test that waits for ever says nothing.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>

#include "supervisor/base/loop.h"

// Turns the loop until `done`, at most `limit` long; says whether it is done.
inline bool run_until(Loop& loop, const std::function<bool()>& done,
                      std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  auto end = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    Deadline tick(loop, std::chrono::milliseconds(5), [] {});
    uv_run(loop.uv(), UV_RUN_ONCE);
  }
  return true;
}

template <class T>
T await(Loop& loop, Task<T> task) {
  std::optional<T> answer;
  auto collect = [](Task<T> work, std::optional<T>& into) -> Task<> {
    T value = co_await std::move(work);
    into.emplace(std::move(value));
  };
  Scope scope(loop);
  scope.spawn(collect(std::move(task), answer));
  if (!run_until(loop, [&] { return answer.has_value(); })) throw std::runtime_error("a task did not end");
  return *std::move(answer);
}
