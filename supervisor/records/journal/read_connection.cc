#include "supervisor/records/journal/read_connection.h"

#include <atomic>
#include <optional>

#include "supervisor/base/work_meter.h"

namespace journal {

struct ReadConnection::OpenFile {
  std::string path;
  std::optional<Database> database;
  std::atomic<bool> is_ending{false};

  Result<> read(const Writer::Work& work) {
    if (!database) {
      TRY(Database opened, Database::open(path, Database::Access::read_only));
      database.emplace(std::move(opened));
    }
    CHECKED(database->run("BEGIN"));
    const auto latest = thread_time() + WorkMeter::kMaxTime;
    database->end_statements([this, latest] { return is_ending || thread_time() >= latest; });
    auto done = work(*database);
    database->end_statements({});
    auto ended = database->run("ROLLBACK");
    if (!ended) database.reset();  // the next read opens the file anew
    return done;
  }
};

ReadConnection::~ReadConnection() {
  if (file_) file_->is_ending = true;
}

Task<Result<>> ReadConnection::run(Writer::Work read) {
  if (!thread_) {
    CO_TRY(thread_, WorkerThread::start(loop_));
    file_ = std::make_shared<OpenFile>();
    file_->path = path_;
  }
  const WorkerThread::Job job = [file = file_, read = std::move(read)] { return file->read(read); };
  auto done = co_await thread_->run(job);
  co_return done;
}

}  // namespace journal
