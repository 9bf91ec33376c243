// run_to_end(): work that continues when the task that waits for it is cancelled, for example because a client leaves:
// what the work changed on the disk must reach the tables of the daemon. Errors: those of the work; `otherwise`, if the
// scope ends first. Used by: supervisor/tenants/proposals, supervisor/cluster/moves.
#pragma once
#include <utility>

#include "supervisor/base/loop.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

template <class T>
Task<> run_and_resolve(Task<Result<T>> work, typename OneShot<Result<T>>::Resolver resolver) {
  auto result = co_await std::move(work);
  resolver.resolve(std::move(result));
}

// The scope runs the work. Scope and loop must outlive the task, and the scope what the work uses.
template <class T>
Task<Result<T>> run_to_end(Loop& loop, Scope& scope, Task<Result<T>> work, tl::unexpected<Error> otherwise) {
  OneShot<Result<T>> done(loop, std::move(otherwise));
  scope.spawn(run_and_resolve<T>(std::move(work), done.resolver()));
  Result<T> result = co_await done;
  co_return result;
}
