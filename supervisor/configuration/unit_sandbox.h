// unit_sandbox(): what warder.service forbids a start, as systemd has loaded the unit with its drop-ins. For checks
// outside of the unit, which have other rights and another network.
// Source: D-Bus, org.freedesktop.systemd1; any user may ask. Waits at most a second. No errors: where systemd does not
// answer or does not know the unit, no limit is known.
#pragma once
#include "supervisor/configuration/start_view.h"

namespace configuration {

// Sets the sandbox of `view`, and which sockets systemd passes.
void add_unit(StartView& view);

}  // namespace configuration
