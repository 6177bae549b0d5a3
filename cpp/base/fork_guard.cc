#include "base/fork_guard.h"

#include <pthread.h>

namespace detent {
namespace {

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
// A section may enter another (a row fill inside a mask fill): only the outermost takes the lock, or a waiting fork
// between the two would deadlock.
thread_local int depth = 0;

void before() { pthread_rwlock_wrlock(&lock); }
void after() { pthread_rwlock_unlock(&lock); }
void renew() { lock = PTHREAD_RWLOCK_INITIALIZER; }

}  // namespace

ForkGuard::ForkGuard() {
  if (depth++ == 0) pthread_rwlock_rdlock(&lock);
}

ForkGuard::~ForkGuard() {
  if (--depth == 0) pthread_rwlock_unlock(&lock);
}

void ForkGuard::install() { pthread_atfork(before, after, renew); }

}  // namespace detent
