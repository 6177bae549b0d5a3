#include "runtime/conjunction_walk.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "automaton/conjuncts.h"
#include "base/utf8_position.h"
#include "expr/lengths.h"
#include "runtime/reference_walk.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {

constexpr std::size_t kMaxCompletions = 64;

}  // namespace

bool ConjunctionWalk::run(ExprId state, ExprId reference, std::size_t first, std::size_t end) {
  const auto& class_of = automaton_.class_of();
  const std::uint32_t depth = trie_[first].depth;
  path_.resize(vocabulary_.max_token_length() - depth + std::size_t{1});
  if (split(state).size() < 2) return false;
  if (bytes_.empty()) {
    std::vector<bool> is_seen(automaton_.class_count());
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (!is_seen[class_of[byte]]) bytes_.push_back(static_cast<std::uint8_t>(byte));
      is_seen[class_of[byte]] = true;
    }
  }
  start(path_[0].state, state);
  start(path_[0].reference, reference);
  for (std::size_t i = first; i < end;) {
    const TrieNode& node = trie_[i];
    if (is_shorter_below(vocabulary_, i, equal_below_)) {
      i = node.next;
      continue;
    }
    const std::size_t before = node.depth - depth;
    Position& after = path_[before + 1];
    after.byte = static_cast<std::uint8_t>(node.byte);
    const bool has_reference = follow(&Position::reference, before + 1);
    if (node.subtree && take_subtree(path_[before].state, has_reference, i)) {
      i = node.next;
      continue;
    }
    const bool is_live = follow(&Position::state, before + 1);
    if (!is_live && !has_reference) {
      i = node.next;
      continue;
    }
    const Verdict& verdict = verdicts_[after.state.set];
    if (is_live && after.state.set == after.reference.set) {  // the builder holds these tokens
      builder_.note_length(verdict.completion_bound);
      i = node.next;
      continue;
    }
    if (exits_) {
      exits_->note(i, node.next, {is_live, verdict.accepting},
                   {has_reference, verdicts_[after.reference.set].accepting});
    }
    if (!is_live) {
      for (; i < node.next; ++i) for_each_id(vocabulary_, trie_[i].token, [this](auto id) { builder_.refuse(id); });
      continue;
    }
    if (node.token != TrieNode::kNoToken) {
      for_each_id(vocabulary_, node.token, [this](auto id) { builder_.allow(id); });
      builder_.note_length(verdict.completion_bound);
    }
    ++i;
  }
  return true;
}

const ConjunctionWalk::ConjunctSet& ConjunctionWalk::split(ExprId state) {
  const auto [known, is_new] = splits_.try_emplace(state.value);
  ConjunctSet& set = known->second;
  if (!is_new) return set;
  const std::vector<ExprId> parts =
      automaton_.edit([state](ExprSet& exprs, Derivatives&, auto&) { return conjuncts_of(exprs, state); });
  for (ExprId part : parts) set.push_back(intern(part));
  std::ranges::sort(set);
  set.erase(std::ranges::unique(set).begin(), set.end());
  return set;
}

ConjunctionWalk::ConjunctId ConjunctionWalk::intern(ExprId conjunct) {
  const auto [id, is_new] = ids_.try_emplace(conjunct.value, static_cast<ConjunctId>(conjuncts_.size()));
  if (is_new) {
    const std::size_t classes = automaton_.class_count();
    conjuncts_.push_back({conjunct,
                          automaton_.row(conjunct),
                          automaton_.accepting(conjunct),
                          automaton_.completion_bound(conjunct),
                          std::vector<ConjunctSet>(classes),
                          std::vector<bool>(classes),
                          {}});
  }
  return id->second;
}

ConjunctionWalk::SetId ConjunctionWalk::add(const ConjunctSet& conjuncts) {
  const SetId set = sets_.add(conjuncts);
  if (set < verdicts_.size()) return set;
  Verdict& verdict = verdicts_.emplace_back();
  if (conjuncts.empty()) {
    verdict.liveness = Liveness::dead;
  } else if (accept(conjuncts)) {
    verdict.liveness = Liveness::live;
    verdict.accepting = true;
  } else if (conjuncts.size() == 1) {  // entries of rows are live
    verdict.liveness = Liveness::live;
    verdict.completion_bound = conjuncts_[conjuncts[0]].completion_bound;
  }
  return set;
}

void ConjunctionWalk::start(Intersection& at, ExprId state) {
  at = {add(state == ExprSet::kEmpty ? ConjunctSet{} : split(state)), true, state};
  Verdict& verdict = verdicts_[at.set];
  if (verdict.liveness != Liveness::unknown) return;
  verdict.liveness = Liveness::live;
  verdict.completion_bound = automaton_.completion_bound(state);
}

// Follows the byte to the position at a depth, on one side. Returns whether that is live.
bool ConjunctionWalk::follow(Side side, std::size_t depth) {
  Intersection& to = path_[depth].*side;
  to.set = follow((path_[depth - 1].*side).set, path_[depth].byte);
  to.knows_state = false;
  if (verdicts_[to.set].liveness == Liveness::unknown) decide(side, depth);
  return verdicts_[to.set].liveness == Liveness::live;
}

ConjunctionWalk::SetId ConjunctionWalk::follow(SetId set, std::uint8_t byte) {
  const std::uint8_t byte_class = automaton_.class_of()[byte];
  if (const SetId known = sets_.successor(set, byte_class); known != Sets::kUnknown) return known;
  ConjunctSet after;
  for (ConjunctId id : sets_[set]) {
    if (!conjuncts_[id].knows_successors[byte_class]) {
      const ExprId next = conjuncts_[id].row[byte_class];
      ConjunctSet successors = next == ExprSet::kEmpty ? ConjunctSet{} : split(next);  // may move conjuncts_
      conjuncts_[id].successors[byte_class] = std::move(successors);
      conjuncts_[id].knows_successors[byte_class] = true;
    }
    const ConjunctSet& next = conjuncts_[id].successors[byte_class];
    if (next.empty()) {
      after.clear();
      break;
    }
    after.insert(after.end(), next.begin(), next.end());
  }
  std::ranges::sort(after);
  after.erase(std::ranges::unique(after).begin(), after.end());
  const SetId successor = add(after);
  sets_.set_successor(set, byte_class, successor);
  return successor;
}

void ConjunctionWalk::decide(Side side, std::size_t depth) {
  const SetId set = (path_[depth].*side).set;
  if (decide_by_completions(set) || decide_by_search(set)) return;
  const ExprId state = state_at(side, depth);
  Verdict& verdict = verdicts_[set];
  verdict.liveness = state == ExprSet::kEmpty ? Liveness::dead : Liveness::live;
  if (state != ExprSet::kEmpty) verdict.completion_bound = automaton_.completion_bound(state);
}

bool ConjunctionWalk::decide_by_completions(SetId set) {
  for (std::size_t k = 0; k < completions_.size(); ++k) {
    const Completion& completion = completions_[k];
    if (!std::ranges::all_of(sets_[set], [&](ConjunctId each) { return contains(each, completion); })) continue;
    verdicts_[set].liveness = Liveness::live;
    verdicts_[set].completion_bound = static_cast<std::uint32_t>(completion.text.size());
    if (k > 0) std::swap(completions_[k], completions_[k - 1]);
    return true;
  }
  return false;
}

// Searches for a text that is in all conjuncts: best first, by the sum of the bytes that each conjunct still needs.
// After some sets, every second one is that of the fewest bytes in all. Where there is no text, all sets that were seen
// are dead. Returns false, and decides nothing, where the search took too long.
bool ConjunctionWalk::decide_by_search(SetId set) {
  constexpr std::size_t kGreedy = 16, kMost = 64;  // sets
  std::vector<SearchNode> nodes;
  ++search_count_;
  using Entry = std::tuple<std::uint64_t, std::uint64_t, std::size_t>;  // the later node of equal ones first
  const auto is_farther = [](const Entry& one, const Entry& other) {
    const auto [first, second, node] = one;
    const auto [other_first, other_second, other_node] = other;
    return std::tie(first, second, other_node) > std::tie(other_first, other_second, node);
  };
  using Queue = std::priority_queue<Entry, std::vector<Entry>, decltype(is_farther)>;
  Queue by_distance(is_farther), by_length(is_farther);
  std::vector<bool> is_expanded;
  const auto add_node = [&](const SearchNode& node) {
    std::uint64_t total = 0, least = 0;
    for (ConjunctId each : sets_[node.set]) {
      const std::uint64_t bound = conjuncts_[each].completion_bound;
      total += bound;
      least = std::max(least, bound);
    }
    by_distance.emplace(total, 0, nodes.size());
    by_length.emplace(node.depth + least, total, nodes.size());
    nodes.push_back(node);
    is_expanded.push_back(false);
  };
  add_node({set, 0, 0, 0});
  std::size_t expanded = 0;
  while (true) {
    Queue& queue = expanded > kGreedy && expanded % 2 == 1 ? by_length : by_distance;
    if (queue.empty()) break;
    const std::size_t at = std::get<2>(queue.top());
    queue.pop();
    if (is_expanded[at]) continue;
    is_expanded[at] = true;
    if (++expanded > kMost || expansions_left_ == 0) return false;
    --expansions_left_;
    for (std::uint8_t byte : bytes_) {
      const SetId after = follow(nodes[at].set, byte);
      Verdict& verdict = verdicts_[after];
      if (verdict.liveness == Liveness::dead || std::exchange(verdict.last_search, search_count_) == search_count_) {
        continue;
      }
      add_node({after, at, nodes[at].depth + 1, byte});
      if (verdict.liveness == Liveness::live) {
        note_path(nodes, nodes.size() - 1);
        return true;
      }
    }
  }
  for (const SearchNode& node : nodes) verdicts_[node.set].liveness = Liveness::dead;
  return true;
}

// The sets on the way to a live set are live.
void ConjunctionWalk::note_path(const std::vector<SearchNode>& nodes, std::size_t last) {
  const bool is_whole = verdicts_[nodes[last].set].accepting;
  std::uint32_t length = verdicts_[nodes[last].set].completion_bound;
  std::string text;
  for (std::size_t i = last; i != 0; i = nodes[i].parent) {
    text += static_cast<char>(nodes[i].byte);
    Verdict& verdict = verdicts_[nodes[nodes[i].parent].set];
    verdict.liveness = Liveness::live;
    verdict.completion_bound = length = saturating_add(length, 1);
  }
  if (!is_whole) return;
  std::ranges::reverse(text);
  if (completions_.size() == kMaxCompletions) completions_.pop_back();
  completions_.insert(completions_.begin(), {std::move(text), completion_count_++});
}

bool ConjunctionWalk::accept(const ConjunctSet& conjuncts) const {
  return std::ranges::all_of(conjuncts, [this](ConjunctId each) { return conjuncts_[each].accepting; });
}

bool ConjunctionWalk::contains(ConjunctId conjunct, const Completion& completion) {
  Conjunct& each = conjuncts_[conjunct];
  if (each.completions.size() <= completion.number) each.completions.resize(completion_count_);
  std::int8_t& known = each.completions[completion.number];
  if (known == 0) known = automaton_.accepting(automaton_.advance(each.state, completion.text)) ? 1 : -1;
  return known > 0;
}

ExprId ConjunctionWalk::state_at(Side side, std::size_t depth) {
  std::size_t known = depth;
  while (!(path_[known].*side).knows_state) --known;
  for (; known < depth; ++known) {
    Intersection& after = path_[known + 1].*side;
    after.state = automaton_.row((path_[known].*side).state)[automaton_.class_of()[path_[known + 1].byte]];
    after.knows_state = true;
  }
  return (path_[depth].*side).state;
}

// Allows the whole subtree at once if each of its characters leads all conjuncts back to themselves.
bool ConjunctionWalk::take_subtree(const Intersection& at, bool has_reference, std::size_t i) {
  const Subtree& subtree = vocabulary_.subtrees()[trie_[i].subtree];
  const Verdict& verdict = verdicts_[at.set];
  if ((exits_ && verdict.accepting) || !subtree.used.is_subset_of(loop_of(at.set))) return false;
  if (exits_ && has_reference) {
    exits_->removed.emplace_back(static_cast<std::uint32_t>(i), trie_[i].next);
  }
  builder_.allow(vocabulary_.ids_in_order().data() + subtree.first, subtree.last - subtree.first);
  builder_.note_length(saturating_add(verdict.completion_bound, kMaxContinuationBytes));
  return true;
}

const ByteSet& ConjunctionWalk::loop_of(SetId set) {
  Verdict& verdict = verdicts_[set];
  if (!std::exchange(verdict.knows_loop, true)) {
    verdict.loop = ByteSet::all();
    for (ConjunctId each : sets_[set]) verdict.loop = verdict.loop & automaton_.self_loop_bytes(conjuncts_[each].state);
  }
  return verdict.loop;
}

}  // namespace detent
