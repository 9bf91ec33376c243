// Usage errors: the mistake in a command line, in the words of a user: the value, the expected values, and the command
// with the right help. CLI11 speaks of its own names ("words is required").
// Source: the exceptions of CLI11. Used by: arguments.cc, admin/main.cc.
#pragma once
#include "supervisor/base/result.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace cli {

// An error with the code `invalid`. `app`: after its parse() has thrown `wrong`.
Error usage_error(const CLI::App& app, const CLI::ParseError& wrong);

}  // namespace cli
