// NatsServerProcess: the packaged nats-server, with JetStream in a temporary folder, on a free port of 127.0.0.1. It
// ends with this object, or with the test's process.
#pragma once
#include <sys/types.h>

#include <string>

#include "supervisor/base/fd.h"
#include "tests/temp_directory.h"

namespace cluster {

class NatsServerProcess {
 public:
  // `configuration` is added to the server's configuration file.
  explicit NatsServerProcess(std::string configuration = {});
  ~NatsServerProcess() { kill(); }
  NatsServerProcess(const NatsServerProcess&) = delete;

  // The path of the program; empty: it is not installed.
  static std::string program();
  std::string url(const std::string& scheme = "nats") const;
  const std::filesystem::path& folder() const { return folder_.path(); }

  void kill();     // SIGKILL, and waits for the end
  void restart();  // on the same port, with the same folder; returns when it listens
  void stop();     // SIGSTOP
  void go_on();    // SIGCONT
  // Sends lines of NATS's protocol, as any client may. Returns when the server has read them.
  void send_raw(const std::string& lines) const;
  // The next restart() finds no buckets.
  void forget_buckets();
  // The next restart() after restore_buckets() finds the buckets as they were at the call of save_buckets(), while the
  // server does not run.
  void save_buckets();
  void restore_buckets();
  void set_configuration(std::string configuration) { configuration_ = std::move(configuration); }

 private:
  TempDirectory folder_;
  std::string configuration_;
  Fd holder_;  // of the port
  int port_ = 0;
  pid_t pid_ = 0;
};

}  // namespace cluster
