#include "jail/usage/tree_reader.h"

#include <utility>

namespace jail {
namespace {
constexpr std::chrono::seconds kEnd{1};  // a reading of smaps may wait for a process
}

TreeReader::~TreeReader() {
  if (thread_) thread_->end_by(Monotonic::now() + kEnd);
}

Task<TreeUsage> TreeReader::read(int init_pid, std::shared_ptr<const SharedValues> apart) {
  if (!thread_) {
    if (auto started = WorkerThread::start(loop_)) thread_ = *std::move(started);
  }
  if (!thread_) co_return read_process_tree(init_pid, apart.get());
  auto usage = std::make_shared<TreeUsage>();
  WorkerThread::Job job = [usage, init_pid, apart = std::move(apart)]() -> Result<> {
    *usage = read_process_tree(init_pid, apart.get());
    return {};
  };
  (void)co_await thread_->run(std::move(job));
  co_return std::move(*usage);
}

}  // namespace jail
