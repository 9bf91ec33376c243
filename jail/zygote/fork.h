// Forks of a zygote: what the zygote does for each fork order, in C++ and below any interpreter. Each fork gets new
// namespaces, its own init, and a runner that is a copy of the zygote, with the same rights removed as in every runner.
// Source: clone(2), user_namespaces(7); orders come from the daemon (jail/orders.h), never from a tenant. Used by:
// jail/zygote/node.cc, jail/zygote/python.cc.
#pragma once
#include <cstddef>

namespace jail::zygote {

// Interpreter: functions that the interpreter needs around a fork. `child` is called once in the new runner, after it
// is confined, and does not return. `wanted`: an execution waits for the runner, so it skips its warm-up. `rehearse`,
// if not nullptr, does the work of an execution in a copy that ends afterwards: it shows which memory a copy needs.
struct Interpreter {
  void (*before)();
  void (*parent)();
  void (*child)(bool wanted);
  void (*rehearse)() = nullptr;
};

// Serves the orders that arrive on descriptor 3 until that socket closes. Returns in the zygote only. One thread.
void serve(const Interpreter& interpreter);

}  // namespace jail::zygote
