#include "supervisor/cli/administration.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "supervisor/cli/admin/command.h"
#include "supervisor/cli/run.h"
#include "supervisor/cli/socket.h"

namespace cli {

bool is_administration(std::string_view command) {
  if (command == "config") return false;  // the command of `warder` itself; arguments.cc finds `config check`
  const auto& all = admin::commands();
  return std::any_of(all.begin(), all.end(), [command](const auto& one) {
    const std::string_view name = one.name;
    return name.substr(0, name.find(' ')) == command;
  });
}

int become_administration(char** argv) {
  const auto here = std::filesystem::path(own_path()).parent_path();
  for (const char* place : {"warder-admin", "../lib/warder/warder-admin"}) {
    const auto program = (here / place).lexically_normal().string();
    ::execv(program.c_str(), argv);
  }
  std::fprintf(stderr,
               "warder: the program warder-admin, which has this command, is neither beside %s nor in ../lib/warder\n",
               own_path().c_str());
  return kExitUnavailable;
}

}  // namespace cli
