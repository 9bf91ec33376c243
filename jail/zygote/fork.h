// Forks of a zygote: what the zygote does for each fork order, in C++ and below any interpreter. Each fork gets new
// namespaces, its own init, and a runner that is a copy of the zygote, with the same rights removed as in every runner.
// Source: clone(2), user_namespaces(7); orders come from the daemon (jail/orders.h), never from a tenant. Used by:
// jail/zygote/node.cc, jail/zygote/python.cc.
#pragma once
#include <cstddef>

namespace jail::zygote {

// Interpreter: functions that the interpreter needs around a fork. `child` is called once in the new runner, after it
// is confined, and does not return. `wanted`: an execution waits for the runner, so it skips its warm-up. `learns`: one
// copy runs a program ahead, and shows which memory the later ones need (pages.h).
struct Interpreter {
  void (*before)();
  void (*parent)();
  void (*child)(bool wanted);
  bool learns = false;
};

// Serves the orders that arrive on descriptor 3 until that socket closes. Returns in the zygote only. One thread.
void serve(const Interpreter& interpreter);

}  // namespace jail::zygote
