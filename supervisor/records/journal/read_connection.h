// ReadConnection: a second connection to the journal's file, read-only, on a thread of its own, for reads that may take
// milliseconds: they delay neither the loop nor the writer's commits. The thread starts with the first read. A read
// ends after WorkMeter::kMaxTime of processor time, as the others wait behind it, and with this object. Used by:
// journal.cc. Errors: those of Database, and of the read itself.
#pragma once
#include <memory>
#include <string>

#include "supervisor/base/worker_thread.h"
#include "supervisor/records/journal/writer.h"

namespace journal {

class ReadConnection {
 public:
  // The loop must outlive the reader.
  ReadConnection(Loop& loop, std::string path) : loop_(loop), path_(std::move(path)) {}
  ~ReadConnection();

  // Runs `read` on the thread, in one transaction. It owns all its data, like Writer::Work, and must not write.
  Task<Result<>> run(Writer::Work read);

 private:
  struct OpenFile;
  Loop& loop_;
  const std::string path_;
  std::shared_ptr<OpenFile> file_;  // the thread's
  std::unique_ptr<WorkerThread> thread_;
};

}  // namespace journal
