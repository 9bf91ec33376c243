// run_to_end(): runs a task whose end must not depend on its caller: a caller that is cancelled leaves it running,
// until the scope ends. Used by: home_mover.h, home_receiver.h. Errors: those of the task; unavailable: the scope ended
// first.
#pragma once
#include <utility>

#include "supervisor/base/loop.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

namespace moves {

template <class T>
Task<> run_and_resolve(Task<Result<T>> work, typename OneShot<Result<T>>::Resolver done) {
  auto result = co_await std::move(work);
  done.resolve(std::move(result));
}

// `loop` and `scope` must outlive both tasks, and `scope` what the work uses.
template <class T>
Task<Result<T>> run_to_end(Loop& loop, Scope& scope, Task<Result<T>> work) {
  OneShot<Result<T>> done(loop, fail(Code::unavailable, "the daemon ends"));
  scope.spawn(run_and_resolve<T>(std::move(work), done.resolver()));
  auto result = co_await done;
  co_return result;
}

}  // namespace moves
