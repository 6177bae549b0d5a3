#include "base/fork_guard.h"

#include <pthread.h>

namespace detent {
namespace {

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
// Sections nest: a mask computes rows. Only the outermost section takes the lock. A second shared acquisition would
// wait for a fork that waits for the first one: a deadlock.
thread_local int depth = 0;

void before_fork() { pthread_rwlock_wrlock(&lock); }
void after_fork_in_parent() { pthread_rwlock_unlock(&lock); }
void after_fork_in_child() { lock = PTHREAD_RWLOCK_INITIALIZER; }

}  // namespace

ForkGuard::ForkGuard() {
  if (depth++ == 0) pthread_rwlock_rdlock(&lock);
}

ForkGuard::~ForkGuard() {
  if (--depth == 0) pthread_rwlock_unlock(&lock);
}

void ForkGuard::install() { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

}  // namespace detent
