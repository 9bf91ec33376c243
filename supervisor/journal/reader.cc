#include "supervisor/journal/reader.h"

#include <optional>

namespace journal {

struct Reader::Connection {
  std::string path;
  std::optional<Database> database;

  Result<> read(const Writer::Work& work) {
    if (!database) {
      TRY(Database opened, Database::open(path, Database::Access::read_only));
      database.emplace(std::move(opened));
    }
    CHECKED(database->run("BEGIN"));
    auto done = work(*database);
    auto ended = database->run("ROLLBACK");
    if (!ended) database.reset();  // the next read opens the file anew
    return done;
  }
};

Task<Result<>> Reader::run(Writer::Work read) {
  if (!thread_) {
    CO_TRY(thread_, WorkerThread::start(loop_));
    connection_ = std::make_shared<Connection>();
    connection_->path = path_;
  }
  const WorkerThread::Job job = [connection = connection_, read = std::move(read)] { return connection->read(read); };
  auto done = co_await thread_->run(job);
  co_return done;
}

}  // namespace journal
