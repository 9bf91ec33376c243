// ResourceDeleter: deletes resources of another room for delete_workspace_file. Offered by: the workflows. Used by: the
// workspace tools.
#pragma once
#include <string>

#include "supervisor/base/json/json_value.h"
#include "supervisor/base/result.h"
#include "supervisor/base/task.h"
#include "supervisor/tenants/requester.h"

namespace tools {

class ResourceDeleter {
 public:
  // {success, message}. Errors: not_found, and those of the room.
  virtual Task<Result<Json>> remove(const tenants::Requester& requester, std::string uri) = 0;

 protected:
  ~ResourceDeleter() = default;
};

}  // namespace tools
