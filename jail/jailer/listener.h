// make_listener(): the listening socket of a jail, through which its code reaches the egress proxy:
// 127.0.0.1:kEgressPort in the jail's network namespace. No descriptor is taken from the jail, and its code has not
// begun: so the port is free, and no program can share it later (SO_REUSEPORT needs the first socket to have it, too:
// socket(7)). The descriptor keeps the network namespace alive after the jail's end, so it must be closed with the
// jail. Used by: jail/jailer/jailer.cc. The caller is single-threaded, and holds the pidfd of a jail that it has
// checked.
#pragma once
#include "supervisor/base/fd.h"

namespace jail {

// `init`: pidfd of the jail's init. The result is empty when `error` is set to an errno.
Fd make_listener(int init, int& error);

}  // namespace jail
