// Secrets of an upstream server: read from their files at each start, given to that server only, hidden in its
// messages.
// Used by: client.cc, the transports and server_connection.cc. Errors: unavailable, naming variable and file.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/upstream/server_config.h"

namespace upstream {

using Variables = std::vector<std::pair<std::string, std::string>>;

Result<Variables> read_secrets(const ServerConfig& config);
// Texts to hide for a server over HTTP: the values of its secret headers, and of headers with a name that sounds
// secret, for example "X-Api-Key". Of "Bearer abc" only "abc" is hidden.
Variables secret_headers(const ServerConfig& config, const Variables& secrets);
// `text` with "[secret NAME]" instead of each secret of at least 6 bytes, in plain form or as JSON writes it.
std::string hide_secrets(const Variables& secrets, std::string_view text);

}  // namespace upstream
