// Forking jails: what the zygote does for each order, in C++ and below any interpreter. A fresh set of namespaces, an
// init of its own (warder-jail-init), and a runner that is a copy of the zygote, stripped and locked down as every
// runner is. Source: clone(2), user_namespaces(7); orders from the daemon (jail/orders.h), never from a tenant.
#pragma once
#include <cstddef>

namespace jail::zygote {

// What an interpreter must be told around a fork. `child` is called in the new runner, once, when it is locked down;
// it does not return. `wanted`: an execution waits for it, so nothing else is worth its time.
struct Interpreter {
  void (*before)();
  void (*parent)();
  void (*child)(bool wanted);
};

// Serves the orders that come in on descriptor 3 until that socket closes. Returns in the zygote only. One thread.
void serve(const Interpreter& interpreter);

}  // namespace jail::zygote
