#include "supervisor/daemon/policy_reader.h"

#include <memory>
#include <optional>

#include "supervisor/base/log.h"
#include "supervisor/daemon/open_files.h"

Task<Result<policies::Store>> read_policies(WorkerThread& thread, const policies::Store& current) {
  auto fresh = std::make_shared<std::optional<policies::Store>>();
  const WorkerThread::Job job = [fresh, current = std::make_shared<const policies::Store>(current)]() -> Result<> {
    TRY(*fresh, current->read_anew());
    return {};
  };
  CO_CHECKED(co_await thread.run(job));
  for (const auto& warning : (*fresh)->warnings()) log_warning("{}", warning);
  CO_CHECKED(check_open_files(**fresh));
  co_return std::move(**fresh);
}
