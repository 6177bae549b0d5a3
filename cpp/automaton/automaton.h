// Automaton: a language as a deterministic automaton over bytes, built lazily.
//
// A state is an expression id; state 0 is dead. A transition row has one successor for each byte class, and published
// rows contain live states only, so that following rows never leads to a dead end. Following published rows takes no
// lock; building one takes the automaton's lock. A limit that is reached leaves the automaton unchanged.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automaton/alternatives.h"
#include "automaton/completion_paths.h"
#include "automaton/live_loops.h"
#include "automaton/liveness.h"
#include "base/fork_guard.h"
#include "base/limits.h"
#include "base/stable_vector.h"
#include "expr/derivative.h"
#include "expr/expr_set.h"
#include "expr/node.h"

namespace detent {

struct CompiledNodes;
struct SharedPart;

class Automaton {
 public:
  // What a vocabulary can write: strings over `alphabet`, the bytes that occur in its tokens. Where some of these bytes
  // are no tokens by themselves, `texts` is the language of all concatenations of tokens, and `token_bytes` are the
  // bytes that are tokens; otherwise `texts` is null.
  struct Writable {
    ByteSet alphabet = ByteSet::all();
    const NodeRef* texts = nullptr;
    ByteSet token_bytes = ByteSet::all();
  };
  // The automaton of the strings of `root` over the alphabet. `horizon` is the length of the longest token in bytes.
  Automaton(const NodeRef& root, const Writable& writable, std::uint32_t horizon, const Limits& limits,
            std::shared_ptr<const CancelFlag> cancel);
  // The same automaton. It starts from a copy of the expressions of `known`, and writes the expression of each node to
  // `compiled`; both may be null.
  Automaton(const NodeRef& root, const Writable& writable, std::uint32_t horizon, const Limits& limits,
            std::shared_ptr<const CancelFlag> cancel, const std::shared_ptr<const SharedPart>& known,
            CompiledNodes* compiled);
  // An automaton of the language of `other`, without the states that decoding has added there. The states that
  // compilation made keep their ids. Costs a copy of these.
  explicit Automaton(Automaton& other);
  // Replaces states of `other`, an automaton of the same language, by the equal states of this one.
  void adopt(Automaton& other, std::span<ExprId> states);
  // Ends compiling, which must leave room for decoding (Limits::leaves_room).
  void begin_decoding() { meter_.begin_decoding(); }
  // Call once the language is compiled: its flag cancels no mask of decoding.
  void drop_cancel_flag() { meter_.set_cancel_flag(nullptr); }
  // From this call on, all work together may take at most `steps` (Meter::limit_total).
  void limit_work(std::int64_t steps) { meter_.limit_total(steps); }
  const Limits& limits() const { return meter_.limits(); }
  bool is_compiling() const { return meter_.is_compiling(); }
  // Whether the language, if it is compiled for decoding, has intersections of which two conjuncts may match anywhere
  // (conjuncts.h): of these, each entry of a row may take a search.
  bool has_searches() const { return has_searches_; }
  // Whether decoding has added so many states that a new automaton should take over; no lock.
  bool is_full() const { return is_full_.load(std::memory_order_relaxed); }
  bool has_grown();

  ExprId start() const { return start_; }  // dead if the language is empty
  const std::array<std::uint8_t, 256>& class_of() const { return derivatives_.class_of(); }
  std::uint32_t class_count() const { return derivatives_.class_count(); }

  // The next state for each byte class. Throws `limit` ("work") where computing it takes more than `max_steps`.
  const ExprId* row(ExprId state, std::int64_t max_steps = INT64_MAX) {
    const ExprId* published = slots_[state.value].row.load(std::memory_order_acquire);
    return published ? published : publish(state, max_steps);
  }

  // The ASCII bytes after which the automaton is in `state` again, and the lead bytes all of whose characters lead
  // back.
  const ByteSet& self_loop_bytes(ExprId state) {
    const ByteSet* known = slots_[state.value].self_loop_bytes.load(std::memory_order_acquire);
    return known ? *known : find_self_loop_bytes(state);
  }

  // Bytes of a loop (LiveLoops): after each text of whole characters over them, the state is live.
  struct LiveBytes {
    ByteSet bytes;
    std::uint32_t completion_bound;
    bool operator<(const LiveBytes& other) const {
      return std::tie(bytes.words(), completion_bound) < std::tie(other.bytes.words(), other.completion_bound);
    }
  };
  const LiveBytes& live_bytes(ExprId state) {
    const LiveBytes* known = slots_[state.value].live_bytes.load(std::memory_order_acquire);
    return known ? *known : find_live_bytes(state);
  }

  // What a padding shows of the texts of `texts` that are in none of the sequences `excluded`.
  LiveLoops::Padded padded(ExprId texts, const std::vector<ExprId>& excluded);

  // The one state after every character with this lead byte, or after this ASCII byte; dead if there is no such state.
  ExprId after_character(ExprId state, std::uint8_t lead);

  // The state after `text`; dead if no text of the language continues it. Linear in the text. Lists of distinct items
  // need it: a transition row does not depend on the text of the item that is being read, and this function does.
  ExprId advance(ExprId state, std::string_view text);
  bool has_lists() const { return has_lists_; }  // of distinct items (expr/distinct.h)
  // A state without the text of the item that is being read. Rows and masks are computed from this state.
  ExprId without_text(ExprId state) const {
    return has_lists_ && exprs_[state].op == Op::remembered ? exprs_[state].part() : state;
  }
  // Whether a list item is being read (open), or was read to its end (closed), whose text the state does not hold. For
  // some texts of the item, a state with a closed item has no completion: the item repeats an earlier one.
  bool has_open_item(ExprId state) const { return exprs_[state].has_open_item; }
  bool has_closed_item(ExprId state) const { return exprs_[state].has_closed_item; }
  // Whether a list with a closed item may have used up its keys, so that no other item can follow.
  bool may_lack_keys(ExprId state);
  // The text of the item that is being read; empty where there is none.
  std::string item(ExprId state);
  // That text after further text, from a state without it (without_text); nothing where the item ends or the text dies.
  std::optional<std::string> item_after(ExprId any_text, std::string item, std::string_view text);
  // Whether all open items belong to one list; false where lists are nested in the items of others.
  bool has_one_open_list(ExprId any_text);
  // The state `any_text`, which lacks the text of the item that is being read, together with this text.
  ExprId with_item(ExprId any_text, std::string_view item);
  // Whether an alternative of a state is inside a JSON string of infinitely many texts: then the string can still
  // differ from each earlier item.
  bool is_in_free_string(ExprId state);

  // The live states whose union is the live `state`, ascending; and each with its transitions (alternatives.h).
  std::vector<AlternativeId> split(ExprId state);
  // The alternative that is nearest to acceptance by its bound, and a path from one along falling bounds
  // (Alternatives).
  AlternativeId nearest_alternative(ExprId state);
  std::optional<AlternativePath> descend(AlternativeId from, std::span<const Letter> letters,
                                         const std::function<bool(AlternativeId)>& is_end, std::int64_t max_steps);
  // Drops each alternative whose language is contained in that of another one of the set, as far as the forms show it.
  void drop_included(std::vector<AlternativeId>& set);
  // The same where two differ in their first part only; `from` counts as one of the set (Alternatives).
  void drop_included_heads(AlternativeId from, std::vector<AlternativeId>& set);
  // A bound, in bytes, on the shortest completion after any text inside the JSON string that the live `state` begins
  // with. Nothing where there is no such string, or its form does not show that each of these states is live.
  std::optional<std::uint32_t> bound_inside_string(ExprId state);
  // The same bound for the texts inside a JSON string, before they are escaped: after each number of whole characters.
  std::optional<std::uint32_t> bound_after_characters(ExprId texts);
  // Throws `limit` ("work") where the first call for an alternative takes more than `max_steps`.
  const Alternative& alternative(AlternativeId id, std::int64_t max_steps = INT64_MAX) {
    const Alternative* known = alternatives_.find(id);
    return known ? *known : expand(id, max_steps);
  }
  // The loop of an alternative; null until make_loop() was called.
  const AlternativeLoop* known_loop(AlternativeId id) const { return alternatives_.find_loop(id); }
  const AlternativeLoop& make_loop(AlternativeId id);

  const Hash128& hash(ExprId state) const { return exprs_[state].hash; }
  bool has_rule(ExprId state) const { return exprs_[state].has_rule; }
  bool is_intersection(ExprId state) const { return exprs_[state].op == Op::intersection; }
  bool accepting(ExprId state) const { return exprs_[state].nullable; }
  // A lower bound on the length of the strings of a state: the exact minimum where the form shows it, otherwise 0.
  std::uint32_t least_length(ExprId state) const { return exprs_[state].exact_length ? exprs_[state].min_length : 0; }
  // The same as far as the form shows it: it orders searches.
  std::uint32_t least_length_guess(ExprId state) const { return exprs_[state].min_length; }
  // Whether the form shows that every string of the state is valid UTF-8.
  bool is_text(ExprId state);

  // Whether the live state `state` has a completion that is a concatenation of tokens. The form of the state shows it
  // if each byte is a token, or if some completion avoids the other bytes. Otherwise it is searched, and remembered.
  bool is_tokenizable(ExprId state) {
    if (tokenizable_ == ExprSet::kEmpty || exprs_[state].completes_by_bytes) return true;
    const Verdict known = slots_[state.value].is_tokenizable.load(std::memory_order_relaxed);
    return known == Verdict::unknown ? search_tokenizable(state) : known == Verdict::yes;
  }
  // Whether the form shows that some completion has only bytes that are tokens.
  bool completes_by_bytes(ExprId state) const { return exprs_[state].completes_by_bytes; }
  // Whether `state` and each live state that follows it are tokenizable, by their form.
  bool stays_tokenizable(ExprId state) const {
    const Expr& expr = exprs_[state];
    return tokenizable_ == ExprSet::kEmpty || (expr.completes_by_bytes && expr.residuals_complete_by_bytes);
  }

  // Returns a state that allows the same strings of up to that many bytes, with all larger counts clamped.
  // Horizon::token is the longest token; most tokens are shorter than kNear (docs/algorithms/horizon.md).
  enum class Horizon : std::uint8_t { token, near };
  static constexpr std::uint32_t kNear = 32;
  static constexpr std::size_t kLongestCompletion = 1 << 24;  // bytes
  ExprId clamp_to_horizon(ExprId state, Horizon horizon) {
    const std::uint32_t known = slots_[state.value].clamped[static_cast<int>(horizon)].load(std::memory_order_acquire);
    return known ? ExprId{known} : clamp(state, horizon);
  }
  // Whether clamping to Horizon::token keeps the completion bounds of the states after each token.
  bool clamping_keeps_lengths(ExprId state) const { return exprs_[state].largest_minimum <= horizon_; }

  // Whether all strings of a state begin with a literal of two bytes or more; `after_literal` returns the state after
  // it, and the literal in `text`.
  bool begins_with_literal(ExprId state) const {
    const Expr& expr = exprs_[state];
    return expr.op == Op::text || (expr.op == Op::concat && exprs_[expr.first()].op == Op::text);
  }
  ExprId after_literal(ExprId state, std::string& text);

  // The first step of some completion of a live state that does not accept; the steps from there lead to acceptance.
  CompletionPaths::Step completion_step(ExprId state);
  // States whose completions, one after another, are one of a live state, too (CompletionPaths::parts).
  std::vector<ExprId> completion_parts(ExprId state);
  // The shortest string that leads from a live `state` to acceptance; the smallest of several. Throws `limit`
  // ("question_work") where the search for it takes too long.
  std::string shortest_completion(ExprId state);
  // Some string that leads from a live `state` to acceptance, found along known lengths instead of a search for the
  // shortest one. Nothing where a state without the text of its item (without_text) reaches the end of the item.
  std::optional<std::string> some_completion(ExprId state);
  // Upper bounds on the length of the shortest completion: of `state`, and of every state that follows it (UINT32_MAX:
  // unknown).
  std::uint32_t completion_bound(ExprId state) {
    const std::optional<std::uint32_t> by_form = liveness_.length_by_form(state);
    return by_form ? *by_form : search_completion_bound(state);
  }
  std::uint32_t max_completion_bound(ExprId state) const {
    return exprs_[state].nonempty ? exprs_[state].max_completion_bound : UINT32_MAX;
  }

  // All texts that a JSON string may contain, if the language has JSON strings; else the empty language.
  ExprId all_texts() const { return all_texts_; }

  // Calls edit(exprs, derivatives, liveness) under the automaton's lock, as one unit of work of at most `max_steps`.
  // Expressions that `edit` builds become states of the automaton.
  template <class Edit>
  auto edit(Edit edit, std::int64_t max_steps = INT64_MAX) {
    const ForkGuard guard;
    const std::lock_guard lock(mutex_);
    meter_.restart();
    meter_.limit_call(max_steps);
    try {
      auto result = edit(exprs_, derivatives_, liveness_);
      note_work();
      add_state_slots();
      return result;
    } catch (...) {
      note_work();
      throw;
    }
  }

  // Counts work that was done outside of the automaton.
  void add_work(std::int64_t steps);
  // The work that was done so far, in steps of the meter: some 0.1 us each. Takes no lock.
  std::int64_t work() const { return work_.load(std::memory_order_relaxed); }
  // The number of expressions that decoding has added, here and in the automata before this one.
  std::size_t added_size() {
    const ForkGuard guard;
    const std::lock_guard lock(mutex_);
    return added_before_ + exprs_.size() - compiled_.exprs;
  }
  std::int64_t state_count();
  std::int64_t memory_bytes();

 private:
  enum class Verdict : std::uint8_t { unknown, yes, no };
  // What is known of a state, for readers without a lock.
  struct Slot {
    std::atomic<const ExprId*> row;
    std::atomic<const ByteSet*> self_loop_bytes;
    std::atomic<const LiveBytes*> live_bytes;
    std::atomic<std::uint32_t> clamped[2];  // by Horizon
    std::atomic<Verdict> is_tokenizable;
  };

  const ExprId* publish(ExprId state, std::int64_t max_steps);
  ExprId clamp(ExprId state, Horizon horizon);
  const ByteSet& find_self_loop_bytes(ExprId state);
  const LiveBytes& find_live_bytes(ExprId state);
  ExprId common_successor(ExprId state, unsigned low, unsigned high);
  bool search_tokenizable(ExprId state);
  std::uint32_t search_completion_bound(ExprId state);
  const Alternative& expand(AlternativeId id, std::int64_t max_steps);
  bool descend(ExprId state, std::string& text);
  std::uint8_t byte_of_completion(const ExprId* next);
  void add_state_slots();
  void note_work() {
    work_.fetch_add(meter_.steps(), std::memory_order_relaxed);
    is_full_.store(meter_.is_full(), std::memory_order_relaxed);
  }
  void connect();
  Automaton(Automaton& other, const std::lock_guard<std::mutex>& lock_of_other);

  std::atomic<std::int64_t> work_{0};
  std::mutex mutex_;
  Meter meter_;
  ExprSet exprs_;
  Derivatives derivatives_;
  Liveness liveness_;
  LiveLoops live_loops_;
  Alternatives alternatives_;
  CompletionPaths completion_paths_;
  std::uint32_t horizon_;
  std::unordered_map<const ExprId*, std::uint8_t> bytes_of_completions_;  // by row
  bool has_searches_ = false;
  bool has_lists_ = false;
  ExprSet::Extent compiled_;  // what the language itself has; decoding adds states
  std::size_t added_before_ = 0;
  std::atomic<bool> is_full_{false};
  ExprId start_;
  ExprId tokenizable_;  // the texts that the vocabulary can write; dead if these are all over the alphabet
  ExprId token_bytes_;  // the strings of bytes that are tokens; dead likewise
  ExprId all_texts_;
  StableVector<Slot> slots_;                                    // by state
  std::unordered_map<std::uint32_t, ExprId> clamped_parts_[2];  // by Horizon; memo of clamp_counts
  // What the slots point to; states share the live bytes.
  std::deque<ByteSet> loop_sets_;
  std::set<LiveBytes> live_sets_;
};

}  // namespace detent
