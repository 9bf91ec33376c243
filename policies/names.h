// Names of policies, tenants and workspaces: which are valid, and patterns of them. Pure. No errors.
#pragma once
#include <string_view>

namespace policies {

// Whether `text` matches: '*' stands for any characters. Goes back to the last '*' only, so no pattern takes long.
bool matches_pattern(std::string_view pattern, std::string_view text);

// The names of policies, profiles and tenants: [a-z0-9_.-]{1,64}, not starting with a dot.
bool valid_name(std::string_view name);
// The names of workspaces, which may have capitals: [A-Za-z0-9_.-]{1,64}, not starting with a dot.
bool valid_workspace_name(std::string_view name);

// The workspace of stateless executions: a named one that stays empty, as no policy lets clients name it.
inline constexpr std::string_view kStatelessWorkspace = "stateless";

}  // namespace policies
