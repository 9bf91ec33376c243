#include "supervisor/tenants/index/usage.h"

#include <algorithm>

namespace tenants {
namespace {

constexpr uint64_t kRounding = 64 * 1024;  // bytes; larger than a usual block

}  // namespace

uint64_t charge_of(const Entry& entry) {
  if (entry.kind != FileKind::file) return 0;
  if (entry.allocated < entry.size) return entry.allocated;
  return entry.allocated - entry.size > kRounding ? entry.allocated : entry.size;
}

void UsageCount::add(const Entry& entry) {
  if (entry.kind != FileKind::directory && entry.links > 1 && !linked_.insert(entry.inode).second) return;
  usage_.bytes += charge_of(entry);
  usage_.files++;
  if (entry.kind == FileKind::file) usage_.largest = std::max(usage_.largest, entry.size);
}

}  // namespace tenants
