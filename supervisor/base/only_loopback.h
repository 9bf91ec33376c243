// only_loopback(): whether no network interface but lo is up, as in a service with PrivateNetwork=yes. False where the
// interfaces cannot be listed.
#pragma once

bool only_loopback();
