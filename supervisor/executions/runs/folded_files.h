// Folded files: the changed files of an execution as its answer lists them. A short list has each path. Of a long one,
// the folders with most changes are one entry each, with counts; a tool's own folder (.git/, node_modules/) always is.
// Files that .gitignore leaves out are counted only.
// Source: tenants::Changes. Used by: execute_answer.cc, code_execution.cc. Pure, no errors.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/json/json_value.h"
#include "supervisor/executions/runs/ignored_files.h"
#include "supervisor/tenants/index/changes.h"

namespace runs {

constexpr size_t kListedFiles = 40;  // files of each kind, and folders, that are listed

// {created: [path], modified, deleted, folders: {"venv/": "766 created"}, omitted, complete: false}; without empty
// members; null: no file has changed. `omitted` counts changes that neither a path nor a folder stands for;
// `ignored` counts the changes that .gitignore leaves out.
Json folded_files(const tenants::Changes& changes, const IgnoredFiles& ignored = IgnoredFiles());
// Adds the paths that .gitignore can leave out, files and folders: those outside of the tools' own folders.
void add_paths_to_ignore(const tenants::Changes& changes, std::vector<std::string>& paths);

}  // namespace runs
