#include "runtime/batch.h"

#include <vector>

#include "runtime/parallel.h"

namespace detent {

void fill_batch(std::span<Matcher* const> matchers, std::uint32_t* rows, std::size_t stride, unsigned threads) {
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < matchers.size(); ++i) {
    if (!matchers[i]->try_fill_cached(rows + i * stride)) others.push_back(i);
  }
  in_parallel(others.size(), threads, [&](std::size_t k) { matchers[others[k]]->fill(rows + others[k] * stride); });
}

}  // namespace detent
