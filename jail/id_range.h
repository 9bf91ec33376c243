// IdRange: the host ids (uids, and gids of the same numbers) that jails of a root's daemon have. The first is every
// jail's init, the last the daemon's own where its user does not exist (supervisor/privileges.h), all between are
// runners', one for each living jail.
// Source: "id_range" of the daemon's configuration, read by supervisor/options.cc.
#pragma once
#include <cstdint>

namespace jail {

struct IdRange {
  static constexpr uint32_t kLeast = 4;  // with two runners: the next jail is built while the last one ends

  uint32_t first = 0x7000'0000;  // outside of systemd's and Debian's ranges (systemd's UIDS-GIDS.md)
  uint32_t count = 65536;        // at least kLeast

  uint32_t init() const { return first; }
  uint32_t daemon() const { return first + count - 1; }
  uint32_t first_runner() const { return first + 1; }
  uint32_t runners() const { return count - 2; }
  bool has_runner(uint32_t id) const { return id > init() && id < daemon(); }
  bool has(uint32_t id) const { return id >= init() && id <= daemon(); }
};

}  // namespace jail
