// Hash: 128-bit structural hashes, seeded once a process so that nobody can prepare collisions.
#pragma once

#include <cstdint>

namespace detent {

struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Hash128&) const = default;
};

// Drawn from the system's entropy at the first call.
std::uint64_t process_seed();

inline std::uint64_t mix(std::uint64_t x, std::uint64_t key) {
  const auto product = static_cast<unsigned __int128>(x ^ key) * 0x9E3779B97F4A7C15ULL;
  std::uint64_t y = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  y ^= y >> 29;
  y *= 0xBF58476D1CE4E5B9ULL;
  return y ^ (y >> 32);
}

inline Hash128 mix(Hash128 h, std::uint64_t value) {
  const std::uint64_t seed = process_seed();
  return {mix(h.low + value, seed), mix(h.high ^ (value * 0xD6E8FEB86659FD93ULL), ~seed)};
}

inline Hash128 mix(Hash128 h, Hash128 value) { return mix(mix(h, value.low), value.high); }

// Order-independent: for the operands of unions and intersections.
inline Hash128 sum(Hash128 x, Hash128 y) { return {x.low + y.low, x.high + y.high}; }

}  // namespace detent
