#include "supervisor/daemon/configuration/document.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "policies/merged.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/folder.h"
#include "supervisor/base/json/json_file.h"
#include "supervisor/base/log.h"
#include "supervisor/base/path.h"

namespace configuration {
namespace {

constexpr size_t kMaxConfigurationFile = 1 << 20;  // bytes
constexpr size_t kMaxDropIns = 1000;

// The first null: it would neither set a value nor remove one.
std::string find_null_key(const Json& value, const std::string& path) {
  if (value.is_null()) return path;
  if (!value.is_structured()) return {};
  for (const auto& [key, child] : value.items()) {
    const std::string name = value.is_array() ? "[" + key + "]" : (path.empty() ? "" : ".") + printable(key, 64);
    std::string found = find_null_key(child, path + name);
    if (!found.empty()) return found;
  }
  return {};
}

Result<Json> read_object(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) {
    auto failed = fail_errno(errno, "cannot be read", Code::invalid);
    if (failed.value().err == EACCES)
      failed.value().hint = "chmod o+r: a reload is done by the daemon's user. Secrets belong in files of their own";
    return failed;
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_errno(errno, "cannot be read", Code::invalid);
  if (!S_ISREG(status.st_mode))
    return fail(Code::invalid, "cannot be read: not a regular file");  // a device may not end
  if (status.st_mode & S_IWOTH) return fail(Code::invalid, "all users may write the file", "chmod o-w");
  TRY(std::string text, read_complete(file.get(), kMaxConfigurationFile));
  TRY(Json value, parse_json_file(text));
  if (!value.is_object()) return fail(Code::invalid, "not a JSON object", "begin the file with {");
  if (const std::string null = find_null_key(value, ""); !null.empty())
    return fail(Code::invalid, null + ": null is not a value", "leave out the key");
  return value;
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

// How many parts of the dotted `key` the value has.
size_t depth_of(const Json& value, std::string_view key) {
  const std::string_view first = key.substr(0, key.find('.'));
  if (!value.is_object()) return 0;
  const auto it = value.find(std::string(first));
  if (it == value.end()) return 0;
  return 1 + (first.size() == key.size() ? 0 : depth_of(*it, key.substr(first.size() + 1)));
}

}  // namespace

void ConfigurationDocument::add(std::string file, std::vector<std::string>& problems) {
  auto value = read_object(file);
  if (!value) {
    const Error& error = value.error();
    problems.push_back(printable(file, 4096) + ": " + error.what + (error.hint.empty() ? "" : " (" + error.hint + ")"));
    return;
  }
  merged_ = policies::merged(merged_, *value);
  parts_.push_back({std::move(file), *std::move(value)});
}

ConfigurationDocument ConfigurationDocument::read(const Invocation& invocation, std::vector<std::string>& problems) {
  ConfigurationDocument document;
  const bool named = !invocation.flags.config.empty();
  document.main_ = named ? absolute_path(invocation.flags.config, invocation) : default_file(invocation);
  if (document.main_.empty()) return document;
  if (named || exists(document.main_)) document.add(document.main_, problems);
  const std::string folder = document.main_ + ".d";
  auto names = read_names(FolderReader::open(folder));
  if (!names) {
    if (names.error().err != ENOENT && names.error().err != ENOTDIR) problems.push_back(names.error().what);
    return document;
  }
  std::erase_if(*names, [](const std::string& name) {
    return name.starts_with('.') || !name.ends_with(".json") || name.ends_with(".schema.json");
  });
  if (names->size() > kMaxDropIns) {
    problems.push_back(fmt::format("{}: more than {} files", folder, kMaxDropIns));
    return document;
  }
  for (const auto& name : *names) document.add(folder + "/" + name, problems);
  return document;
}

ConfigurationDocument ConfigurationDocument::of(Json merged, std::string name) {
  ConfigurationDocument document;
  document.main_ = std::move(name);
  document.merged_ = std::move(merged);
  return document;
}

std::vector<std::string> ConfigurationDocument::files() const {
  std::vector<std::string> names;
  for (const Part& part : parts_) names.push_back(part.file);
  return names;
}

std::string ConfigurationDocument::file_of(std::string_view key) const {
  std::string file = main_;
  size_t deepest = 0;
  for (const Part& part : parts_) {
    const size_t depth = depth_of(part.value, key);
    if (depth == 0 || depth < deepest) continue;
    deepest = depth;
    file = part.file;
  }
  return file;
}

}  // namespace configuration
