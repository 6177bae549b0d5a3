// Limits and Meter: the cost that a guide may cause, counted in work and bytes (never in time), and cancellation.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/error.h"

namespace detent {

struct Limits {
  std::int64_t states = 250'000;
  std::int64_t memory_bytes = 256 << 20;
  std::int64_t steps = 20'000'000;
  // Whether decoding follows. It needs room: until Meter::begin_decoding(), a quarter of the states and bytes may
  // be used.
  bool leaves_room = false;

  // What compiling for decoding may take, and the mask of one of the first steps that it tries: about a second, and an
  // eighth of one.
  std::int64_t compile_steps() const { return std::min(steps, std::max<std::int64_t>(1'000'000, steps / 5)); }
  std::int64_t trial_steps() const { return std::max<std::int64_t>(250'000, steps / 40); }
  // What one question about a language may take, however many calls it makes: about a second under ordinary limits.
  std::int64_t question_steps() const { return std::min(steps, std::max<std::int64_t>(2'000'000, steps / 10)); }
};

// Set from any thread; a Meter polls it every kPollInterval steps.
using CancelFlag = std::atomic<bool>;

// Counts the work of one call, and the bytes and states of an automaton. Guarded by the automaton's lock.
class Meter {
 public:
  explicit Meter(const Limits& limits)
      : limits_(limits),
        max_states_(share(limits, limits.states, kFewStates)),
        max_bytes_(share(limits, limits.memory_bytes, kFewBytes)) {}

  // Starts a new call: resets the steps, not the bytes and states. Throws `limit` where all calls together have taken
  // the steps that they may (limit_total).
  void restart(std::shared_ptr<const CancelFlag> cancel = nullptr) {
    if (steps_left_ != kNoTotal) {
      steps_left_ -= steps_;
      if (steps_left_ < 0) throw_total();
    }
    steps_ = 0;
    next_poll_ = kPollInterval;
    cancel_ = std::move(cancel);
  }

  // From here on, all calls together may take so many steps: as many as they like if this is kNoTotal.
  static constexpr std::int64_t kNoTotal = INT64_MAX;
  void limit_total(std::int64_t steps) {
    steps_left_ = max_total_ = steps;
    steps_ = 0;
  }

  void step(std::int64_t count = 1) {
    steps_ += count;
    if (steps_ >= next_poll_) poll();
  }

  // Call before the allocation. A negative count returns bytes.
  void allocate(std::int64_t bytes) {
    bytes_ += bytes;
    if (bytes_ > max_bytes_) {
      const std::int64_t asked = bytes_;
      bytes_ -= bytes;
      throw Error(ErrorKind::limit, asked > limits_.memory_bytes ? "memory_bytes" : "compiled_bytes", asked,
                  limits_.memory_bytes);
    }
  }

  void release(std::int64_t bytes) noexcept { bytes_ -= bytes; }

  // Checks memory that a search holds temporarily.
  void check_headroom(std::int64_t bytes) const {
    if (bytes_ + bytes > limits_.memory_bytes)
      throw Error(ErrorKind::limit, "memory_bytes", bytes_ + bytes, limits_.memory_bytes);
  }

  void add_state() {
    if (states_ >= max_states_) {
      throw Error(ErrorKind::limit, states_ >= limits_.states ? "states" : "compiled_states", states_ + 1,
                  limits_.states);
    }
    ++states_;
  }

  // Whether room for decoding is to be left.
  bool is_compiling() const { return max_states_ != limits_.states || max_bytes_ != limits_.memory_bytes; }
  // From here on, all states and bytes may be used (Limits::leaves_room).
  void begin_decoding() {
    max_states_ = limits_.states;
    max_bytes_ = limits_.memory_bytes;
    limit_total(kNoTotal);
  }

  // Starts the count of what decoding adds; is_full() tells when half of the room that was left then is used.
  void mark_base() {
    base_bytes_ = bytes_;
    base_states_ = states_;
  }
  // Adds what was allocated since `bytes()` was `before` to what does not count.
  void extend_base(std::int64_t before) { base_bytes_ += bytes_ - before; }
  bool is_full() const {
    return is_full(bytes_, base_bytes_, limits_.memory_bytes) || is_full(states_, base_states_, limits_.states);
  }
  // Whether decoding has added so much that memory without it helps a call that has reached a limit.
  bool has_grown() const {
    return bytes_ - base_bytes_ > limits_.memory_bytes / 16 || states_ - base_states_ > limits_.states / 16;
  }
  const Limits& limits() const { return limits_; }
  std::int64_t steps() const { return steps_; }  // of the current call
  std::int64_t bytes() const { return bytes_; }
  std::int64_t states() const { return states_; }

 private:
  static constexpr std::int64_t kPollInterval = 4096;
  // So much may be compiled under any limits.
  static constexpr std::int64_t kFewStates = 20'000;
  static constexpr std::int64_t kFewBytes = 16 << 20;

  static std::int64_t share(const Limits& limits, std::int64_t limit, std::int64_t few) {
    return limits.leaves_room ? std::max(limit / 4, std::min(limit, few)) : limit;
  }

  static bool is_full(std::int64_t used, std::int64_t base, std::int64_t limit) {
    return used - base > std::max((limit - base) / 2, limit / 16);
  }

  void poll() {
    next_poll_ = steps_ + kPollInterval;
    if (steps_ > limits_.steps) throw Error(ErrorKind::limit, "work", steps_, limits_.steps);
    if (steps_ > steps_left_) throw_total();
    if (cancel_ && cancel_->load(std::memory_order_relaxed)) throw Error(ErrorKind::cancelled, "work");
  }

  [[noreturn]] void throw_total() const { throw Error(ErrorKind::limit, "compiled_work", max_total_ + 1, max_total_); }

  Limits limits_;
  std::int64_t max_states_;
  std::int64_t max_bytes_;
  std::int64_t max_total_ = kNoTotal;
  std::int64_t steps_left_ = kNoTotal;  // before this call
  std::int64_t steps_ = 0;
  std::int64_t next_poll_ = kPollInterval;
  std::int64_t bytes_ = 0;
  std::int64_t states_ = 0;
  std::int64_t base_bytes_ = 0;
  std::int64_t base_states_ = 0;
  std::shared_ptr<const CancelFlag> cancel_;
};

}  // namespace detent
