#include "supervisor/tools/audited_call.h"

#include <cmath>

#include "supervisor/base/json.h"

namespace tools {

AuditedCall::AuditedCall(journal::Journal& journal, const Who& who, const Target& target, std::string action)
    : journal_(journal) {
  entry_.tenant = who.tenant->name();
  entry_.uid = who.uid;
  entry_.pid = who.pid;
  entry_.action = std::move(action);
  entry_.subject = target.server + "." + target.tool;
  if (!who.execution.empty()) shape_["execution"] = who.execution;
}

AuditedCall::~AuditedCall() {
  entry_.at_ms = journal::now_ms();
  shape_["ms"] = std::llround(ms_since(begun_));
  entry_.shape = dump_json(shape_);
  journal_.audit(std::move(entry_));
}

}  // namespace tools
