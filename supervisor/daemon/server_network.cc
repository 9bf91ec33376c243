#include "supervisor/daemon/server_network.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "supervisor/base/json.h"
#include "supervisor/base/json_value.h"
#include "supervisor/base/log.h"

namespace {

constexpr size_t kMostTextBytes = 200;  // of a path and a cause in the audit

class NetworkOfServer final : public upstream::ServerNetwork::Use, public egress::EgressUse::Host {
 public:
  NetworkOfServer(journal::Journal& journal, std::string server, std::string tenant)
      : journal_(journal), server_(std::move(server)), tenant_(std::move(tenant)) {}
  std::unique_ptr<egress::EgressUse> use;
  Fd listener;

 private:
  void note(const egress::EgressEntry& entry) override {
    journal::AuditEntry audited;
    audited.at_ms = journal::now_ms();
    audited.tenant = tenant_;
    audited.uid = static_cast<uint32_t>(-1);
    audited.pid = -1;
    audited.principal = "server:" + server_;
    audited.action = "egress";
    audited.subject = fmt::format("egress.{}:{}", entry.host, entry.port);
    Json shape{{"server", server_}, {"method", entry.method}};
    if (!entry.path.empty()) shape["path"] = printable(entry.path, kMostTextBytes);
    if (!entry.rule.empty()) shape["rule"] = entry.rule;
    if (!entry.address.empty()) shape["address"] = entry.address;
    if (!entry.cause.empty()) shape["cause"] = printable(entry.cause, kMostTextBytes);
    shape["verdict"] = entry.verdict == "allowed" ? "ok" : entry.verdict;
    audited.shape = dump_json(shape);
    audited.kind = entry.verdict == "denied" ? journal::AuditKind::refusal : journal::AuditKind::call;
    journal_.audit(std::move(audited));
  }
  // The configuration of servers has no rules that ask.
  Task<bool> ask(egress::EgressEntry) override { co_return false; }
  void lost() override {
    log_warning("upstream server {}: it has no network, because warder-egress has gone; start the server again",
                server_);
    egress::refuse_connections(listener.get());
  }

  journal::Journal& journal_;
  const std::string server_, tenant_;
};

}  // namespace

Task<Result<std::unique_ptr<upstream::ServerNetwork::Use>>> EgressOfServers::open(const upstream::ServerConfig& config,
                                                                                  std::string tenant, int listener) {
  const policies::EgressRules rules = config.egress;
  auto made = std::make_unique<NetworkOfServer>(journal_, config.name, std::move(tenant));
  made->listener = Fd(::fcntl(listener, F_DUPFD_CLOEXEC, 3));
  if (!made->listener) co_return fail_errno(errno, "keep the listener of a server's jail", Code::exhausted);
  CO_TRY(const egress::Secrets secrets, co_await link_.read_secrets(rules));
  CO_TRY(made->use, link_.open(made->listener.get(), rules, secrets, *made));
  co_return std::unique_ptr<Use>(std::move(made));
}
