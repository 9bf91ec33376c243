// Fixtures of the official conformance suite that ask the client: tools and a prompt with questions, tools that report
// changes of lists. Used by: fixture_server.cc.
#pragma once
#include "supervisor/protocol/mcp/server.h"

void add_asking_fixtures(mcp::Server& server);
