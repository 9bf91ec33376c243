// Names of stored connections: a later daemon knows its own names, and takes no other name for one.
#include "supervisor/daemon/systemd/fd_store.h"

#include "tests/catch.h"

TEST_CASE("only the names that keep() gave have a number", "[systemd]") {
  CHECK(FdStore::number_in("client-1") == 1U);
  CHECK(FdStore::number_in("client-4294967295") == 4294967295U);
  for (const char* name : {"", "client-", "client-x", "client-1x", "client- 1", "client--1", "client-4294967296",
                           "Client-1", "xclient-1", "mcp", "warder.socket"}) {
    INFO(name);
    CHECK_FALSE(FdStore::number_in(name));
  }
}
