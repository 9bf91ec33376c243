// connect_unix(): connects to a Unix socket (unix(7)).
#pragma once
#include <string>

#include "supervisor/base/fd.h"
#include "supervisor/base/result.h"

// `type`: SOCK_STREAM or SOCK_SEQPACKET. The socket is non-blocking and closed on exec. Never waits: a full backlog is
// an error. Errors: invalid, the path is empty or longer than 107 bytes; unavailable, naming the path.
Result<Fd> connect_unix(const std::string& path, int type);
