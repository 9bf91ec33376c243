// ExecutionNetwork: what the code of one execution may reach, if its policy has egress rules. NetworkSource: makes it;
// offered by the egress part. Each request of the code is written into the audit chain; a rule with the verdict `ask`
// asks a person. Used by: CodeExecution. Errors of prepare(): unavailable, for a secret that cannot be read.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/base/task.h"

namespace calls {
struct CallContext;
struct CallEnvironment;
}  // namespace calls

namespace runs {

// Requests and bytes of one program.
struct NetworkTotals {
  uint64_t requests = 0, denied = 0, bytes_up = 0, bytes_down = 0;
};

// A request that was refused or has failed.
struct RefusedRequest {
  std::string host;  // with the port
  std::string rule, why;
  bool operator==(const RefusedRequest&) const = default;
};

class ExecutionNetwork {
 public:
  virtual ~ExecutionNetwork() = default;
  // Reads the secrets of the rules. Call it before the program begins.
  virtual Task<Result<>> prepare() = 0;
  // The program begins in the jail of this listener, which is borrowed during the call.
  virtual void begin(int listener) = 0;
  // The program has ended, and so do its connections.
  virtual Task<> finish() = 0;

  // After finish(). nullopt: the program opened no connection, or the service did not serve it.
  virtual std::optional<NetworkTotals> totals() const = 0;
  // The first few, without repetitions.
  virtual const std::vector<RefusedRequest>& refused() const = 0;
  // Why the program had no network, although its policy has rules; empty: it had, or it opened no connection.
  virtual const std::string& trouble() const = 0;
};

class NetworkSource {
 public:
  // The caller's policy has egress rules. All references must outlive the network.
  virtual std::unique_ptr<ExecutionNetwork> open(calls::CallEnvironment& environment,
                                                 const calls::CallContext& caller) = 0;

 protected:
  ~NetworkSource() = default;
};

// The network of the caller's program: nullptr if its policy has no egress rules. Without a source (nullptr: Warder was
// built without egress) the program gets none, and trouble() says so.
std::unique_ptr<ExecutionNetwork> network_of(NetworkSource* source, calls::CallEnvironment& environment,
                                             const calls::CallContext& caller);

}  // namespace runs
