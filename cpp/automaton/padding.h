// Padding: bytes that make a condition forget what was read.
//
// `~(.* a .{30} b .*)` has 2^31 states, and in each of them a text may end. But a JSON text must go on with
// `","bio":...`, of which the condition may refuse the `b`. A search for a completion of each state would take seconds.
//
// Idea: the letter x, read 31 times, ends all partial matches. Write the excluded texts as a union of sequences.
//   1. Texts lead to few sequences, here 32. What is excluded in any state is a union of some of them.
//   2. Reading x leads all of them together to fewer and fewer sequences; after 31 times to the rest,
//      `.* a .{30} b .*`.
//   3. Derivatives are monotone: after 31 times x, each state excludes at most the texts of the rest.
// So a text of g that the rest does not exclude, with 31 times x before it, completes `g & condition` for each
// condition that is live, where x leads g back to a superset of itself.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/byte_set.h"
#include "expr/derivative.h"
#include "expr/expr_set.h"

namespace detent {

class Paddings {
 public:
  Paddings(ExprSet& exprs, Derivatives& derivatives, Meter& meter)
      : exprs_(exprs), derivatives_(derivatives), meter_(meter) {}

  struct Padding {
    std::uint8_t byte = 0;     // that is repeated
    std::uint32_t length = 0;  // how often
    ExprId rest;               // the condition after it excludes at most what this one does
    ByteSet safe;              // of the bytes that are asked for: those after which no text is excluded for good
  };

  using Sequences = std::vector<ExprId>;
  // Adds the sequences whose union is `texts`; returns false if it contains all texts.
  static bool add(ExprSet& exprs, ExprId texts, Sequences& sequences, int depth = 0);
  // The padding of a condition that excludes some sequences, before and after texts over `bytes`. Nothing where their
  // form shows none: they count nothing, or lead to many sequences.
  // Cost: at the first visit a row for each sequence; then linear in their number.
  std::optional<Padding> find(const Sequences& excluded, const ByteSet& bytes);

 private:
  // The sequences to which texts over some bytes lead from each of them.
  struct Family {
    ByteSet bytes;
    Sequences all;
    std::optional<Padding> padding;
  };

  bool add(ExprId texts, Sequences& sequences) { return add(exprs_, texts, sequences); }
  const Family& family_of(const Sequences& sequences, const ByteSet& bytes);
  const Family& find_family(const Sequences& sequences, const ByteSet& bytes);
  // Adds to `all` the sequences to which texts over some bytes lead, and removes from `safe` the bytes after which all
  // texts are excluded. Returns false where there are more than `most`.
  bool close(const Sequences& sequences, const ByteSet& bytes, std::size_t most, Sequences& all, ByteSet& safe);
  std::optional<Padding> find_padding(const Family& family, const ByteSet& safe);
  // Reads a byte from all sequences of a family until the same ones are left; returns how often.
  std::uint32_t pad(const Family& family, std::uint8_t byte, Sequences& rest);

  ExprSet& exprs_;
  Derivatives& derivatives_;
  Meter& meter_;
  std::deque<Family> families_;
  std::unordered_map<std::uint32_t, const Family*> family_of_;  // by sequence: the last one that contains it
};

}  // namespace detent
