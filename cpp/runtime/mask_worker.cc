#include "runtime/mask_worker.h"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

namespace detent {

struct MaskWorker::Shared {
  struct Job {
    Matcher::MaskKey key;
    Matcher matcher;
    std::vector<std::uint32_t> words;
    std::exception_ptr error;
    bool is_done = false;
    int age = 0;  // calls of drop_old

    Job(const Matcher::MaskKey& asked, const Matcher& copied) : key(asked), matcher(copied) {}
  };

  std::mutex mutex;
  std::condition_variable asked, computed;
  std::list<Job> jobs;
  std::deque<Job*> queue;
  std::size_t open = 0;  // jobs that are not done
  bool stops = false;
  std::thread thread;

  std::list<Job>::iterator find(const Matcher::MaskKey& key) {
    auto job = jobs.begin();
    while (job != jobs.end() && job->key != key) ++job;
    return job;
  }
};

MaskWorker::MaskWorker() : shared_(std::make_unique<Shared>()), process_(getpid()) {}

MaskWorker::~MaskWorker() {
  restart_in_child();
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stops = true;
  }
  shared_->asked.notify_one();
  if (shared_->thread.joinable()) shared_->thread.join();
}

// The child has no thread, and its copy of the mutex may be locked for ever.
void MaskWorker::restart_in_child() {
  if (process_ == getpid()) return;
  [[maybe_unused]] const Shared* const lost = shared_.release();
  shared_ = std::make_unique<Shared>();
  process_ = getpid();
}

void MaskWorker::ask(const Matcher::MaskKey& key, const Matcher& matcher) {
  restart_in_child();
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->find(key) != shared_->jobs.end()) return;
    shared_->jobs.emplace_back(key, matcher);
    shared_->queue.push_back(&shared_->jobs.back());
    ++shared_->open;
    if (!shared_->thread.joinable()) shared_->thread = std::thread([shared = shared_.get()] { work(*shared); });
  }
  shared_->asked.notify_one();
}

void MaskWorker::work(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  while (true) {
    shared.asked.wait(lock, [&] { return shared.stops || !shared.queue.empty(); });
    if (shared.stops) return;
    Shared::Job& job = *shared.queue.front();
    shared.queue.pop_front();
    lock.unlock();
    try {
      job.words.resize(job.matcher.vocabulary().word_count());
      job.matcher.fill(job.words.data());
    } catch (...) {
      job.error = std::current_exception();
    }
    lock.lock();
    job.is_done = true;
    if (--shared.open == 0) shared.computed.notify_all();
  }
}

std::optional<std::vector<std::uint32_t>> MaskWorker::take(const Matcher::MaskKey& key) {
  restart_in_child();
  const std::lock_guard lock(shared_->mutex);
  const auto job = shared_->find(key);
  if (job == shared_->jobs.end() || !job->is_done) return std::nullopt;
  const std::exception_ptr error = job->error;
  std::vector<std::uint32_t> words = std::move(job->words);
  shared_->jobs.erase(job);
  if (error) std::rethrow_exception(error);
  return words;
}

void MaskWorker::wait_until(std::chrono::steady_clock::time_point end) {
  restart_in_child();
  std::unique_lock lock(shared_->mutex);
  shared_->computed.wait_until(lock, end, [&] { return shared_->open == 0; });
}

void MaskWorker::drop_old() {
  restart_in_child();
  const std::lock_guard lock(shared_->mutex);
  std::erase_if(shared_->jobs, [](Shared::Job& job) { return job.is_done && ++job.age > 2; });
}

}  // namespace detent
