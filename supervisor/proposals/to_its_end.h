// run_to_its_end(): work that goes on when the task that waits for it is cancelled, for example because a client
// leaves: what a commit changed on the disk must reach the tables of the daemon. Used by: proposal_store.cc,
// proposal_stores.cc. Errors: those of the work; `otherwise`, if the scope ends first.
#pragma once
#include <utility>

#include "supervisor/base/loop.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

namespace proposals {

template <class T>
Task<> resolve_with(Task<Result<T>> work, typename OneShot<Result<T>>::Resolver resolver) {
  auto result = co_await std::move(work);
  resolver.resolve(std::move(result));
}

// The scope, which runs the work, and the loop must outlive the task.
template <class T>
Task<Result<T>> run_to_its_end(Loop& loop, Scope& scope, Task<Result<T>> work, tl::unexpected<Error> otherwise) {
  OneShot<Result<T>> done(loop, std::move(otherwise));
  scope.spawn(resolve_with<T>(std::move(work), done.resolver()));
  Result<T> result = co_await done;
  co_return result;
}

}  // namespace proposals
