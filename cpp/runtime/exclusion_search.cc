#include "runtime/exclusion_search.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "automaton/conjuncts.h"
#include "automaton/padding.h"
#include "expr/lengths.h"
#include "expr/parts.h"

namespace detent {
namespace {

constexpr std::size_t kMaxExpanded = 512;       // positions, of one search
constexpr std::size_t kMaxExpansions = 65'536;  // of all searches

}  // namespace

ExclusionSearch::ExclusionSearch(Automaton& automaton)
    : automaton_(automaton),
      sets_(automaton.class_count()),
      every_text_(sets_.add({UINT32_MAX})),
      every_utf8_(sets_.add({UINT32_MAX - 1})),
      positions_(automaton.class_count()),
      bytes_of_class_(automaton.class_count()),
      expansions_left_(kMaxExpansions) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    bytes_of_class_[automaton_.class_of()[byte]] = static_cast<std::uint8_t>(byte);
  }
  positions_.add({ExprSet::kEmpty.value, every_text_});  // kDead
  known_.emplace_back().verdict = Verdict::dead;
}

std::optional<ExclusionSearch::PositionId> ExclusionSearch::start(ExprId state) {
  std::vector<ExprId> excluded;
  const ExprId main = automaton_.edit([&](ExprSet& exprs, Derivatives&, Liveness&) {
    std::vector<ExprId> texts;
    const std::vector<ExprId> operands = operands_of(exprs, state, Op::intersection);
    // Of words without counts there may be thousands, and no padding.
    if (std::ranges::none_of(operands, [&exprs](ExprId operand) { return may_count(exprs, operand); })) {
      return ExprSet::kEmpty;
    }
    for (ExprId operand : operands) {
      if (exprs[operand].op != Op::complement) {
        texts.push_back(operand);
      } else if (!is_self_contained(exprs[operand]) || !Paddings::add(exprs, exprs[operand].part(), excluded)) {
        return ExprSet::kEmpty;
      }
    }
    return texts.empty() || excluded.empty() ? ExprSet::kEmpty : exprs.intersection(std::move(texts));
  });
  if (main == ExprSet::kEmpty) return std::nullopt;
  const PositionId at = add(main, add_set(excluded));
  if (known_[at].verdict == Verdict::unknown) {
    known_[at].verdict = Verdict::live;
    known_[at].completion_bound = automaton_.completion_bound(state);
  }
  return at;
}

ExclusionSearch::SequenceId ExclusionSearch::intern(ExprId sequence) {
  const auto [id, is_new] = ids_.try_emplace(sequence.value, static_cast<SequenceId>(sequences_.size()));
  if (is_new) {
    const ExprId* row = automaton_.edit(
        [sequence](ExprSet&, Derivatives& derivatives, Liveness&) { return derivatives.row(sequence); });
    sequences_.push_back({sequence, row, automaton_.least_length(sequence), automaton_.accepting(sequence),
                          std::vector<SetId>(automaton_.class_count(), Table::kUnknown)});
    bytes_ += sizeof(Sequence) + 4 * std::size_t{automaton_.class_count()} + 64;
  }
  return id->second;
}

ExclusionSearch::SetId ExclusionSearch::add_set(const std::vector<ExprId>& sequences) {
  SequenceSet set;
  for (ExprId each : sequences) set.push_back(intern(each));
  return add_set(set);
}

ExclusionSearch::SetId ExclusionSearch::add_set(SequenceSet& sequences) {
  std::ranges::sort(sequences);
  sequences.erase(std::ranges::unique(sequences).begin(), sequences.end());
  const std::size_t before = sets_.size();
  const SetId set = sets_.add(sequences);
  if (set == before) bytes_ += 4 * (sequences.size() + automaton_.class_count()) + 48;
  return set;
}

// The sequences that one leads to.
ExclusionSearch::SetId ExclusionSearch::successors(SequenceId id, std::uint8_t byte_class) {
  if (const SetId known = sequences_[id].successors[byte_class]; known != Table::kUnknown) return known;
  const ExprId next = sequences_[id].row[byte_class];
  std::vector<ExprId> after;
  SetId found = Table::kUnknown;
  automaton_.edit([&](ExprSet& exprs, Derivatives&, Liveness&) {
    if (!Paddings::add(exprs, next, after)) found = next == exprs.sigma_star() ? every_text_ : every_utf8_;
    return 0;
  });
  if (found == Table::kUnknown) found = add_set(after);  // may move sequences_
  return sequences_[id].successors[byte_class] = found;
}

ExclusionSearch::SetId ExclusionSearch::successor(SetId set, std::uint8_t byte_class) {
  if (const SetId known = sets_.successor(set, byte_class); known != Table::kUnknown) return known;
  SequenceSet& after = after_;
  after.clear();
  SetId found = Table::kUnknown;
  const std::size_t size = sets_[set].size();
  for (std::size_t i = 0; i < size && found != every_text_; ++i) {
    const SetId next = successors(sets_[set][i], byte_class);  // may move the sets
    if (is_match(next)) {
      found = next;
    } else {
      after.insert(after.end(), sets_[next].begin(), sets_[next].end());
    }
  }
  work_ += std::ssize(after) / 4;
  if (found == Table::kUnknown) found = add_set(after);
  sets_.set_successor(set, byte_class, found);
  return found;
}

ExclusionSearch::SetId ExclusionSearch::matches_within(SetId set, std::uint32_t bytes) {
  const auto is_far = [&](SequenceId id) { return sequences_[id].least_length > bytes; };
  if (is_match(set) || std::ranges::none_of(sets_[set], is_far)) return set;
  const auto [known, is_new] = shorter_.try_emplace(std::uint64_t{set} << 32 | bytes);
  if (!is_new) return known->second;
  SequenceSet shorter(sets_[set].begin(), sets_[set].end());
  std::erase_if(shorter, is_far);
  bytes_ += 48;
  return known->second = add_set(shorter);
}

bool ExclusionSearch::allows(SetId set, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    set = matches_within(set, static_cast<std::uint32_t>(text.size() - i));
    set = follow_set(set, static_cast<std::uint8_t>(text[i]));
    if (is_match(set)) return false;
  }
  return std::ranges::none_of(sets_[set], [this](SequenceId id) { return sequences_[id].nullable; });
}

ExclusionSearch::PositionId ExclusionSearch::add(ExprId main, SetId excluded) {
  const PositionId at = positions_.add({main.value, excluded});
  if (at < known_.size()) return at;
  Known known;
  known.main = main;
  known.excluded = excluded;
  describe(known);
  known_.push_back(known);
  bytes_ += sizeof(Known) + 4 * std::size_t{automaton_.class_count()} + 48;
  ++work_;
  return at;
}

// What the form of a position shows.
void ExclusionSearch::describe(Known& known) {
  const auto excludes_empty = [this](SequenceId id) { return sequences_[id].nullable; };
  known.accepting = automaton_.accepting(known.main) && std::ranges::none_of(sets_[known.excluded], excludes_empty);
  const std::vector<ExprId> excluded = sequences_of(known.excluded);
  if (!excluded.empty()) known.padding = add_padding(automaton_.padded(known.main, excluded));
  const bool is_padded = known.padding != kNone;
  if (!known.accepting && !is_padded && !excluded.empty()) return;
  known.verdict = Verdict::live;
  if (known.accepting) return;
  known.completion_bound =
      is_padded ? paddings_[known.padding].completion_bound : automaton_.completion_bound(known.main);
}

std::uint32_t ExclusionSearch::add_padding(const LiveLoops::Padded& padding) {
  if (padding.safe.empty()) return kNone;
  const auto index = std::ranges::find(paddings_, padding) - paddings_.begin();  // few: by state of g inside a string
  if (index == std::ssize(paddings_)) paddings_.push_back(padding);
  return static_cast<std::uint32_t>(index);
}

std::vector<ExprId> ExclusionSearch::sequences_of(SetId set) const {
  std::vector<ExprId> found;
  for (SequenceId id : sets_[set]) found.push_back(sequences_[id].expr);
  return found;
}

ExclusionSearch::PositionId ExclusionSearch::find_successor(PositionId from, std::uint8_t byte) {
  const PositionId after = undecided_successor(from, automaton_.class_of()[byte]);
  if (known_[after].verdict == Verdict::unknown && !search(after)) decide_by_expression(after);
  return live_or_dead(after);
}

// After a match, no UTF-8 text is left. Where g has other texts, too, the expression decides.
ExclusionSearch::PositionId ExclusionSearch::undecided_successor(PositionId from, std::uint8_t byte_class) {
  if (const PositionId known = positions_.successor(from, byte_class); known != Table::kUnknown) return known;
  const ExprId main = automaton_.row(known_[from].main)[byte_class];
  const SetId excluded = main == ExprSet::kEmpty ? every_text_ : successor(known_[from].excluded, byte_class);
  const PositionId after = is_match(excluded) ? kDead : add(main, excluded);
  if (excluded == every_utf8_ && !automaton_.is_text(main)) {
    has_failed_ = true;
    return kDead;
  }
  positions_.set_successor(from, byte_class, after);
  return after;
}

// Searches for a position that is known to be live, those with short completions of g first. Returns whether that has
// decided about `from`. Where there is none, all positions that were seen are dead.
bool ExclusionSearch::search(PositionId from) {
  const std::uint32_t search = ++search_count_;
  std::vector<SearchNode> nodes;
  using Entry = std::tuple<std::uint32_t, std::size_t>;  // the bytes in all, and the node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  const auto add_node = [&](const SearchNode& node) {
    known_[node.position].last_search = search;
    open.emplace(saturating_add(automaton_.completion_bound(known_[node.position].main), node.depth), nodes.size());
    nodes.push_back(node);
  };
  add_node({from, 0, 0, 0});
  for (std::size_t expanded = 0; !open.empty(); ++expanded) {
    if (expanded == kMaxExpanded || expansions_left_ == 0) return false;
    --expansions_left_;
    const std::size_t index = std::get<1>(open.top());
    open.pop();
    work_ += automaton_.class_count() / 8 + 1;
    for (std::uint32_t c = 0; c < automaton_.class_count(); ++c) {
      const auto byte_class = static_cast<std::uint8_t>(c);
      const PositionId after = undecided_successor(nodes[index].position, byte_class);
      if (has_failed_) return true;
      if (known_[after].verdict == Verdict::dead || known_[after].last_search == search) continue;
      add_node({after, index, nodes[index].depth + 1, byte_class});
      if (known_[after].verdict == Verdict::unknown) continue;
      note_path(nodes, nodes.size() - 1);
      return true;
    }
  }
  for (const SearchNode& node : nodes) known_[node.position].verdict = Verdict::dead;
  return true;
}

// The positions on the way to a live one are live.
void ExclusionSearch::note_path(const std::vector<SearchNode>& nodes, std::size_t last) {
  std::uint32_t bound = known_[nodes[last].position].completion_bound;
  for (std::size_t i = last; i != 0; i = nodes[i].parent) {
    Known& known = known_[nodes[nodes[i].parent].position];
    bound = saturating_add(bound, 1);
    known.verdict = Verdict::live;
    known.completion_bound = bound;
    known.next = nodes[i].position;
    known.next_class = nodes[i].byte_class;
  }
}

std::optional<std::pair<std::string, ExclusionSearch::PositionId>> ExclusionSearch::path(PositionId at) const {
  std::string text;
  while (!accepting(at) && !is_padded(at) && !is_empty(known_[at].excluded)) {
    const Known& known = known_[at];
    if (known.next == kDead) return std::nullopt;
    text += static_cast<char>(bytes_of_class_[known.next_class]);
    at = known.next;
  }
  return std::pair(std::move(text), at);
}

void ExclusionSearch::decide_by_expression(PositionId at) {
  Known& known = known_[at];
  const std::vector<ExprId> excluded = sequences_of(known.excluded);
  const std::uint32_t bound = automaton_.edit([&](ExprSet& exprs, Derivatives&, Liveness& liveness) {
    return liveness.bound(exprs.intersection({known.main, exprs.complement(exprs.union_of(excluded))}));
  });
  known.verdict = bound == Liveness::kDead ? Verdict::dead : Verdict::live;
  known.completion_bound = bound;
}

}  // namespace detent
