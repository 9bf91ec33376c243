#include "jail/execution/execution.h"

#include "jail/execution/running_execution.h"
#include "jail/pool/pool.h"
#include "jail/talk/run_message.h"
#include "supervisor/base/log.h"

namespace jail {

Task<Result<Report>> execute(Host& host, Request request) {
  if (is_large_order(request)) CO_CHECKED(co_await write_order(host.work, request));
  Spec spec = request.spec;
  spec.name = request.id;
  CO_TRY(std::unique_ptr<Jail> jail, co_await Jail::build(host, std::move(spec)));
  const Origin cold;
  RunningExecution execution(host, request, *jail, cold);
  auto report = co_await execution.run();
  co_return report;
}

Task<Result<Report>> execute(Host& host, Pool& pool, Request request) {
  SessionJail jail;  // stays empty: this program belongs to no session
  auto report = co_await execute(host, pool, std::move(request), jail);
  co_return report;
}

Task<Result<Report>> execute(Host& host, Pool& pool, Request request, SessionJail& session_jail) {
  CO_CHECKED(check_requirements(host, request.spec.isolation));
  if (host.unfit) co_return tl::unexpected<Error>(*host.unfit);  // a session's jail may be older than this finding
  if (!request.order && is_large_order(request)) CO_CHECKED(co_await write_order(host.work, request));
  Pool::Running running(pool);
  auto jail = std::move(session_jail.jail);
  if (!jail) {
    auto waiting = co_await pool.take(request.tenant, request.spec, request.pool, request.workspace);
    if (waiting) {
      jail = std::move(waiting->jail);
      session_jail.origin = waiting->origin;
    }
  }
  for (;;) {
    if (!jail) {
      Spec spec = request.spec;
      spec.name = request.id;
      CO_TRY(jail, co_await Jail::build(host, std::move(spec)));
      session_jail.origin = Origin{};
    }
    RunningExecution execution(host, request, *jail, session_jail.origin);
    auto report = co_await execution.run();
    if (execution.goes_on()) {
      session_jail.jail = std::move(jail);
      co_return report;
    }
    pool.retire(std::move(jail), execution.remainder());
    if (!execution.never_started()) co_return report;
    log_warning("execution {}: the waiting jail did not begin; building another", request.id);
  }
}

}  // namespace jail
