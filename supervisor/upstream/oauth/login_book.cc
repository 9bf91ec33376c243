#include "supervisor/upstream/oauth/login_book.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "supervisor/base/log.h"
#include "supervisor/base/path.h"

namespace oauth {
namespace {

constexpr size_t kMaxSecretBytes = 64 << 10;

struct ReadLogins {
  std::map<LoginName, Tokens> all;
  std::vector<std::string> problems;
};

}  // namespace

Task<Result<>> LoginBook::run(WorkerThread::Job job) {
  if (!disk_) co_return fail(Code::unavailable, "the daemon is ending");
  auto done = co_await disk_->run(std::move(job));
  co_return done;
}

Result<std::shared_ptr<http::HttpClient>> LoginBook::http() {
  if (!disk_) return fail(Code::unavailable, "the daemon is ending");
  if (!http_) {
    TRY(http_, http::HttpClient::open(loop_));
  }
  return http_;
}

Task<> LoginBook::read() {
  auto logins = std::make_shared<ReadLogins>();
  const WorkerThread::Job job = [logins, files = files_]() -> Result<> {
    TRY(logins->all, files->read_all(logins->problems));
    return {};
  };
  const auto done = co_await run(job);
  if (!done) log_warning("logins at upstream servers cannot be read: {}", done.error().what);
  for (const auto& problem : logins->problems) log_warning("a login at an upstream server is not used: {}", problem);
  tokens_.merge(logins->all);
  is_read_ = true;
  for (const auto& item : std::exchange(waiting_, {})) item.resolve();
}

Task<> LoginBook::ready() {
  if (is_read_) co_return;
  OneShot<> done(loop_);
  waiting_.push_back(done.resolver());
  co_await done;
}

const Tokens* LoginBook::find(const LoginName& name) const {
  const auto it = tokens_.find(name);
  return it == tokens_.end() ? nullptr : &it->second;
}

size_t LoginBook::count_of(std::string_view server) const {
  return static_cast<size_t>(
      std::count_if(tokens_.begin(), tokens_.end(), [server](const auto& item) { return item.first.first == server; }));
}

std::vector<std::string> LoginBook::owners_of(std::string_view server) const {
  std::vector<std::string> all;
  for (const auto& [name, tokens] : tokens_)
    if (name.first == server && !name.second.empty()) all.push_back(name.second);
  return all;
}

Task<Result<>> LoginBook::keep(LoginName name, Tokens tokens) {
  auto shared = std::make_shared<const Tokens>(tokens);
  const WorkerThread::Job job = [files = files_, name, shared] { return files->write(name, *shared); };
  tokens_.insert_or_assign(std::move(name), std::move(tokens));  // first: a removal meanwhile must find it
  auto written = co_await run(job);
  co_return written;
}

Task<Result<bool>> LoginBook::remove(LoginName name) {
  co_await ready();  // else what is read later would come back
  const bool was_there = tokens_.erase(name) > 0;
  const WorkerThread::Job job = [files = files_, name] { return files->remove(name); };
  auto removed = co_await run(job);
  if (!removed) co_return tl::unexpected<Error>(std::move(removed).error());
  co_return was_there;
}

std::vector<LoginName> LoginBook::of_owner(std::string_view owner) const {
  std::vector<LoginName> all;
  for (const auto& [name, tokens] : tokens_)
    if (name.second == owner) all.push_back(name);
  return all;
}

Task<Result<std::string>> LoginBook::read_secret(std::string path) {
  auto text = std::make_shared<std::string>();
  const WorkerThread::Job job = [text, path]() -> Result<> {
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    auto read = fd ? read_complete(fd.get(), kMaxSecretBytes) : Result<std::string>(fail_errno(errno, "open"));
    if (!read)
      return fail(Code::unavailable,
                  fmt::format("the client secret cannot be read from {}: {}", path, read.error().what),
                  "let the daemon's user read the file (chown, chmod)");
    *text = *std::move(read);
    return {};
  };
  CO_CHECKED(co_await run(job));
  while (text->ends_with('\n')) text->pop_back();
  co_return std::move(*text);
}

}  // namespace oauth
