// Error: what the core throws. It carries a kind, a subject and numbers; Python writes the sentence
// (detent.core_errors.from_core).
#pragma once

#include <cstdint>
#include <exception>

namespace detent {

enum class ErrorKind : std::uint8_t { argument, unsupported, empty, limit, cancelled, busy, state, vocabulary };

class Error : public std::exception {
 public:
  // `subject` is a string literal that names what went wrong, such as "states"; `given` and `limit` are its numbers.
  Error(ErrorKind kind, const char* subject, std::int64_t given = 0, std::int64_t limit = 0)
      : kind_(kind), subject_(subject), given_(given), limit_(limit) {}

  ErrorKind kind() const { return kind_; }
  const char* subject() const { return subject_; }
  std::int64_t given() const { return given_; }
  std::int64_t limit() const { return limit_; }
  const char* what() const noexcept override { return subject_; }

 private:
  ErrorKind kind_;
  const char* subject_;
  std::int64_t given_;
  std::int64_t limit_;
};

}  // namespace detent
