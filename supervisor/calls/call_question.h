// What a server asks in the middle of a call, put to the person at the client that makes it, with the jail held still
// where there is one; and the line of the audit chain: that it asked, and what came of it, never a word of either.
// What the person says goes to that server and nowhere else. Nothing fails here: whatever is in the way is a
// cancelled question.
#pragma once
#include "supervisor/calls/audited_call.h"
#include "supervisor/calls/upstream_call.h"
#include "supervisor/upstream/question.h"

namespace calls {

// Whose call it is, and who answers. All that is referred to outlives the call.
upstream::Asking asking_for(CallEnvironment& environment, const Who& who, const Target& target);

// The text that the person reads. Every line of the server's own words is marked as such: they may look like ours.
std::string question_text(const Target& target, std::string_view message);

}  // namespace calls
