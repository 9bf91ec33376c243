// ConfigurationDocument: the files of the configuration, merged into one JSON object: the main file, then the files
// *.json of its drop-in folder, FILE.d/, in the order of their names. Objects are merged key by key; all other values,
// lists too, are replaced.
// Source: --config FILE, or the default file. Without a file the object is empty. Used by: configuration::load().
// Errors are collected as problems, one for each file that cannot be used: "FILE: not JSON: ...".
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/json/json_value.h"
#include "supervisor/daemon/configuration/invocation.h"

namespace configuration {

class ConfigurationDocument {
 public:
  // Reads the files of an invocation. A named main file must exist; the default file need not.
  static ConfigurationDocument read(const Invocation& invocation, std::vector<std::string>& problems);
  // A document that was merged before. `name` is used in messages in place of a file's name.
  static ConfigurationDocument of(Json merged, std::string name);

  const Json& merged() const { return merged_; }
  // The files that were read, in the order of their merging.
  std::vector<std::string> files() const;
  // The file that sets a key ("servers.files.command"), or as much of it as any file sets. The main file if none does.
  std::string file_of(std::string_view key) const;

 private:
  struct Part {
    std::string file;
    Json value;
  };
  void add(std::string file, std::vector<std::string>& problems);

  std::string main_;
  std::vector<Part> parts_;
  Json merged_ = Json::object();
};

}  // namespace configuration
