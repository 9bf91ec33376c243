// ConfigurationInForce: which configuration the daemon runs with, and the problems of the files.
// Made by: main.cc at the start, supervisor/daemon/reload.cc at each reload. Used by: D-Bus, the doctor, metrics.
#pragma once
#include "supervisor/daemon/configuration/load.h"

namespace configuration {

struct ConfigurationInForce {
  // files: as they are. last_good: the stored copy, because the files have problems. none: there is no usable copy
  // either, so executions are denied.
  enum class Source { files, last_good, none };
  Source source = Source::files;
  Invocation invocation;
  ConfigurationDocument document;  // of the start: keys that only a restart changes are compared with it
  Notes notes;                     // problems: of the files at the start; empty after a good reload

  bool degraded() const { return source != Source::files; }
  // The daemon serves without a listener that the configuration names.
  bool falls_short() const { return !notes.shortfalls.empty(); }
};

}  // namespace configuration
