// LoginBook: the tokens of all logins in memory, and their files. Read once, when the daemon starts; every change is on
// the disk before it counts here.
// Used by: logins.cc, token_source.cc, which share it: a connection may outlive the configuration of its server.
// Errors: those of login_files.h.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "supervisor/base/loop.h"
#include "supervisor/base/one_shot.h"
#include "supervisor/base/worker_thread.h"
#include "supervisor/protocol/http/client.h"
#include "supervisor/upstream/oauth/login_files.h"

namespace oauth {

class LoginBook {
 public:
  // The loop must outlive the book; `disk` and `folder` must be there until close().
  LoginBook(Loop& loop, WorkerThread& disk, int folder, const SealKey& key)
      : loop_(loop), disk_(&disk), files_(std::make_shared<LoginFiles>(folder, key)) {
    renewals_.emplace(loop);
  }

  // Reads the files. Tasks in ready() continue when it is done.
  Task<> read();
  Task<> ready();
  // nullptr: no login.
  const Tokens* find(const LoginName& name) const;
  size_t count_of(std::string_view server) const;
  // The owners of logins at a server, by name.
  std::vector<std::string> owners_of(std::string_view server) const;
  // After an error the tokens are in memory only.
  Task<Result<>> keep(LoginName name, Tokens tokens);
  // Whether there was a login.
  Task<Result<bool>> remove(LoginName name);
  std::vector<LoginName> of_owner(std::string_view owner) const;
  // The text of a small file with a secret.
  Task<Result<std::string>> read_secret(std::string path);

  // Runs the renewal of a login. It ends with the daemon, and not with the source of tokens that began it: its refresh
  // token is used up, and the new one must be stored.
  void renew(Task<> renewal) {
    if (renewals_) renewals_->spawn(std::move(renewal));
  }

  // From now on, no data is read, stored or sent.
  void close() {
    disk_ = nullptr;
    renewals_.reset();
  }

  Loop& loop() { return loop_; }
  // For requests to authorization servers; opened when it is needed. Errors: unavailable.
  Result<std::shared_ptr<http::HttpClient>> http();

 private:
  Task<Result<>> run(WorkerThread::Job job);

  Loop& loop_;
  WorkerThread* disk_;  // nullptr: closed
  std::shared_ptr<const LoginFiles> files_;
  std::shared_ptr<http::HttpClient> http_;
  std::map<LoginName, Tokens> tokens_;
  bool is_read_ = false;
  std::vector<OneShot<>::Resolver> waiting_;
  std::optional<Scope> renewals_;  // last: cancelled first
};

}  // namespace oauth
