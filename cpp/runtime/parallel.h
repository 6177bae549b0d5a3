// in_parallel: a loop on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace detent {

// Calls work(i) for each i below `count`, on `threads` threads. Threads live for one call, so that a process may fork
// between calls. When all have ended, the error of the lowest i is thrown.
template <class Work>
void in_parallel(std::size_t count, unsigned threads, Work work) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> errors(count);
  const auto take = [&] {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> pool;
    for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i) pool.emplace_back(take);
    take();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace detent
