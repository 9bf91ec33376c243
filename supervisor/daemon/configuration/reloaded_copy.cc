#include "supervisor/daemon/configuration/reloaded_copy.h"

namespace configuration {
namespace {

constexpr char kStores[] = "systemctl reload warder stores it, as it has the daemon's flags";

Result<ConfigurationCopy> read_copy(const LoadedConfiguration& loaded) {
  if (!loaded.good()) return fail(Code::invalid, summary_of(loaded.notes.problems), "warder config check prints more");
  return copy_of(loaded.document, loaded.options.policies);
}

}  // namespace

ReloadedCopy ReloadedCopy::read(Invocation invocation) {
  ReloadedCopy copy;
  const LoadedConfiguration loaded = load(invocation);
  copy.files_ = files_of(invocation, loaded.options);
  copy.copy_ = read_copy(loaded);
  copy.invocation_ = std::move(invocation);
  return copy;
}

Result<> ReloadedCopy::keep(const std::optional<FilesInForce>& daemons) const {
  if (!daemons)
    return fail(Code::invalid, "the running daemon does not tell which files it reads",
                "systemctl restart warder: it is of an older version");
  if (auto same = expect_same_files(files_, *daemons); !same) {
    same.error().hint += std::string(same.error().hint.empty() ? "" : "; ") + kStores;
    return same;
  }
  CHECKED(copy_);
  const LoadedConfiguration loaded = load(invocation_);
  TRY(const ConfigurationCopy now, read_copy(loaded));
  if (now != *copy_ || files_of(invocation_, loaded.options) != files_)
    return fail(Code::unavailable, "a file of the configuration was changed during the reload", "reload again");
  return keep_last_good(files_.state, now);
}

}  // namespace configuration
