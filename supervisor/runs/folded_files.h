// Folded files: the changed files of an execution as its answer lists them. A short list has each path. Of a long one,
// the folders with most changes are one entry each, with counts; a tool's own folder (.git/, node_modules/) always is.
// Source: tenants::Changes. Used by: execute_answer.cc. Pure, no errors.
#pragma once
#include "supervisor/base/json_value.h"
#include "supervisor/tenants/index/changes.h"

namespace runs {

constexpr size_t kListedFiles = 40;  // files of each kind, and folders, that are listed

// {created: [path], modified, deleted, folders: {"venv/": "766 created"}, omitted, complete: false}; without empty
// members; null: no file has changed. `omitted` counts changes that neither a path nor a folder stands for.
Json folded_files(const tenants::Changes& changes);

}  // namespace runs
