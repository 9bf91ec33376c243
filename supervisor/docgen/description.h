// A command line as data: what a manual page and a completion are written from.
// Source: the declarations that --help is made of (CLI11). Used by: manual.cc, completion.cc.
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace docgen {

struct Argument {
  std::vector<std::string> flags;  // "-f", "--follow"; empty: a word
  std::string value;               // "FILE", "[POLICY]", "EXECUTION...", "python|shell"; empty: none
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
