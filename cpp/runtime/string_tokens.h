// StringTokens: the tokens that a state inside a JSON string allows, in groups that lead to one state each.
//
// A walk over the vocabulary would visit most of it: where the string has at most n characters, each number of
// characters is another state. But the state after a token depends only on how many whole characters it has and on the
// bytes of a last character that is cut off (vocab/string_lengths.h). Tokens that leave the string are those of its
// slice: the continuation decides them by their suffixes. So few states are looked at, and no trie but that of
// suffixes.
//
// Where the string excludes a few texts, or the state has other alternatives, the tokens with which these may begin are
// groups by themselves. Case: the name of a member, a declared one or any other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/mask_computer.h"
#include "runtime/trie_walk.h"
#include "vocab/vocabulary.h"

namespace detent {

class StringTokens {
 public:
  // Nothing where no alternative of `state`, or more than one, is a JSON string, each of whose characters is from one
  // set, with a continuation; or where some bytes are no tokens. Cost: a walk for the other alternatives.
  static std::optional<StringTokens> find(const Vocabulary& vocabulary, Automaton& automaton, MaskComputer& masks,
                                          ExprId state);

  // Tokens that lead to one state: `id` alone, or those of one of the other members.
  struct Group {
    std::uint32_t id;                                // one of them
    std::uint32_t fewest = 0, most = 0;              // all of so many whole characters
    std::span<const StringLengths::Open> open = {};  // those that the string allows
    bool closes = false;                             // all that end with the quotation mark
    bool is_single() const { return fewest == 0 && open.empty() && !closes; }
  };
  // Calls visit(group) for each group: those inside the string, first those with the fewest characters, then the tokens
  // with which the excluded texts and other alternatives begin. If a call returns true, leaves out the groups that
  // differ from this one only in more characters.
  template <class Visit>
  void each_group(Visit visit) const {
    visit_whole(visit);
    visit_open(visit);
    const auto closing = std::ranges::find_if(lengths().closing(), [this](const auto& each) { return has(each.id); });
    if (closing != lengths().closing().end()) visit(Group{.id = closing->id, .closes = true});
    for (std::uint32_t id : others_) visit(Group{.id = id});
  }
  // Calls visit(id, state) for each token that leaves the string before its last byte, unless it is one of the others.
  template <class Visit>
  void each_leaving(Automaton& automaton, Visit visit) const {
    walk_suffixes(leaving(), *vocabulary_, automaton, continuation_, [&](std::uint32_t id, ExprId next) {
      if (!is_other(id)) visit(id, next);
    });
  }
  // Calls act(id) for each token of a group.
  template <class Act>
  void each_id(const Group& group, Act act) const {
    if (group.is_single()) return act(group.id);
    for (std::uint32_t characters = group.fewest; characters > 0 && characters <= group.most; ++characters) {
      lengths().any_whole(characters, row_, [&act](std::uint32_t id) {
        act(id);
        return false;
      });
    }
    for (const StringLengths::Open& each : group.open) {
      if (has(each.id)) act(each.id);
    }
    if (!group.closes) return;
    for (const StringLengths::Closing& each : lengths().closing()) {
      if (has(each.id)) act(each.id);
    }
  }

  ExprId continuation() const { return continuation_; }
  // The tokens that leave the string before their last byte.
  const ContextDependentTokens& leaving() const { return *mask_->context_dependent(); }

 private:
  StringTokens(const Vocabulary& vocabulary, ExprId continuation, std::shared_ptr<const Mask> mask, bool is_bounded,
               std::vector<std::uint32_t> others);
  bool is_other(std::uint32_t id) const { return std::ranges::binary_search(others_, id); }
  const StringLengths& lengths() const { return vocabulary_->string_lengths(); }
  bool has(std::uint32_t id) const { return (row_[id >> 5] >> (id & 31) & 1) != 0; }

  template <class Visit>
  void visit_whole(Visit visit) const {
    const std::uint32_t longest = lengths().most_characters();
    for (std::uint32_t characters = 1; characters <= longest; ++characters) {
      std::uint32_t first = 0;
      const bool has_any = lengths().any_whole(characters, row_, [&first](std::uint32_t id) {
        first = id;
        return true;
      });
      if (!has_any) continue;
      if (visit(Group{.id = first, .fewest = characters, .most = is_bounded_ ? characters : longest})) return;
      if (!is_bounded_) return;
    }
  }
  template <class Visit>
  void visit_open(Visit visit) const {
    const std::span<const StringLengths::Open> open = lengths().open();
    const auto is_same = [this](const StringLengths::Open& one, const StringLengths::Open& other) {
      return one.part == other.part && (!is_bounded_ || one.characters == other.characters);
    };
    for (std::size_t i = 0; i < open.size();) {
      std::size_t end = i, first = open.size();
      for (; end < open.size() && is_same(open[i], open[end]); ++end) {
        if (first == open.size() && has(open[end].id)) first = end;
      }
      const bool skips = first < open.size() && visit(Group{.id = open[first].id, .open = open.subspan(i, end - i)});
      while (skips && end < open.size() && open[end].part == open[i].part) ++end;
      i = end;
    }
  }

  const Vocabulary* vocabulary_;
  ExprId continuation_;
  std::shared_ptr<const Mask> mask_;   // of the slice
  bool is_bounded_;                    // whether the number of characters matters
  std::vector<std::uint32_t> others_;  // ascending
  std::vector<std::uint32_t> row_;     // the tokens inside the string, but for the others
};

}  // namespace detent
