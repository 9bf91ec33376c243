// Tools of the fixture server whose calls become tasks: those of the conformance suite's scenarios about tasks. A call
// whose client does not know tasks is answered when it is done.
// Used by: fixture_server.cc.
#pragma once
#include "supervisor/protocol/mcp/server.h"

void add_task_fixtures(mcp::Server& server);
