// IdRange: the host ids (uids, and gids with the same numbers) of jails, if the daemon was started by root. The first
// id is init's in every jail. The last is the daemon's, if the daemon's user does not exist (supervisor/privileges.h).
// All ids between are for runners, one for each living jail.
// Source: "id_range" of the daemon's configuration, read by supervisor/daemon/configuration/reader.cc. Used by:
// jail/jailer_client/jailer_start.h, jail/host.h.
#pragma once
#include <cstdint>

namespace jail {

struct IdRange {
  static constexpr uint32_t kMin = 4;  // two of them for runners: the next jail is built while the last one ends

  uint32_t first = 0x7000'0000;  // outside of systemd's and Debian's ranges (systemd's UIDS-GIDS.md)
  uint32_t count = 65536;        // at least kMin

  uint32_t init() const { return first; }
  uint32_t daemon() const { return first + count - 1; }
  uint32_t first_runner() const { return first + 1; }
  uint32_t runners() const { return count - 2; }
  bool has_runner(uint32_t id) const { return id > init() && id < daemon(); }
  bool has(uint32_t id) const { return id >= init() && id <= daemon(); }
};

}  // namespace jail
