// ShortestKeys: some shortest texts of an expression, each of another JSON value.
#pragma once

#include <cstdint>
#include <map>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "automaton/liveness.h"
#include "base/limits.h"
#include "expr/derivative.h"
#include "expr/distinct.h"
#include "expr/expr_set.h"

namespace detent {

using TextsOfKeys = std::map<std::string, std::vector<std::string>>;  // texts by JsonValue::key()

// Enumerates texts by their lengths: the largest length that a state on the way through the text promises. Of several
// bytes that lead to one state, the next one is added when the text of the one before is visited.
class ShortestKeys {
 public:
  ShortestKeys(ExprSet& exprs, Derivatives& derivatives, Liveness& liveness, Meter& meter)
      : exprs_(exprs), derivatives_(derivatives), liveness_(liveness), meter_(meter) {}

  // Finds up to `count` keys, and at least `least` where there are as many.
  void find(std::size_t least, std::size_t count, DistinctKeys& list);
  // Where the lengths are far above those of the shortest texts, the search above goes deep. This one goes wide: all
  // texts of one length, then the longer ones.
  void find_short_texts(std::size_t count, DistinctKeys& list);

  // The texts that were found; those of all keys where the list has all keys.
  const TextsOfKeys& texts_of_keys() const { return texts_of_keys_; }

 private:
  // The shortest completed text first; among equals the one that has the least to come.
  struct Entry {
    std::uint32_t length;
    std::size_t read, index;
    bool operator<(const Entry& other) const {
      return std::tuple(other.length, read, other.index) < std::tuple(length, other.read, index);
    }
  };

  // `before` is the state before the last byte, where other bytes that lead to the same state are still to be added.
  void add(std::string text, ExprId state, std::uint32_t length_before, ExprId before = ExprSet::kEmpty);
  void add_next_byte(std::size_t index);
  // With `by_state`, only the first byte that leads to a state is added.
  void visit(std::size_t index, std::uint32_t length, DistinctKeys& list, bool by_state);
  void expand(const std::string& text, ExprId state, std::uint32_t length, bool by_state);

  ExprSet& exprs_;
  Derivatives& derivatives_;
  Liveness& liveness_;
  Meter& meter_;
  std::int64_t held_ = 0;
  std::vector<std::pair<std::string, ExprId>> texts_;
  std::vector<std::uint32_t> lengths_;  // of the texts
  std::vector<ExprId> before_;          // see `add`
  TextsOfKeys texts_of_keys_;
  std::priority_queue<Entry> pending_;
};

}  // namespace detent
