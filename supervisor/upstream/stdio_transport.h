// StdioTransport: carries each message as one line over the standard streams of a server's process. It ends when the
// process ends, closes its output, or does not read its input for too long. Destroying it kills the process.
// Used by: upstream_servers.cc.
#pragma once
#include <memory>

#include "supervisor/upstream/line_stream.h"
#include "supervisor/upstream/process.h"

namespace upstream {

class StdioTransport : public Transport {
 public:
  // `secrets` are hidden in the standard error of the process.
  StdioTransport(Loop& loop, std::unique_ptr<ServerProcess> process, Variables secrets);
  ~StdioTransport() override;

  void begin(Listener listener) override;
  void send(const Json& message, Arguments arguments) override { lines_.send(message, std::move(arguments)); }
  void cancel(int64_t id) override { lines_.send_cancelled(id); }
  void answered(int64_t) override {}
  void speak(const std::string&) override {}
  void close() override;
  bool full() const override { return lines_.full(); }
  uint64_t received() const override { return lines_.received(); }
  bool is_taking() const override { return lines_.is_taking(); }
  std::string last_words() const override;

 private:
  Task<> read();
  Task<> read_errors();
  Task<> watch_end();

  Loop& loop_;
  std::unique_ptr<ServerProcess> process_;
  Variables secrets_;
  Listener listener_;
  LineStream lines_;
  std::string errors_;
  Scope tasks_;  // last: cancelled first
};

}  // namespace upstream
