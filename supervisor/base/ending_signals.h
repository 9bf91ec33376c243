// catch_ending_signals(): the signals that ask a program to end, as an event of its loop. For small programs; the
// daemon has its own handling (supervisor/daemon/). Errors: internal, of sigprocmask(2) and signalfd(2).
#pragma once
#include "supervisor/base/loop.h"
#include "supervisor/base/result.h"

// The descriptor becomes readable at SIGINT, SIGTERM or SIGHUP (signalfd(2)). From the call on these signals are
// blocked, and SIGPIPE is ignored. Call it before the program has threads.
Result<AsyncFd> catch_ending_signals(Loop& loop);
