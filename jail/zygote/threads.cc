#include "jail/zygote/threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

namespace {

constexpr int kMaxThreads = 16;
constexpr size_t kStackBytes = 8 << 20;  // as large as node's own

struct Thread {
  char* stack;
  void* (*start)(void*);
  void* argument;
  void* answer;
  ucontext_t base;   // of the system thread below
  ucontext_t inner;  // on `stack`: first the start, then the place where it waits
  pthread_cond_t* condition;
  pthread_mutex_t* mutex;
  volatile bool waits, revived;
};

Thread threads[kMaxThreads];
int count = 0;
bool in_copy = false;

template <class Function>
Function* real(const char* name, const char* version) {
  void* function = version ? ::dlvsym(RTLD_NEXT, name, version) : nullptr;
  if (!function) function = ::dlsym(RTLD_NEXT, name);
  return reinterpret_cast<Function*>(function);
}

int real_create(pthread_t* id, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  static auto* create = real<decltype(pthread_create)>("pthread_create", nullptr);
  return create(id, attributes, start, argument);
}

int real_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static auto* wait = real<decltype(pthread_cond_wait)>("pthread_cond_wait", "GLIBC_2.3.2");
  return wait(condition, mutex);
}

void begin(unsigned high, unsigned low) {
  auto* thread = reinterpret_cast<Thread*>(uint64_t{high} << 32 | low);
  thread->answer = thread->start(thread->argument);
  ::swapcontext(&thread->inner, &thread->base);
}

// Runs on a system thread, until the function on `stack` has ended.
void* carry(void* carried) {
  auto* thread = static_cast<Thread*>(carried);
  ::swapcontext(&thread->base, &thread->inner);
  return thread->answer;
}

// The thread that owns the current stack; nullptr on any other stack.
Thread* current() {
  char here = 0;
  for (int i = 0; i < count; i++) {
    if (&here >= threads[i].stack && &here < threads[i].stack + kStackBytes) return &threads[i];
  }
  return nullptr;
}

// Makes the condition new: it still counts the lost thread as a waiter, which would take the wake-up of its successor.
void revive(Thread& thread) {
  pthread_condattr_t attributes;
  ::pthread_condattr_init(&attributes);
  ::pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);  // as libuv does
  ::pthread_cond_init(thread.condition, &attributes);
  thread.waits = false;
  thread.revived = true;
  pthread_t id;
  if (real_create(&id, nullptr, carry, &thread) == 0) ::pthread_detach(id);
}

// Call it with the condition's mutex held, as the code that wakes a worker does.
void revive_those_at(const pthread_cond_t* condition) {
  if (!in_copy) return;
  for (int i = 0; i < count; i++) {
    if (threads[i].waits && threads[i].condition == condition) revive(threads[i]);
  }
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int pthread_create(pthread_t* id, const pthread_attr_t* attributes,
                                                          void* (*start)(void*), void* argument) {
  if (in_copy || count == kMaxThreads) return real_create(id, attributes, start, argument);
  Thread& thread = threads[count];
  void* stack =
      ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED || ::getcontext(&thread.inner) < 0) return EAGAIN;
  thread.stack = static_cast<char*>(stack);
  thread.start = start;
  thread.argument = argument;
  thread.inner.uc_stack.ss_sp = stack;
  thread.inner.uc_stack.ss_size = kStackBytes;
  auto address = reinterpret_cast<uint64_t>(&thread);
  ::makecontext(&thread.inner, reinterpret_cast<void (*)()>(begin), 2, static_cast<unsigned>(address >> 32),
                static_cast<unsigned>(address));
  count++;
  return real_create(id, attributes, carry, &thread);
}

__attribute__((visibility("default"))) int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  Thread* thread = in_copy ? nullptr : current();
  if (!thread) return real_wait(condition, mutex);
  thread->condition = condition;
  thread->mutex = mutex;
  ::getcontext(&thread->inner);
  if (thread->revived) {  // the second return of getcontext(), in a copy: like a spurious wake-up
    thread->revived = false;
    return ::pthread_mutex_lock(thread->mutex);
  }
  thread->waits = true;
  int error = real_wait(condition, mutex);
  thread->waits = false;
  return error;
}

__attribute__((visibility("default"))) int pthread_cond_signal(pthread_cond_t* condition) {
  revive_those_at(condition);
  static auto* signal = real<decltype(pthread_cond_signal)>("pthread_cond_signal", "GLIBC_2.3.2");
  return signal(condition);
}

__attribute__((visibility("default"))) int pthread_cond_broadcast(pthread_cond_t* condition) {
  revive_those_at(condition);
  static auto* broadcast = real<decltype(pthread_cond_broadcast)>("pthread_cond_broadcast", "GLIBC_2.3.2");
  return broadcast(condition);
}

}  // extern "C"

namespace jail::zygote {

void threads_are_lost() { in_copy = true; }

}  // namespace jail::zygote
