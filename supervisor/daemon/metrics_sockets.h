// MetricsSockets: the daemon's metrics over HTTP, on the sockets that systemd passed, or the one that main.cc made for
// --metrics.
// Source: all parts that have metrics, read for each scrape. Errors of serve(): those of http::Endpoint.
#pragma once
#include <memory>
#include <vector>

#include "supervisor/daemon/prepared.h"
#include "supervisor/given_services.h"
#include "supervisor/operations/metrics/text.h"
#include "supervisor/parts.h"
#include "supervisor/protocol/http/endpoint.h"

class MetricsSockets final : public Part, public Opener {
 public:
  // All must outlive this object.
  MetricsSockets(const Parts& parts, Loop& loop, Prepared& prepared, const ReloadState& reload)
      : parts_(parts), loop_(loop), prepared_(prepared), reload_(reload) {}
  static Result<std::unique_ptr<MetricsSockets>> open(Parts& parts, Loop& loop, Prepared& prepared,
                                                      ReloadState& reload);
  std::tuple<MetricsSockets&> services() { return {*this}; }

  Result<> serve() override;
  // As ClientDoors::open_missing(), for the socket of the key "metrics".
  std::vector<configuration::Shortfall> open_missing(std::vector<configuration::Shortfall> missing);

 private:
  // Readers: which clients a socket has, and whether they may see names.
  struct Readers {
    bool are_tcp = false;  // any user of this machine
    bool see_names = false;
  };
  Result<> open_socket(Fd socket, Readers readers);
  http::Response answer(const http::HttpRequest& request, Readers readers) const;
  void write_own_metrics(metrics::OpenMetricsText& text) const;

  const Parts& parts_;
  Loop& loop_;
  Prepared& prepared_;
  const ReloadState& reload_;
  int64_t started_s_ = 0;  // when serve() was called, since 1970
  std::vector<std::unique_ptr<http::Endpoint>> endpoints_;
};
