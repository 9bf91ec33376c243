// Secrets of a server: read from their files at each start, handed to the server alone, hidden in what comes back.
// Errors: unavailable, naming variable and file.
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
// What is to be hidden where a server is asked over HTTP: the values of its secret headers, and of those whose names
// tell that they are secret; of "Bearer abc" what follows the word.
Variables secret_headers(const ServerConfig& config, const Variables& secrets);
// `text` with "[secret NAME]" instead of each that has at least 6 bytes, as it is or as JSON writes it.
std::string hide_secrets(const Variables& secrets, std::string_view text);

}  // namespace upstream
