// Description: a command line as data, for manual pages and the completion.
// Source: the CLI11 declarations, from which --help is made, too. Used by: manual.cc, completion.cc.
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace docgen {

struct Argument {
  std::vector<std::string> flags;  // "-f", "--follow"; empty: a positional argument
  std::string value;               // "FILE", "[POLICY]", "EXECUTION...", "python|shell"; empty: a flag without a value
  std::string text;
};

struct Description {
  std::string path;  // "warder policy check"
  std::string text, footer;
  std::vector<Argument> arguments;
  std::vector<Description> commands;

  std::string name() const { return path.substr(path.rfind(' ') + 1); }
};

Description describe(const CLI::App& app);

}  // namespace docgen
