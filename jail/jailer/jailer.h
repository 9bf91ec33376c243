// Jailer: reads orders (jail/orders.h) and does what needs privileges: it clones a jail, maps ids, attaches a
// workspace, limits a project on disk. It trusts no order: each one is judged first (jail/jailer/order_check.h). It has
// one thread, it blocks, it parses no text but the kernel's, and its memory grows only with the number of living jails.
// Used by: jail/jailer/main.cc.
#pragma once
#include <optional>
#include <vector>

#include "jail/jailer/file_counters.h"
#include "jail/jailer/id_map.h"
#include "jail/jailer/jailer_log.h"
#include "jail/jailer/order_check.h"
#include "jail/jailer/setup.h"

namespace jail {

class Jailer {
 public:
  // `log` must outlive the jailer.
  Jailer(JailerSetup setup, Fd orders, JailerLog& log)
      : setup_(std::move(setup)), orders_(std::move(orders)), log_(log) {}

  // Gives up all rights that orders do not need, and learns the facts that orders are judged by. Call it once, before
  // serve(). Errors: unavailable or internal.
  Result<> prepare();
  // Carries out orders until the daemon's end of the socket closes. Returns the exit status.
  int serve();

 private:
  struct Failure {
    Step step;
    int error;
  };
  struct Mapping {
    bool map_ids;
    uint32_t runner_id;
    bool read_only;
  };
  Result<> prepare_check();
  void handle(const Order& order, std::vector<Fd>& fds);
  HostIds host_ids(const Order& order) const;
  Failure build(const Order& order, std::vector<Fd>& fds, Role role, int& pidfd);
  Failure make_tree(const Mapping& mapping, int directory, Fd& tree);
  Failure attach(const Order& order, int init, int directory);
  Failure attach_staged(const Order& order, int init, int workspace, int staging);

  JailerSetup setup_;
  Fd orders_;
  JailerLog& log_;
  Fd own_mounts_;
  MountMappings mappings_;
  FileCounters counters_;
  std::optional<OrderCheck> check_;  // set by prepare()
};

}  // namespace jail
