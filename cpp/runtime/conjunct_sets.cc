#include "runtime/conjunct_sets.h"

#include <algorithm>

#include "automaton/conjuncts.h"

namespace detent {

void ConjunctSets::begin_walk() {
  constexpr std::int64_t kMost = 32 << 20;
  if (bytes_ > kMost) {
    meter_.release(std::exchange(bytes_, 0));
    conjuncts_.clear();
    ids_.clear();
    splits_.clear();
    sets_ = SetTable<ConjunctId, std::hash<ConjunctId>>(automaton_.class_count());
    known_.clear();
    is_near_intersection_.clear();
  }
  texts_.clear();
  for (Conjunct& each : conjuncts_) each.is_complete.clear();
}

bool ConjunctSets::is_near_intersection(ExprId state) {
  const auto known = is_near_intersection_.find(state.value);
  if (known != is_near_intersection_.end()) return known->second;
  bool found = split(state).size() > 1;
  const ExprId* row = automaton_.row(state);
  for (std::uint32_t i = 0; i < automaton_.class_count() && !found; ++i) {
    found = row[i] != ExprSet::kEmpty && (i == 0 || row[i] != row[i - 1]) && split(row[i]).size() > 1;
  }
  return is_near_intersection_[state.value] = found;
}

ConjunctSets::Id ConjunctSets::of(ExprId state) {
  const Id set = add(split(state), 0, 0);
  known_[set].knows_state = true;
  known_[set].state = state;
  return set;
}

const ConjunctSets::Set& ConjunctSets::split(ExprId state) {
  if (const auto known = splits_.find(state.value); known != splits_.end()) return known->second;
  const std::vector<ExprId> parts =
      automaton_.edit([state](ExprSet& exprs, Derivatives&, auto&) { return conjuncts_of(exprs, state); });
  Set set;
  for (ExprId part : parts) set.push_back(intern(part));
  std::ranges::sort(set);
  set.erase(std::ranges::unique(set).begin(), set.end());
  return splits_[state.value] = std::move(set);
}

ConjunctSets::ConjunctId ConjunctSets::intern(ExprId conjunct) {
  if (const auto known = ids_.find(conjunct.value); known != ids_.end()) return known->second;
  const std::size_t classes = automaton_.class_count();
  conjuncts_.push_back({conjunct, automaton_.row(conjunct), std::vector<Set>(classes), std::vector<bool>(classes), {}});
  return ids_[conjunct.value] = static_cast<ConjunctId>(conjuncts_.size() - 1);
}

ConjunctSets::Id ConjunctSets::add(const Set& conjuncts, Id before, std::uint8_t byte) {
  const Id set = sets_.add(conjuncts);
  if (set == known_.size()) {
    known_.push_back({before, byte, false, false, false, ExprSet::kEmpty, {}});
    known_.back().is_dead = known_.back().knows_state = conjuncts.empty();
    const std::size_t bytes = sizeof(Known) + 4 * (conjuncts.size() + automaton_.class_count()) + 64;
    bytes_ += static_cast<std::int64_t>(bytes);
    meter_.allocate(static_cast<std::int64_t>(bytes));
  }
  return set;
}

ConjunctSets::Id ConjunctSets::follow(Id set, std::uint8_t byte) {
  const std::uint8_t byte_class = automaton_.class_of()[byte];
  if (const Id known = sets_.successor(set, byte_class); known != sets_.kUnknown) return known;
  Set& after = after_;
  after.clear();
  for (ConjunctId id : sets_[set]) {
    if (!conjuncts_[id].knows_successors[byte_class]) {
      const ExprId next = conjuncts_[id].row[byte_class];
      Set successors = next == ExprSet::kEmpty ? Set{} : split(next);  // may move conjuncts_
      conjuncts_[id].successors[byte_class] = std::move(successors);
      conjuncts_[id].knows_successors[byte_class] = true;
    }
    const Set& next = conjuncts_[id].successors[byte_class];
    if (next.empty()) {
      after.clear();
      break;
    }
    after.insert(after.end(), next.begin(), next.end());
  }
  if (!std::ranges::is_sorted(after)) std::ranges::sort(after);
  after.erase(std::ranges::unique(after).begin(), after.end());
  const Id successor = add(after, set, byte);
  sets_.set_successor(set, byte_class, successor);
  return successor;
}

ExprId ConjunctSets::state(Id set) {
  std::vector<Id> path;
  while (!known_[set].knows_state) {
    path.push_back(set);
    set = known_[set].before;
  }
  ExprId state = known_[set].state;  // dead or live
  for (; !path.empty(); path.pop_back()) {
    Known& next = known_[path.back()];
    if (state != ExprSet::kEmpty) state = automaton_.row(state)[automaton_.class_of()[next.byte]];
    next.state = state;
    next.knows_state = true;
    next.is_dead = state == ExprSet::kEmpty;
  }
  return state;
}

const ByteSet& ConjunctSets::loop(Id set) {
  Known& known = known_[set];
  if (!std::exchange(known.knows_loop, true)) {
    known.loop = ByteSet::all();
    for (ConjunctId each : sets_[set]) known.loop = known.loop & automaton_.self_loop_bytes(conjuncts_[each].state);
  }
  return known.loop;
}

ConjunctSets::TextId ConjunctSets::add_text(std::string text) {
  texts_.push_back(std::move(text));
  return static_cast<TextId>(texts_.size() - 1);
}

bool ConjunctSets::contains(Id set, TextId text) {
  return std::ranges::all_of(sets_[set], [&](ConjunctId id) {
    Conjunct& each = conjuncts_[id];
    if (each.is_complete.size() <= text) each.is_complete.resize(texts_.size());
    std::int8_t& known = each.is_complete[text];
    if (known == 0) known = automaton_.accepting(automaton_.advance(each.state, texts_[text])) ? 1 : -1;
    return known > 0;
  });
}

}  // namespace detent
