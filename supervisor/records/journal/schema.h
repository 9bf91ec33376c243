// Schema: the tables of the journal, in parts that belong to different owners. Each part counts its own versions.
// Missing steps of all parts are applied in one transaction at the start.
// A file that is foreign, damaged or of a later version is renamed. It is never written to, and does not keep the
// daemon from starting. A file that the disk cannot read does, and stays. Used by: journal.cc.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "supervisor/records/journal/database.h"

namespace journal {

// SchemaPart: `steps[n]` brings the tables from version n to n + 1. Released steps never change.
struct SchemaPart {
  std::string name;  // "executions"
  std::vector<const char*> steps;
};

// Applies the missing steps. Errors: internal: a step fails; unavailable: the file has later steps than this program.
Result<> migrate(Database& database, const std::vector<SchemaPart>& parts);

struct Opened {
  Database database;
  std::string set_aside;  // empty, or a sentence about the renamed file and its new name
};
// Opens, checks and migrates the file at `path`. Errors: the folder cannot be written, the disk is full.
Result<Opened> open_checked(const std::string& path, const std::vector<SchemaPart>& parts);

}  // namespace journal
