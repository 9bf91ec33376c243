// The threads that wait for the disk of the state folder, as a part of the daemon. The end of a part waits for the jobs
// that have begun, so it needs what they use: the tenants' folders and the journal are closed after that.
#include "supervisor/given_services.h"
#include "supervisor/parts.h"
#include "supervisor/records/journal/journal.h"
#include "supervisor/tenants/tenant.h"

namespace {

class ThreadsPart final : public Part {
 public:
  explicit ThreadsPart(StateThreads threads) : threads_(std::move(threads)) {}

  static Result<std::unique_ptr<ThreadsPart>> open(Loop& loop, tenants::Registry&, journal::Journal&) {
    StateThreads threads;
    TRY(threads.vaults, WorkerThread::start(loop));
    TRY(threads.disk, WorkerThread::start(loop));
    TRY(threads.files, WorkerThread::start(loop));
    return std::make_unique<ThreadsPart>(std::move(threads));
  }
  std::tuple<StateThreads&> services() { return {threads_}; }

 private:
  StateThreads threads_;
};

}  // namespace

PartEntry threads_part() { return part_entry_of("threads of the disk", ThreadsPart::open); }
