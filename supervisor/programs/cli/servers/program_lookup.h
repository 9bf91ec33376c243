// expect_program(): whether the program of a server's command exists where the server will run, looked at before an
// entry is written. Source: the file system of this machine, as a jail or the daemon will see it. Used by: add.cc.
// Errors: invalid, naming the program, the places that were looked at, and the remedy.
#pragma once
#include "supervisor/base/result.h"
#include "supervisor/upstream/server_config.h"

namespace admin {

// A program that cannot be looked at from here (in a tenant's workspace, in a folder of the jail itself, or closed to
// this user) counts as existing; the server's start tells more. True for a URL.
Result<> expect_program(const upstream::ServerConfig& server);

}  // namespace admin
