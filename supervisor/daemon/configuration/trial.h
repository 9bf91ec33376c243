// Trial: tries on this machine what a start with a loaded configuration does: the user, the ids of jails, the state
// folder, each address and each socket. It makes no change: an address is bound and closed again.
// Source: LoadedConfiguration, StartView. Used by: the start, the reload and the doctor, `warderd --check`,
// `warder config check`.
// Problems: a start takes the last good copy instead. Shortfalls: a start does without that listener or user. What this
// process cannot try, for example another user's rights, counts as good.
#pragma once
#include "supervisor/daemon/configuration/load.h"
#include "supervisor/daemon/configuration/start_view.h"

namespace configuration {

// Adds to the notes of `loaded`. A key of a file with a problem gets its default.
void try_start(LoadedConfiguration& loaded, const Invocation& invocation, const StartView& view);

// An error of a start as the text of a problem or shortfall: the file or the flag, the key, the error with its remedy.
// `key`: "http.listen[0]".
std::string text_of_start(const ConfigurationDocument& document, const Flags& flags, const std::string& key,
                          const Error& error);

}  // namespace configuration
