// StdioTransport: carries each message as one line over the standard streams of a server's process. It ends when the
// process ends, closes its output, or does not read its input for too long. Destroying it kills the process.
// Used by: upstream_servers.cc.
#pragma once
#include <memory>

#include "supervisor/mcp/framing.h"
#include "supervisor/mcp/outbox.h"
#include "supervisor/upstream/process.h"
#include "supervisor/upstream/transport.h"

namespace upstream {

class StdioTransport : public Transport {
 public:
  // `secrets` are hidden in the standard error of the process.
  StdioTransport(Loop& loop, std::unique_ptr<ServerProcess> process, Variables secrets);
  ~StdioTransport() override;

  void begin(Listener listener) override;
  void send(const Json& message, Arguments arguments) override;
  void cancel(int64_t id) override;
  void answered(int64_t) override {}
  void speak(const std::string&) override {}
  void close() override;
  bool full() const override { return outbox_.full(); }
  uint64_t heard() const override { return heard_; }
  std::string last_words() const override;

 private:
  Task<> read();
  Task<> read_errors();
  Task<> watch_end();
  void finish(std::string why);

  Loop& loop_;
  std::unique_ptr<ServerProcess> process_;
  Variables secrets_;
  Listener listener_;
  mcp::Outbox outbox_;
  mcp::LineSplitter lines_{kMaxMessage};
  uint64_t heard_ = 0;
  bool is_taking_ = false;  // a message is being read
  std::string errors_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace upstream
