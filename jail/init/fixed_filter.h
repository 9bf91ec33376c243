// The fixed filters: system calls that jailed processes never make, whatever the plan's filter says. They are compiled
// into init, so that a daemon under an attacker's control, which chooses plans, cannot leave them out. Each is one
// more filter (seccomp(2)); the plan's own filter follows. The kernel remembers which calls a filter always allows, so
// only the other calls cost time.
// Source: policies/forbidden_calls.h. Used by: jail/init/confine.cc.
#pragma once

namespace jail::init {

// For the code of a jail that is started by exec. Refuses the forbidden calls, those that build a jail, new namespaces,
// tables of netfilter, raw and packet sockets, and netlink but NETLINK_ROUTE. Returns 0 or a positive errno.
int load_filter_for_code();

// For the processes of a zygote's home, and so for all forks of the zygote, which inherit it. The same, but jails are
// built below it: their namespaces can be made, all at once, and mounts in them. `shared_identity`: forks also make the
// nested user namespace of Identity::shared.
int load_filter_for_home(bool shared_identity);

}  // namespace jail::init
