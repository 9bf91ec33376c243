#include "supervisor/base/journal_log.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

#define SD_JOURNAL_SUPPRESS_LOCATION  // an entry has the fields of this file only
#include <systemd/sd-journal.h>

namespace {

constexpr const char* kJournalSocket = "/run/systemd/journal/socket";

struct JournalEntry {
  LogLevel level;
  std::string text;
  std::vector<std::string> fields;  // "NAME=value"
};

void add_journal_field(std::vector<std::string>& fields, std::string_view name, std::string_view value) {
  std::string field(name);
  field.append("=").append(value.substr(0, JournalWriter::kMaxValue));
  fields.push_back(std::move(field));
}

// On the writer's thread. Without the socket, sd_journal_sendv() drops an entry and reports success.
void write_entry(JournalEntry& entry) {
  std::vector<iovec> parts;
  parts.reserve(entry.fields.size());
  for (std::string& field : entry.fields) parts.push_back({field.data(), field.size()});
  if (::access(kJournalSocket, F_OK) < 0 || ::sd_journal_sendv(parts.data(), static_cast<int>(parts.size())) < 0)
    log_line(entry.level, entry.text);
}

}  // namespace

struct JournalWriter::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<JournalEntry> waiting;  // by `mutex`
  bool ending = false;               // by `mutex`
  bool works = false;                // by `mutex`: the thread runs

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return !waiting.empty() || ending; });
      if (waiting.empty()) break;
      JournalEntry entry = std::move(waiting.front());
      lock.unlock();
      write_entry(entry);
      lock.lock();
      waiting.pop_front();  // only now: an entry in work counts as waiting
    }
    works = false;
    changed.notify_all();
  }
};

JournalWriter::JournalWriter() : shared_(std::make_shared<Shared>()) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the thread inherits the mask: only the loop takes signals
  try {
    shared_->works = true;
    std::thread([shared = shared_] { shared->run(); }).detach();
  } catch (const std::exception& error) {
    shared_->works = false;
    log_warning("no thread for the journal: {}; entries have no fields", error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

JournalWriter::~JournalWriter() {
  std::unique_lock lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, std::chrono::seconds(1), [this] { return !shared_->works; });
}

bool JournalWriter::send(LogLevel level, std::string_view message_id, std::string_view text,
                         const std::vector<LogField>& fields) {
  JournalEntry entry{level, std::string(text.substr(0, kMaxValue)), {}};
  entry.fields.reserve(fields.size() + 4);
  add_journal_field(entry.fields, "MESSAGE", text);
  add_journal_field(entry.fields, "PRIORITY", std::to_string(static_cast<int>(level)));
  add_journal_field(entry.fields, "SYSLOG_IDENTIFIER", "warderd");
  add_journal_field(entry.fields, "MESSAGE_ID", message_id);
  for (const LogField& field : fields)
    if (!field.value.empty()) add_journal_field(entry.fields, field.name, field.value);
  std::lock_guard lock(shared_->mutex);
  if (!shared_->works || shared_->waiting.size() >= kMaxWaiting) return false;
  shared_->waiting.push_back(std::move(entry));
  shared_->changed.notify_one();
  return true;
}

bool is_journal_stream(int fd, const char* journal_stream) {
  struct stat status {};
  if (!journal_stream || ::fstat(fd, &status) < 0) return false;
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) == journal_stream;
}

void log_fields(LogLevel level, std::string_view message_id, const std::string& text,
                const std::vector<LogField>& fields) {
  if (level > log_level()) return;
  static const bool journal = is_journal_stream(STDERR_FILENO, std::getenv("JOURNAL_STREAM"));
  static const auto writer = journal ? std::make_unique<JournalWriter>() : nullptr;
  if (!writer || !writer->send(level, message_id, text, fields)) log_line(level, text);
}
