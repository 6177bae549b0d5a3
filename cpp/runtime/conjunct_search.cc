#include "runtime/conjunct_search.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "automaton/conjuncts.h"
#include "expr/lengths.h"

namespace detent {
namespace {

constexpr std::size_t kMaxCompletions = 64;
// The states that all searches may expand: of those that count characters, what one search finds serves others.
constexpr std::size_t kMaxExpansions = 4'096, kMaxCounted = 16'384;
constexpr std::size_t kLongestText = 1'024;  // bytes, of a completion that is tried
constexpr std::size_t kMaxSets = 65'536;     // of a search; a set takes some 500 bytes

}  // namespace

ConjunctSearch::ConjunctSearch(Automaton& automaton)
    : automaton_(automaton), alternatives_(automaton), sets_(automaton.class_count()) {
  begin_walk();
  std::vector<std::uint32_t> counts(automaton_.class_count());
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::uint8_t byte_class = automaton_.class_of()[byte];
    if (counts[byte_class]++ == 0) bytes_.push_back(static_cast<std::uint8_t>(byte));
  }
  const auto members = [&](std::uint8_t byte) { return byte < 0x80 ? counts[automaton_.class_of()[byte]] : 0; };
  common_byte_ = *std::ranges::max_element(bytes_, {}, members);
  all_strings_ = automaton_.edit([](ExprSet& exprs, Derivatives&, auto&) { return exprs.sigma_star(); });
  add({});
}

void ConjunctSearch::begin_walk() {
  ++walk_;
  set_count_ = 0;
  search_count_ = 0;
  expansions_left_[0] = kMaxExpansions;
  expansions_left_[1] = kMaxCounted;
  texts_.clear();
  completions_.clear();
}

std::size_t ConjunctSearch::bytes() const {
  const std::size_t classes = automaton_.class_count();
  return sets_.size() * (sizeof(Known) + 4 * classes + 64) + shorter_.size() * 48 + splits_.size() * 96 +
         conjuncts_.size() * (sizeof(Conjunct) + classes * (sizeof(ConjunctSet) + 16) + 256);
}

const ConjunctSearch::ConjunctSet& ConjunctSearch::split(ExprId state) {
  const auto [known, is_new] = splits_.try_emplace(state.value);
  ConjunctSet& set = known->second;
  if (!is_new) return set;
  const std::vector<ExprId> parts =
      automaton_.edit([state](ExprSet& exprs, Derivatives&, auto&) { return conjuncts_of(exprs, state); });
  for (ExprId part : parts) set.push_back(intern(part, ExprSet::kEmpty));
  std::ranges::sort(set);
  set.erase(std::ranges::unique(set).begin(), set.end());
  return set;
}

ConjunctSearch::ConjunctId ConjunctSearch::intern(ExprId conjunct, ExprId between) {
  const std::uint64_t key = std::uint64_t{conjunct.value} << 32 | between.value;
  const auto [id, is_new] = ids_.try_emplace(key, static_cast<ConjunctId>(conjuncts_.size()));
  if (is_new) {
    Conjunct each;
    each.state = conjunct;
    each.row = automaton_.row(conjunct);
    each.accepting = automaton_.accepting(conjunct);
    each.completion_bound = automaton_.completion_bound(conjunct);
    each.between = between;
    each.successors.resize(automaton_.class_count());
    each.knows_successors.resize(automaton_.class_count());
    automaton_.edit([&](ExprSet& exprs, Derivatives&, Liveness& liveness) {
      each.is_string = is_json_string(exprs, conjunct);
      each.fewest = fewest_characters(exprs, liveness.character_counts(), conjunct);
      if (!each.counts()) each.longest = longest_alternative(exprs, liveness.character_counts(), conjunct);
      return 0;
    });
    conjuncts_.push_back(std::move(each));
  }
  return id->second;
}

// The first conjunct that bounds the characters becomes the number of a state.
ConjunctSearch::State ConjunctSearch::start(ExprId state) {
  if (state == ExprSet::kEmpty) return {};
  ConjunctSet set = split(state);
  State at;
  for (ConjunctId& id : set) {
    const ExprId conjunct = conjuncts_[id].state;
    const std::optional<CountedCharacters> counted = automaton_.edit(
        [conjunct](ExprSet& exprs, Derivatives&, auto&) { return counted_characters(exprs, conjunct); });
    if (!counted) continue;
    at.left = counted->maximum;
    id = intern(counted->unbounded, counted->between);
    if (counted->at_least != ExprSet::kEmpty) set.push_back(intern(counted->at_least, ExprSet::kEmpty));
    break;
  }
  normalize(set);
  at.set = add(set);
  return at;
}

// Leaves out conjuncts that contain another one.
void ConjunctSearch::normalize(ConjunctSet& conjuncts) const {
  std::ranges::sort(conjuncts);
  conjuncts.erase(std::ranges::unique(conjuncts).begin(), conjuncts.end());
  const auto counting = std::ranges::find_if(conjuncts, [this](ConjunctId id) { return conjuncts_[id].counts(); });
  const ExprId counted = counting == conjuncts.end() ? ExprSet::kEmpty : conjuncts_[*counting].state;
  if (conjuncts.size() == 1) return;
  std::erase_if(conjuncts, [&](ConjunctId id) {
    const Conjunct& each = conjuncts_[id];
    return !each.counts() && (each.state == counted || each.state == all_strings_);
  });
}

ConjunctSearch::SetId ConjunctSearch::add(const ConjunctSet& conjuncts) {
  const SetId set = sets_.add(conjuncts);
  if (set == known_.size()) describe(conjuncts);
  in_walk(set);
  return set;
}

// Adds to known_ what the form of a new set shows.
void ConjunctSearch::describe(const ConjunctSet& conjuncts) {
  Known& known = known_.emplace_back();
  if (conjuncts.empty()) {
    known.fewest_by_form = kNone;
    return;
  }
  known.accepting = true;
  const auto counting = std::ranges::find_if(conjuncts, [this](ConjunctId id) { return conjuncts_[id].counts(); });
  known.counts = counting != conjuncts.end();
  for (ConjunctId id : conjuncts) {
    const Conjunct& each = conjuncts_[id];
    known.accepting = known.accepting && each.accepting;
    known.is_between = known.is_between || (each.counts() && each.state == each.between);
    known.distance += each.completion_bound;
    known.least_bytes = std::max(known.least_bytes, each.completion_bound);
    // Those of a text that is no JSON string may be more than those before they are escaped.
    const bool is_comparable = known.counts && (each.is_string || !conjuncts_[*counting].is_string);
    if (!is_comparable) continue;
    known.fewest_by_form = std::max(known.fewest_by_form, each.fewest);
    known.longest = std::max(known.longest, each.longest);
  }
}

// At the first use of a set in a walk.
void ConjunctSearch::begin(SetId set) {
  Known& known = known_[set];
  const std::size_t size = sets_[set].size();
  known.walk = walk_;
  known.counted_pairs = false;
  known.fewest = known.fewest_by_form;
  known.enough = known.undecided = kNone;
  known.completion_bound = known.last_search = known.most_left = 0;
  known.next = Next::unknown;
  // The entries of rows are live. A conjunct that counts has a text in which no further character begins.
  if (size != 0 && (known.accepting || size == 1)) {
    known.fewest = known.enough = 0;
    known.next = known.accepting ? Next::end : Next::conjunct;
    known.completion_bound = known.accepting ? 0 : known.least_bytes;
  }
  work_ += static_cast<std::int64_t>(size);
  ++set_count_;
}

const ConjunctSearch::ConjunctSet& ConjunctSearch::successors(ConjunctId id, std::uint8_t byte_class) {
  if (!conjuncts_[id].knows_successors[byte_class]) {
    const ExprId next = conjuncts_[id].row[byte_class];
    const ExprId between = conjuncts_[id].between;
    const bool was_string = conjuncts_[id].is_string;
    ConjunctSet after;
    if (next != ExprSet::kEmpty) {
      // The quotation mark at the end of a string ends the counting.
      const bool counts =
          between != ExprSet::kEmpty && (!was_string || automaton_.edit([next](ExprSet& exprs, Derivatives&, auto&) {
            return is_json_string(exprs, next);
          }));
      after = counts ? ConjunctSet{intern(next, between)} : split(next);  // may move conjuncts_
    }
    conjuncts_[id].successors[byte_class] = std::move(after);
    conjuncts_[id].knows_successors[byte_class] = true;
  }
  return conjuncts_[id].successors[byte_class];
}

ConjunctSearch::SetId ConjunctSearch::successor(SetId set, std::uint8_t byte) {
  const std::uint8_t byte_class = automaton_.class_of()[byte];
  if (const SetId known = sets_.successor(set, byte_class); known != Table::kUnknown) return known;
  ConjunctSet after;
  for (ConjunctId id : sets_[set]) {
    const ConjunctSet& next = successors(id, byte_class);
    if (next.empty()) {
      after.clear();
      break;
    }
    after.insert(after.end(), next.begin(), next.end());
  }
  normalize(after);
  const SetId successor = add(after);
  sets_.set_successor(set, byte_class, successor);
  return successor;
}

ConjunctSearch::State ConjunctSearch::follow(State from, std::uint8_t byte) {
  const SetId set = successor(from.set, byte);
  if (!in_walk(set).counts) return {set, kAny};
  const bool begins = in_walk(from.set).is_between;
  if (begins && from.left == 0) return {};
  const State after{set, from.left - begins};
  return {without_longer_alternatives(after), after.left};
}

ConjunctSearch::SetId ConjunctSearch::without_longer_alternatives(State state) {
  if (in_walk(state.set).longest <= state.left || known_verdict(state) == Verdict::dead) return state.set;
  const std::uint64_t key = std::uint64_t{state.set} << 32 | state.left;
  if (const auto known = shorter_.find(key); known != shorter_.end()) return known->second;
  ConjunctSet shorter(sets_[state.set].begin(), sets_[state.set].end());
  const bool are_strings = std::ranges::any_of(
      shorter, [this](ConjunctId id) { return conjuncts_[id].counts() && conjuncts_[id].is_string; });
  for (ConjunctId& id : shorter) {
    const ExprId conjunct = conjuncts_[id].state;
    if (conjuncts_[id].longest <= state.left || (are_strings && !conjuncts_[id].is_string)) continue;
    const ExprId without = automaton_.edit([&](ExprSet& exprs, Derivatives&, Liveness& liveness) {
      return without_longer(exprs, liveness.character_counts(), conjunct, state.left);
    });
    if (without == ExprSet::kEmpty) return shorter_[key] = 0;
    id = intern(without, ExprSet::kEmpty);
  }
  normalize(shorter);
  return shorter_[key] = add(shorter);
}

ConjunctSearch::Verdict ConjunctSearch::known_verdict(State state) {
  const Known& known = in_walk(state.set);
  return known.enough <= state.left ? Verdict::live : known.fewest > state.left ? Verdict::dead : Verdict::unknown;
}

ConjunctSearch::Verdict ConjunctSearch::decide(State state) {
  if (const Verdict known = known_verdict(state); known != Verdict::unknown) return known;
  if (decide_by_completions(state)) return Verdict::live;
  return has_dead_pair(state) ? Verdict::dead : search(state);
}

void ConjunctSearch::note_live(State state, std::uint32_t completion_bound) {
  if (note_fewer(state, completion_bound)) in_walk(state.set).next = Next::unknown;
}

// Notes that a state is live. Returns whether it was not known to be.
bool ConjunctSearch::note_fewer(State state, std::uint32_t completion_bound) {
  Known& known = in_walk(state.set);
  const std::uint32_t characters = known.counts ? state.left : 0;
  if (known.enough <= characters) return false;
  known.enough = characters;
  known.completion_bound = completion_bound;
  return true;
}

void ConjunctSearch::note_dead(State state) {
  Known& known = in_walk(state.set);
  known.fewest = known.counts ? std::max(known.fewest, state.left + 1) : kNone;
}

bool ConjunctSearch::decide_by_completions(State state) {
  for (std::size_t k = 0; k < completions_.size(); ++k) {
    const std::uint32_t completion = completions_[k];
    std::uint32_t characters = 0;
    for (ConjunctId each : sets_[state.set]) {
      characters = std::max(characters, read(each, completion));
      if (characters > state.left) break;
    }
    ++work_;
    if (characters > state.left) continue;
    if (note_fewer({state.set, characters}, static_cast<std::uint32_t>(texts_[completion].size()))) {
      in_walk(state.set).next = Next::completion;
      in_walk(state.set).completion = completion;
    }
    if (k > 0) std::swap(completions_[k], completions_[k - 1]);
    return true;
  }
  return false;
}

// How many characters of the completion a conjunct counts: none where it counts no characters. kRefused where the
// completion is not in the conjunct.
std::uint32_t ConjunctSearch::read(ConjunctId conjunct, std::uint32_t completion) {
  std::vector<std::uint32_t>& tried = conjuncts_[conjunct].completions;
  if (std::exchange(conjuncts_[conjunct].walk, walk_) != walk_) tried.clear();
  if (tried.size() <= completion) tried.resize(texts_.size(), kUntried);
  if (tried[completion] != kUntried) return tried[completion];
  work_ += std::ssize(texts_[completion]);
  const bool has_text = contains(conjuncts_[conjunct].state, texts_[completion]);
  return conjuncts_[conjunct].completions[completion] =
             has_text ? count_characters(conjunct, texts_[completion]) : kRefused;
}

// Follows the alternatives of a union: the unions after each byte would mostly be new states.
bool ConjunctSearch::contains(ExprId state, std::string_view text) {
  const auto& class_of = automaton_.class_of();
  AlternativeSet set = automaton_.split(state), after;
  if (set.size() < 2) {
    for (char byte : text) state = automaton_.row(state)[class_of[static_cast<std::uint8_t>(byte)]];
    return automaton_.accepting(state);
  }
  for (char byte : text) {
    alternatives_.find_successors(set, class_of[static_cast<std::uint8_t>(byte)], after);
    alternatives_.drop_included(after);
    set.swap(after);
  }
  return std::ranges::any_of(set, [this](AlternativeId id) { return alternatives_[id].accepting; });
}

std::uint32_t ConjunctSearch::count_characters(ConjunctId conjunct, std::string_view text) {
  std::uint32_t characters = 0;
  for (char byte : text) {
    if (!conjuncts_[conjunct].counts()) break;
    const std::uint8_t byte_class = automaton_.class_of()[static_cast<std::uint8_t>(byte)];
    const ConjunctSet after = successors(conjunct, byte_class);  // may move conjuncts_
    if (after.size() != 1 || !conjuncts_[after[0]].counts()) break;
    if (conjuncts_[conjunct].state == conjuncts_[conjunct].between) ++characters;
    conjunct = after[0];
  }
  return characters;
}

// Whether a search may leave out the characters beyond ASCII.
bool ConjunctSearch::are_others_alike(SetId set) {
  if (in_walk(set).other_characters == Alike::unknown) {
    const bool alike = std::ranges::all_of(sets_[set], [this](ConjunctId id) { return is_alike(id); });
    in_walk(set).other_characters = alike ? Alike::yes : Alike::no;
  }
  return in_walk(set).other_characters == Alike::yes;
}

bool ConjunctSearch::is_alike(ConjunctId conjunct) {
  Conjunct& each = conjuncts_[conjunct];
  if (each.other_characters == Alike::unknown) {
    const auto& class_of = automaton_.class_of();
    const ExprId common = each.row[class_of[common_byte_]];
    each.other_characters = Alike::yes;
    for (unsigned lead = 0xC2; lead <= 0xF4; ++lead) {
      if (each.row[class_of[lead]] == ExprSet::kEmpty) continue;
      if (common != ExprSet::kEmpty &&
          automaton_.after_character(each.state, static_cast<std::uint8_t>(lead)) == common) {
        continue;
      }
      each.other_characters = Alike::no;
      break;
    }
  }
  return each.other_characters == Alike::yes;
}

// Searches for a text that is in all conjuncts: best first, by the sum of the bytes that each conjunct still needs.
// After some states, every second one is that of the fewest bytes in all. Where there is no text, none of the sets that
// were seen has a text with so few characters.
ConjunctSearch::Verdict ConjunctSearch::search(State state) {
  constexpr std::size_t kGreedy = 16, kMost = 256, kMostCounted = 1'024;  // states
  const bool counts = in_walk(state.set).counts;
  const std::size_t most = counts ? kMostCounted : kMost;
  std::vector<SearchNode> nodes;
  const std::uint32_t search = ++search_count_;
  using Entry = std::tuple<std::uint64_t, std::uint64_t, std::size_t>;  // the later node of equal ones first
  const auto is_farther = [](const Entry& one, const Entry& other) {
    const auto [first, second, node] = one;
    const auto [other_first, other_second, other_node] = other;
    return std::tie(first, second, other_node) > std::tie(other_first, other_second, node);
  };
  using Queue = std::priority_queue<Entry, std::vector<Entry>, decltype(is_farther)>;
  Queue by_distance(is_farther), by_length(is_farther);
  const auto add_node = [&](const SearchNode& node) {
    Known& known = in_walk(node.state.set);
    known.last_search = search;
    known.most_left = node.state.left;
    by_distance.emplace(known.distance, 0, nodes.size());
    by_length.emplace(node.depth + known.least_bytes, known.distance, nodes.size());
    nodes.push_back(node);
  };
  add_node({state, 0, 0, 0});
  std::size_t expanded = 0;
  while (true) {
    Queue& queue = expanded > kGreedy && expanded % 2 == 1 ? by_length : by_distance;
    if (queue.empty()) break;
    const std::size_t at = std::get<2>(queue.top());
    queue.pop();
    if (std::exchange(nodes[at].is_expanded, true)) continue;
    const State from = nodes[at].state;
    const bool is_old = in_walk(from.set).last_search == search && in_walk(from.set).most_left > from.left;
    if (is_old) continue;  // seen again with more characters left
    if (at != 0 && decide_by_completions(from)) {
      note_path(nodes, at);
      return Verdict::live;
    }
    if (++expanded > most || expansions_left_[counts] == 0 || set_count_ > kMaxSets) {
      in_walk(state.set).undecided = state.left;
      return Verdict::unknown;
    }
    --expansions_left_[counts];
    work_ += std::ssize(bytes_) / 4;
    const bool only_ascii = are_others_alike(from.set);
    for (std::uint8_t byte : bytes_) {
      if (only_ascii && byte >= 0xC2) continue;
      const State after = follow(from, byte);
      Verdict verdict = known_verdict(after);
      if (verdict == Verdict::dead) continue;
      if (verdict == Verdict::unknown) {
        const Known& known = in_walk(after.set);
        if (known.last_search == search && known.most_left >= after.left) continue;
        if (has_dead_pair(after)) continue;
      }
      add_node({after, at, nodes[at].depth + 1, byte});
      if (verdict == Verdict::live) {
        note_path(nodes, nodes.size() - 1);
        return Verdict::live;
      }
    }
  }
  for (const SearchNode& node : nodes) note_dead(node.state);
  return Verdict::dead;
}

// The states on the way to a live one are live. Remembers the text of the first one.
void ConjunctSearch::note_path(const std::vector<SearchNode>& nodes, std::size_t last) {
  const Known& end = in_walk(nodes[last].state.set);
  std::uint32_t characters = end.enough, length = end.completion_bound;
  for (std::size_t i = last; i != 0; i = nodes[i].parent) {
    const State from = nodes[nodes[i].parent].state;
    if (in_walk(nodes[i].state.set).counts && in_walk(from.set).is_between) ++characters;
    length = saturating_add(length, 1);
    if (!note_fewer({from.set, characters}, length)) continue;
    in_walk(from.set).next = Next::byte;
    in_walk(from.set).byte = nodes[i].byte;
    in_walk(from.set).after = nodes[i].state.set;
  }
  std::optional<std::string> text = text_of(nodes[0].state.set);
  if (!text) return;
  if (completions_.size() == kMaxCompletions) completions_.pop_back();
  completions_.insert(completions_.begin(), static_cast<std::uint32_t>(texts_.size()));
  texts_.push_back(*std::move(text));
}

// The known text of a set that is live; nothing where it is long or not known.
std::optional<std::string> ConjunctSearch::text_of(SetId set) {
  std::string text;
  for (; in_walk(set).next == Next::byte; set = in_walk(set).after) {
    if (text.size() >= kLongestText) return std::nullopt;
    text += static_cast<char>(in_walk(set).byte);
  }
  const Known& last = in_walk(set);
  if (last.next == Next::unknown || text.size() + last.completion_bound > kLongestText) return std::nullopt;
  if (last.next == Next::completion) return text + texts_[last.completion];
  if (last.next == Next::end) return text;
  const std::optional<std::string> rest = automaton_.some_completion(conjuncts_[sets_[set][0]].state);
  return rest ? std::optional(text + *rest) : std::nullopt;
}

const ByteSet& ConjunctSearch::loop_of(State state) {
  Known& known = in_walk(state.set);
  if (!std::exchange(known.knows_loop, true)) {
    known.loop = ByteSet::all();
    for (ConjunctId each : sets_[state.set]) {
      known.loop = known.loop & automaton_.self_loop_bytes(conjuncts_[each].state);
    }
  }
  return known.loop;
}

bool ConjunctSearch::stays_live(State state, std::uint32_t characters) {
  const Known& known = in_walk(state.set);
  return !known.counts || saturating_add(known.enough, characters) <= state.left;
}

}  // namespace detent
