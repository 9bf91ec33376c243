#include "supervisor/daemon/configuration_reader.h"

#include <memory>

#include "supervisor/daemon/absent_annexes.h"
#include "supervisor/daemon/configuration/reload_exchange.h"
#include "supervisor/daemon/configuration/trial.h"
#include "supervisor/daemon/open_files.h"

Task<Result<std::shared_ptr<ReadConfiguration>>> read_configuration(WorkerThread& thread,
                                                                    const configuration::Invocation& invocation,
                                                                    const policies::Store& current,
                                                                    const std::string& state,
                                                                    const configuration::HeldSockets& sockets) {
  auto read = std::make_shared<ReadConfiguration>();
  const WorkerThread::Job job = [read, invocation, state, sockets,
                                 known = std::make_shared<const policies::Store>(current)]() -> Result<> {
    read->request = configuration::read_reload_request(state);  // before the files: see reload_exchange.h
    read->loaded = configuration::load(invocation, known.get());
    note_absent_annexes(read->loaded);
    configuration::try_start(read->loaded, invocation,
                             {.is_start = false, .listening = sockets, .held_unknown = false, .sandbox = {}});
    return {};
  };
  CO_CHECKED(co_await thread.run(job));
  auto& loaded = read->loaded;
  if (loaded.policies) {
    const auto enough = check_open_files(*loaded.policies);
    if (!enough) loaded.notes.problems.push_back(enough.error().what + " (" + enough.error().hint + ")");
  }
  co_return read;
}
