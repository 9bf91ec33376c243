#include "supervisor/egress/network_of_server.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "supervisor/base/json/json.h"
#include "supervisor/base/json/json_value.h"
#include "supervisor/base/log.h"

namespace {

class NetworkOfServer final : public upstream::ServerNetwork::Use, private egress::EgressAccess::Host {
 public:
  NetworkOfServer(Loop& loop, egress::EgressLink& link, journal::Journal& journal, const upstream::ServerConfig& config,
                  std::string tenant)
      : journal_(journal),
        server_(config.name),
        tenant_(std::move(tenant)),
        rules_(config.egress),
        access_(loop, link, rules_, *this) {}

  Result<> begin(int listener, egress::Secrets secrets) { return access_.begin(listener, std::move(secrets)); }

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
    Json shape = egress::audit_shape(entry);
    shape["server"] = server_;
    audited.shape = dump_json(shape);
    audited.kind = entry.verdict == "denied" ? journal::AuditKind::refusal : journal::AuditKind::call;
    journal_.audit(std::move(audited));
  }
  // The configuration of servers has no rules that ask.
  Task<bool> ask(egress::EgressEntry) override { co_return false; }

  journal::Journal& journal_;
  const std::string server_, tenant_;
  const policies::EgressRules rules_;
  egress::EgressAccess access_;
};

}  // namespace

Task<Result<std::unique_ptr<upstream::ServerNetwork::Use>>> EgressOfServers::open(const upstream::ServerConfig& config,
                                                                                  std::string tenant, int listener) {
  auto network = std::make_unique<NetworkOfServer>(loop_, link_, journal_, config, std::move(tenant));
  const policies::EgressRules rules = config.egress;
  const Fd own(::fcntl(listener, F_DUPFD_CLOEXEC, 3));  // the caller's may be closed meanwhile
  CO_TRY(egress::Secrets secrets, co_await link_.read_secrets(rules));
  CO_CHECKED(network->begin(own.get(), std::move(secrets)));
  co_return std::unique_ptr<Use>(std::move(network));
}
