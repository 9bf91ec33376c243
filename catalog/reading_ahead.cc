#include "catalog/reading_ahead.h"

#include <signal.h>

#include <utility>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_file.h"
#include "supervisor/base/json/json_value.h"

namespace catalog {
namespace {

std::string stem_of(const std::string& path) {
  size_t slash = path.rfind('/');
  std::string name = slash == path.npos ? path : path.substr(slash + 1);
  return name.substr(0, name.size() - std::string_view(".json").size());
}

std::string folder_of(const std::string& path) {
  size_t slash = path.find('/');
  return slash == path.npos ? std::string() : path.substr(0, slash);
}

Result<Reading> read_file(const std::string& root, const std::string& path) {
  TRY(std::string text, read_definition_file(root + "/" + path));
  auto parsed = parse_json_file(text);
  // Saved answers of servers may have lone surrogates and bytes that are not UTF-8.
  if (!parsed)
    if (const std::string repaired = repaired_json(text); repaired != text) parsed = parse_json_file(repaired);
  TRY(Json document, std::move(parsed));
  const std::string folder = folder_of(path), stem = stem_of(path);
  return read_definitions(std::move(document),
                          DocumentOrigin{valid_label(stem) ? stem : "", valid_label(folder) ? folder : ""});
}

}  // namespace

ReadingAhead::ReadingAhead(std::string folder, std::vector<CatalogFile> files, unsigned threads)
    : folder_(std::move(folder)), files_(std::move(files)), readings_(files_.size()) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited: only the loop takes signals
  try {
    for (unsigned i = 0; i < threads && i + 1 < files_.size(); i++)
      threads_.emplace_back([this] {
        std::unique_lock lock(mutex_);
        while (!ending_ && next_ < files_.size()) read_next(lock);
      });
  } catch (const std::system_error&) {
    // Continues without more threads: take() reads the files.
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ReadingAhead::~ReadingAhead() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void ReadingAhead::read_next(std::unique_lock<std::mutex>& lock) {
  const size_t file = next_++;
  lock.unlock();
  std::optional<Result<Reading>> reading;
  try {
    reading = read_file(folder_, files_[file].path);
  } catch (const std::exception& e) {
    reading = fail(Code::internal, std::string("bug in the reader of definitions: ") + e.what());
  }
  lock.lock();
  readings_[file] = std::move(reading);
  read_.notify_all();
}

Result<Reading> ReadingAhead::take(size_t file) {
  std::unique_lock lock(mutex_);
  while (!readings_[file]) {
    if (next_ < files_.size()) {
      read_next(lock);
    } else {
      read_.wait(lock);
    }
  }
  return *std::exchange(readings_[file], std::nullopt);
}

}  // namespace catalog
