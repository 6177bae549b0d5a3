#include "runtime/batch.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace detent {

void fill_batch(std::span<Matcher* const> matchers, std::uint32_t* rows, std::size_t stride, unsigned threads) {
  threads = static_cast<unsigned>(std::min<std::size_t>(threads, matchers.size()));
  if (threads < 2) {
    for (std::size_t i = 0; i < matchers.size(); ++i) matchers[i]->fill(rows + i * stride);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> errors(matchers.size());
  const auto work = [&] {
    for (std::size_t i = next.fetch_add(1); i < matchers.size(); i = next.fetch_add(1)) {
      try {
        matchers[i]->fill(rows + i * stride);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> pool;
    for (unsigned i = 1; i < threads; ++i) pool.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace detent
