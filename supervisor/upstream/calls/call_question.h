// asking_for(): passes the questions of an upstream server, in the middle of a call, to the person at the calling
// client. The call's jail, if there is one, is frozen meanwhile. The answer goes to that server only. The audit chain
// gets one line for each question, with the verdict but no text of the question or the answer.
// Source: upstream::Question. Used by: upstream_call.cc. No errors: if the person cannot be asked, the server gets the
// reply `cancel`.
#pragma once
#include "supervisor/upstream/calls/audited_call.h"
#include "supervisor/upstream/calls/upstream_call.h"
#include "supervisor/upstream/question.h"

namespace calls {

// How the person behind this call can be asked. All arguments must outlive the call.
upstream::Asking asking_for(CallEnvironment& environment, const CallContext& context, const Target& target);

// The text for the person. Each line of the server's message begins with "> ", as the message may imitate Warder's
// text.
std::string question_text(const Target& target, std::string_view message);

}  // namespace calls
