#include "base/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace detent {

// Four lanes; lane i takes each word of eight bytes whose index is i modulo 4. For a fixed word, a step is a bijection
// of the lane, and the other way round. So a change of one word always changes the final value of its lane.
std::array<std::uint64_t, 2> checksum(std::span<const std::uint8_t> bytes) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
  std::array<std::uint64_t, 4> lanes{1, 2, 3, 4};
  const auto take = [&](std::uint64_t& lane, std::uint64_t word) { lane = std::rotl((lane ^ word) * kOdd, 29); };
  std::size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32) {
    std::array<std::uint64_t, 4> words;
    std::memcpy(words.data(), bytes.data() + at, 32);
    for (std::size_t lane = 0; lane < 4; ++lane) take(lanes[lane], words[lane]);
  }
  for (std::size_t lane = 0; at < bytes.size(); at += 8, ++lane) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
    take(lanes[lane], word);
  }
  take(lanes[0], bytes.size());
  take(lanes[1], lanes[0]);
  take(lanes[3], lanes[2]);
  take(lanes[3], lanes[1]);
  take(lanes[1], lanes[3]);
  return {lanes[1], lanes[3]};
}

}  // namespace detent
