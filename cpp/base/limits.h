// Limits and Meter: limits on the states, bytes and work of a guide, and cancellation. Work is counted in steps, never
// in time, so that a limit is reached at the same point on every machine.
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
  // Whether decoding follows and needs room: then compilation, up to Meter::begin_decoding(), may use only a quarter of
  // the states and bytes.
  bool leaves_room = false;

  // Limits on the work of a compilation for decoding, about a second; and on the mask of each of the first steps, which
  // compilation tries: an eighth of a second.
  std::int64_t compile_steps() const { return std::min(steps, std::max<std::int64_t>(1'000'000, steps / 5)); }
  std::int64_t trial_steps() const { return std::max<std::int64_t>(250'000, steps / 40); }
  // The limit on the work of one question about a language, over all its calls: about a second with default limits.
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

  // Starts a new call: resets the steps, not the bytes and states. Throws `limit` where all calls together have reached
  // their limit (limit_total), and `cancelled` where the flag is set.
  void restart() {
    check_cancelled();
    if (steps_left_ != kNoTotal) {
      steps_left_ -= steps_;
      if (steps_left_ < 0) throw_total();
    }
    steps_ = 0;
    max_steps_ = limits_.steps;
    next_poll_ = kPollInterval;
  }

  // From here on, calls end where this flag is set; null for none.
  void set_cancel_flag(std::shared_ptr<const CancelFlag> flag) { cancel_ = std::move(flag); }

  // Ends this call after `steps` steps, where its limit is not smaller. The error is that of Limits::steps ("work").
  void limit_call(std::int64_t steps) {
    max_steps_ = std::min(max_steps_, steps);
    next_poll_ = std::min(next_poll_, max_steps_);
  }

  // From this call on, all calls together may take `steps` steps; kNoTotal stands for no limit.
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

  // Whether begin_decoding() is still to come, so that room for decoding is left.
  bool is_compiling() const { return max_states_ != limits_.states || max_bytes_ != limits_.memory_bytes; }
  // From here on, all states and bytes may be used (Limits::leaves_room).
  void begin_decoding() {
    max_states_ = limits_.states;
    max_bytes_ = limits_.memory_bytes;
    limit_total(kNoTotal);
  }

  // Makes the present bytes and states the base. is_full() returns whether half of the room beyond the base is used.
  void mark_base() {
    base_bytes_ = bytes_;
    base_states_ = states_;
  }
  // Counts the bytes allocated since bytes() was `before` as part of the base.
  void extend_base(std::int64_t before) { base_bytes_ += bytes_ - before; }
  bool is_full() const {
    return is_full(bytes_, base_bytes_, limits_.memory_bytes) || is_full(states_, base_states_, limits_.states);
  }
  // Whether so much lies beyond the base that a call which reached a limit may succeed in a new automaton.
  bool has_grown() const {
    return bytes_ - base_bytes_ > limits_.memory_bytes / 16 || states_ - base_states_ > limits_.states / 16;
  }
  const Limits& limits() const { return limits_; }
  std::int64_t steps() const { return steps_; }  // of the current call
  std::int64_t bytes() const { return bytes_; }
  std::int64_t states() const { return states_; }

 private:
  static constexpr std::int64_t kPollInterval = 4096;
  // Compilation may use this much of the limits even if it is more than a quarter of them.
  static constexpr std::int64_t kFewStates = 20'000;
  static constexpr std::int64_t kFewBytes = 16 << 20;

  static std::int64_t share(const Limits& limits, std::int64_t limit, std::int64_t few) {
    return limits.leaves_room ? std::max(limit / 4, std::min(limit, few)) : limit;
  }

  static bool is_full(std::int64_t used, std::int64_t base, std::int64_t limit) {
    return used - base > std::max((limit - base) / 2, limit / 16);
  }

  void poll() {
    next_poll_ = std::min(steps_ + kPollInterval, std::max(steps_ + 1, max_steps_));
    if (steps_ > max_steps_) throw Error(ErrorKind::limit, "work", steps_, max_steps_);
    if (steps_ > steps_left_) throw_total();
    check_cancelled();
  }

  void check_cancelled() const {
    if (cancel_ && cancel_->load(std::memory_order_relaxed)) throw Error(ErrorKind::cancelled, "work");
  }

  [[noreturn]] void throw_total() const { throw Error(ErrorKind::limit, "compiled_work", max_total_ + 1, max_total_); }

  Limits limits_;
  std::int64_t max_states_;
  std::int64_t max_bytes_;
  std::int64_t max_total_ = kNoTotal;
  std::int64_t steps_left_ = kNoTotal;  // before this call
  std::int64_t steps_ = 0;
  std::int64_t max_steps_ = INT64_MAX;  // of this call
  std::int64_t next_poll_ = kPollInterval;
  std::int64_t bytes_ = 0;
  std::int64_t states_ = 0;
  std::int64_t base_bytes_ = 0;
  std::int64_t base_states_ = 0;
  std::shared_ptr<const CancelFlag> cancel_;
};

}  // namespace detent
