#include "supervisor/cluster/moves/arrival_places.h"

#include <fmt/format.h>

namespace moves {

Result<std::unique_ptr<ArrivalSlots::ArrivalReservation>> ArrivalSlots::enter(const std::string& node) {
  constexpr char kLater[] = "move the workspace when others have arrived";
  if (by_node_.count_of(node) >= kMaxOfNode)
    return fail(Code::exhausted, fmt::format("{} workspaces of node {} are arriving here already", kMaxOfNode, node),
                kLater);
  if (used_ >= kMaxInAll)
    return fail(Code::exhausted, fmt::format("{} workspaces are arriving here already", kMaxInAll), kLater);
  return std::make_unique<ArrivalReservation>(*this, node);
}

}  // namespace moves
