#include "runtime/alternative_distances.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "automaton/inclusion.h"
#include "base/error.h"
#include "expr/lengths.h"
#include "runtime/trie_walk.h"

namespace detent {

namespace {

// The length of the longest token that is a run of one byte.
std::uint32_t longest_run(const Vocabulary& vocabulary, std::uint8_t byte) {
  std::uint32_t longest = 0, length = 0;
  for (std::uint32_t node = vocabulary.root(byte), end = static_cast<std::uint32_t>(vocabulary.trie().size());
       node < end;) {
    ++length;
    if (vocabulary.trie()[node].token != TrieNode::kNoToken) longest = length;
    end = vocabulary.trie()[node].next;
    for (++node; node < end && vocabulary.trie()[node].byte != byte;) node = vocabulary.trie()[node].next;
  }
  return longest;
}

}  // namespace

// One search: the alternatives that were reached, and those that are still to be expanded.
struct AlternativeDistances::Search {
  struct Node {
    AlternativeId id;
    std::size_t from;
    std::uint32_t token;
    std::uint32_t depth;
  };

  std::vector<Node> nodes;
  std::unordered_map<std::uint32_t, std::uint32_t> depths;  // the least, by alternative
  std::map<std::uint32_t, std::vector<std::size_t>> open;   // nodes, by the tokens in all

  void push(const Node& node, std::uint32_t total) {
    open[total].push_back(nodes.size());
    nodes.push_back(node);
  }
  // The next node to expand, or nothing. Of several, the last one: it goes on from those before.
  std::optional<std::size_t> pop() {
    while (!open.empty()) {
      const auto first = open.begin();
      const std::size_t index = first->second.back();
      first->second.pop_back();
      if (first->second.empty()) open.erase(first);
      if (depths[nodes[index].id.value] == nodes[index].depth) return index;
    }
    return std::nullopt;
  }
};

// The steps from one alternative, at most one to each other alternative.
struct AlternativeDistances::Steps {
  explicit Steps(AlternativeId start) : from(start), seen{start.value} {}

  void add(const AlternativeSet& set, std::uint32_t token) {
    for (AlternativeId next : set) {
      if (seen.insert(next.value).second) all.push_back({next, token});
    }
  }
  // Leaves out the steps to an alternative that another one contains: that one completes in no more tokens.
  void keep_needed(Automaton& automaton) {
    AlternativeSet needed;
    for (const Step& step : all) needed.push_back(step.to);
    automaton.drop_included_heads(from, needed);
    auto next = needed.begin();  // in the order of the steps
    std::erase_if(all, [&](const Step& step) {
      const bool is_needed = next != needed.end() && step.to == *next;
      if (is_needed) ++next;
      return !is_needed;
    });
  }

  AlternativeId from;
  std::unordered_set<std::uint32_t> seen;
  std::vector<Step> all;
};

// Completions that repeat a byte take few tokens, if some token is a long run of it.
const std::vector<Letter>& AlternativeDistances::letters() {
  if (!letters_.empty()) return letters_;
  std::array<std::pair<std::uint32_t, unsigned>, 256> bytes;  // the longest runs first
  for (unsigned byte = 0; byte < 256; ++byte) {
    bytes[byte] = {UINT32_MAX - longest_run(vocabulary_, static_cast<std::uint8_t>(byte)), byte};
  }
  std::ranges::sort(bytes);
  std::array<bool, 256> seen{};
  for (const auto& [run, byte] : bytes) {
    const std::uint8_t byte_class = automaton_.class_of()[byte];
    if (!std::exchange(seen[byte_class], true)) letters_.push_back({byte_class, static_cast<std::uint8_t>(byte)});
  }
  return letters_;
}

// No token has more bytes than the longest one.
AlternativeDistances::Bounds& AlternativeDistances::bounds(AlternativeId id) {
  if (const auto known = bounds_.find(id.value); known != bounds_.end()) return known->second;
  const Alternative& alternative = sets_[id];  // may reach a limit
  Bounds& known = bounds_[id.value];
  known.upper = alternative.completion_bound;
  if (alternative.accepting) {
    known.lower = known.upper = 0;
  } else {
    const std::uint32_t longest = std::max<std::uint32_t>(vocabulary_.max_token_length(), 1);
    known.lower = std::max(1u, (automaton_.least_length(alternative.state) + longest - 1) / longest);
  }
  return known;
}

// A state that takes more work than the allowance has left uses it up: one search for liveness may take seconds.
template <class Find>
auto AlternativeDistances::find_within(SearchAllowance& allowance, Find find) -> decltype(find()) {
  if (allowance.is_unlimited()) return find();
  sets_.limit_use(std::max<std::int64_t>(allowance.work, 0) / allowance.nodes_per_step + 1);
  struct Reset {
    AlternativeSets& sets;
    ~Reset() { sets.limit_use(INT64_MAX); }
  } reset{sets_};
  try {
    return find();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::limit || std::string_view(error.subject()) != "work") throw;
    allowance.work = 0;
    return std::nullopt;
  }
}

// Writes a known completion of at most `enough` tokens if the parts show one, otherwise one in few tokens.
void AlternativeDistances::tighten(AlternativeId id, std::uint32_t enough, SearchAllowance& allowance) {
  constexpr std::uint32_t kLongest = 1 << 14;  // bytes; longer completions are not written out
  Bounds& known = bounds(id);
  if (known.tightened || known.upper > kLongest || allowance.work <= 0) return;
  const std::int64_t before = automaton_.work();
  if (!known.is_written) write_parts(id, allowance);
  allowance.work -= allowance.nodes_per_step * (automaton_.work() - before);
  if (allowance.work <= 0 || (known.is_written && known.upper <= enough)) return;
  if (!known.by_parts) return tighten_by_path(id, allowance);
  const std::string text = part_texts_.text(sets_[id].state);
  const auto count = static_cast<std::uint32_t>(vocabulary_.fewest_tokens(text).size());
  if (count < known.upper) known = {.lower = known.lower, .upper = count, .is_written = true, .by_parts = true};
  known.tightened = true;
  allowance.work -= std::ssize(text);
}

void AlternativeDistances::write_parts(AlternativeId id, const SearchAllowance& allowance) {
  const std::int64_t most = allowance.is_unlimited() ? INT64_MAX : allowance.work / allowance.nodes_per_step + 1;
  const std::optional<std::uint32_t> sum = part_texts_.token_count(sets_[id].state, letters(), most);
  if (!sum) return;
  Bounds& known = bounds(id);
  known.upper = *sum;
  known.is_written = known.by_parts = true;
}

// Writes a known completion into the fewest tokens. Where it can be found by alternatives, the bounds of those between
// the tokens are known as well.
void AlternativeDistances::tighten_by_path(AlternativeId id, SearchAllowance& allowance) {
  // A text is written though the allowance ends.
  constexpr std::int64_t kFewestSteps = 30'000, kStepsPerByte = 8;
  Bounds& known = bounds(id);
  const std::int64_t before = automaton_.work();
  const std::int64_t fewest = kFewestSteps + kStepsPerByte * known.upper;
  const std::int64_t most =
      allowance.is_unlimited() ? INT64_MAX : std::max(fewest, allowance.work / allowance.nodes_per_step);
  std::size_t length = 0;
  // Two paths that meet stay together: the second one is short.
  const auto is_written = [&](AlternativeId other) {
    const auto found = bounds_.find(other.value);
    return other != id && found != bounds_.end() && found->second.is_written &&
           (found->second.tightened || !found->second.by_parts);
  };
  if (const std::optional<AlternativePath> path = automaton_.descend(id, letters(), is_written, most)) {
    note_path(id, *path);
    length = path->text.size();
    known.tightened = true;
  } else if (automaton_.work() - before < most) {
    const std::string text = automaton_.some_completion(sets_[id].state).value();
    const auto count = static_cast<std::uint32_t>(vocabulary_.fewest_tokens(text).size());
    if (!known.is_written || count < known.upper) {
      known = {.lower = known.lower, .upper = count, .is_written = true};
    }
    length = text.size();
    known.tightened = true;
  }
  allowance.work -= static_cast<std::int64_t>(length) + allowance.nodes_per_step * (automaton_.work() - before);
}

// Ends at an alternative whose known completion is no longer.
void AlternativeDistances::note_path(AlternativeId id, const AlternativePath& path) {
  const std::vector<std::uint32_t> tokens = vocabulary_.fewest_tokens(path.text);
  auto left = static_cast<std::uint32_t>(tokens.size());
  if (!path.after.empty()) left = saturating_add(left, bounds(path.after.back()).upper);
  std::size_t length = 0;
  for (std::uint32_t token : tokens) {
    Bounds& known = bounds(id);
    if (known.is_written && known.upper <= left) return;
    length += vocabulary_.bytes(token).size();
    known = {.lower = known.lower,
             .upper = left--,
             .next = {path.after[length - 1], token},
             .is_written = true,
             .tightened = true};
    id = known.next.to;
  }
}

std::optional<AlternativeDistances::Known> AlternativeDistances::known_completion(ExprId state, std::uint32_t enough,
                                                                                  SearchAllowance& allowance) {
  return find_within(allowance, [&] {
    const AlternativeId id = automaton_.nearest_alternative(state);
    tighten(id, enough, allowance);
    const Bounds& known = bounds(id);
    return known.is_written ? std::optional(Known{id, known.upper}) : std::nullopt;
  });
}

std::optional<AlternativeDistances::Known> AlternativeDistances::completion_within(ExprId state, std::uint32_t tokens,
                                                                                   SearchAllowance& allowance) {
  if (allowance.work <= 0) return std::nullopt;
  return find_within(allowance, [&] {
    std::vector<AlternativeId> starts = automaton_.split(state);
    std::swap(*std::ranges::find(starts, automaton_.nearest_alternative(state)), starts[0]);
    return search_within(starts, tokens, allowance);
  });
}

std::optional<AlternativeDistances::Known> AlternativeDistances::completion_within(
    std::span<const AlternativeId> alternatives, std::uint32_t tokens, SearchAllowance& allowance) {
  if (allowance.work <= 0) return std::nullopt;
  return find_within(allowance, [&] {
    std::vector<AlternativeId> starts(alternatives.begin(), alternatives.end());
    std::ranges::stable_sort(starts, {}, [this](AlternativeId id) { return bounds(id).upper; });
    return search_within(starts, tokens, allowance);
  });
}

std::uint32_t AlternativeDistances::bound(AlternativeId id, SearchAllowance& allowance) {
  if (const auto known = bounds_.find(id.value); known != bounds_.end()) return known->second.upper;
  return find_within(allowance, [&] { return std::optional(bounds(id).upper); }).value_or(kNone);
}

std::uint32_t AlternativeDistances::tightened_bound(AlternativeId id, std::uint32_t enough,
                                                    SearchAllowance& allowance) {
  const std::uint32_t known = bound(id, allowance);
  if (known <= enough || known == kNone) return known;
  const auto tightened = find_within(allowance, [&] {
    tighten(id, enough, allowance);
    return std::optional(bounds(id).upper);
  });
  return tightened.value_or(known);
}

std::optional<AlternativeDistances::Known> AlternativeDistances::search_within(std::span<const AlternativeId> starts,
                                                                               std::uint32_t tokens,
                                                                               SearchAllowance& allowance) {
  Search search;
  std::size_t found = SIZE_MAX;
  const auto add = [&](AlternativeId id, std::size_t from, std::uint32_t token, std::uint32_t depth) {
    const auto [least, is_new] = search.depths.try_emplace(id.value, depth);
    if (!is_new && least->second <= depth) return;
    least->second = depth;
    const std::uint32_t left = tokens - depth;
    Bounds& known = bounds(id);
    if (known.lower > left) return;
    if (!known.is_written || known.upper > left) tighten(id, left, allowance);
    if (known.upper <= left) {  // a bound by the form tells that a completion exists; the known one may be longer
      if (!known.is_written) known.upper = static_cast<std::uint32_t>(tokens_from(id).size());
      known.is_written = true;
      if (known.upper <= left) found = search.nodes.size();
    }
    search.push({id, from, token, depth}, saturating_add(depth, known.upper));
  };
  for (AlternativeId id : starts) {
    if (allowance.work <= 0) return std::nullopt;
    add(id, SIZE_MAX, kNone, 0);
    if (found != SIZE_MAX) break;
  }
  while (found == SIZE_MAX) {
    const std::optional<std::size_t> next = search.pop();
    if (!next) break;
    const Search::Node at = search.nodes[*next];
    const std::vector<Step>* steps = successors(at.id, allowance);
    if (!steps) return std::nullopt;
    allowance.work -= std::ssize(*steps);
    for (const Step& step : *steps) {
      if (allowance.work <= 0) return std::nullopt;
      add(step.to, *next, step.token, at.depth + 1);
      if (found != SIZE_MAX) break;
    }
  }
  if (found == SIZE_MAX) {
    for (const auto& [id, depth] : search.depths) {
      Bounds& known = bounds({id});
      known.lower = std::max(known.lower, tokens - depth + 1);
    }
    return std::nullopt;
  }
  const Search::Node* node = &search.nodes[found];
  for (std::uint32_t length = bounds(node->id).upper; node->from != SIZE_MAX; node = &search.nodes[node->from]) {
    Bounds& before = bounds(search.nodes[node->from].id);
    if (++length >= before.upper && before.is_written) continue;
    before.upper = length;
    before.next = {node->id, node->token};
    before.is_written = true;
  }
  return Known{node->id, bounds(node->id).upper};
}

// The steps that were found, and the known completion from there.
std::vector<std::uint32_t> AlternativeDistances::tokens_from(AlternativeId id) {
  std::vector<std::uint32_t> tokens;
  while (bounds(id).next.token != kNone) {
    tokens.push_back(bounds(id).next.token);
    id = bounds(id).next.to;
  }
  const ExprId state = sets_[id].state;
  const std::string text = bounds(id).by_parts ? part_texts_.text(state) : automaton_.some_completion(state).value();
  const std::vector<std::uint32_t> rest = vocabulary_.fewest_tokens(text);
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  return tokens;
}

std::optional<AlternativeDistances::Known> AlternativeDistances::after_first_token(AlternativeId id) {
  const Step next = bounds(id).next;
  if (next.token == kNone) return std::nullopt;
  return Known{next.to, bounds(next.to).upper};
}

// A first completion is known; each search finds one of fewer tokens, or proves that there is none.
std::optional<std::vector<std::uint32_t>> AlternativeDistances::shortest_completion(ExprId state,
                                                                                    SearchAllowance& allowance) {
  std::optional<Known> shortest = completion_within(state, kNone, allowance);
  while (shortest && shortest->tokens > 0) {
    const std::optional<Known> shorter = completion_within(state, shortest->tokens - 1, allowance);
    if (!shorter && allowance.work <= 0) return std::nullopt;
    if (!shorter) break;
    shortest = shorter;
  }
  return shortest ? std::optional(tokens_from(shortest->id)) : std::nullopt;
}

const std::vector<AlternativeDistances::Step>* AlternativeDistances::successors(AlternativeId id,
                                                                                SearchAllowance& allowance) {
  constexpr std::size_t kMaxSuccessors = 4 << 20;
  const auto known = successors_.find(id.value);
  if (allowance.work <= 0) return nullptr;
  if (known != successors_.end()) return &known->second;
  if (successor_count_ > kMaxSuccessors) {
    successors_.clear();
    successor_count_ = 0;
  }
  Steps steps(id);
  charged_ = automaton_.work();
  path_.resize(vocabulary_.max_token_length() + std::size_t{1});
  const std::optional<StringTokens> string = StringTokens::find(vocabulary_, automaton_, masks_, sets_[id].state);
  if (string ? !find_steps_in_string(*string, id, steps, allowance) : !find_steps(id, steps, allowance)) return nullptr;
  steps.keep_needed(automaton_);
  successor_count_ += steps.all.size();
  return &(successors_[id.value] = std::move(steps.all));
}

void AlternativeDistances::charge(std::size_t alternatives, SearchAllowance& allowance) {
  const std::int64_t work = automaton_.work() - std::exchange(charged_, automaton_.work());
  allowance.work -= static_cast<std::int64_t>(alternatives) + allowance.nodes_per_step * work;
  if (automaton_.is_full()) allowance.work = 0;
}

// Each group of tokens inside leads to one state. Of groups that differ in the number of characters only, those with
// more characters are left out once a state contains the next one. Tokens that leave are followed by their suffixes.
bool AlternativeDistances::find_steps_in_string(const StringTokens& string, AlternativeId id, Steps& steps,
                                                SearchAllowance& allowance) {
  const ExprId state = sets_[id].state;
  ExprId before = state;
  std::optional<std::uint32_t> part;
  string.each_group([&](const StringTokens::Group& group) {
    const ExprId next = automaton_.advance(state, vocabulary_.bytes(group.id));
    charge(group.open.size() + 1, allowance);
    if (allowance.work <= 0) return true;
    if (group.is_single() || (!group.open.empty() && part != group.open[0].part)) {
      before = ExprSet::kEmpty;
      if (!group.open.empty()) part = group.open[0].part;
    }
    const bool is_included =
        automaton_.edit([&](ExprSet& exprs, Derivatives&, Liveness&) { return includes(exprs, before, next); });
    before = next;
    if (!is_included) steps.add(automaton_.split(next), group.id);
    return is_included;
  });
  path_[0] = automaton_.split(string.continuation());
  const ContextDependentTokens& leaving = string.leaving();
  for (std::size_t i = 0; i < leaving.nodes.size();) {
    const ContextDependentTokens::Node& node = leaving.nodes[i];
    charge(path_[node.depth].size(), allowance);
    if (allowance.work <= 0) return false;
    AlternativeSet& after = path_[node.depth + std::size_t{1}];
    sets_.find_successors(path_[node.depth], automaton_.class_of()[node.byte], after);
    sets_.drop_included(after);
    if (node.first < node.last) steps.add(after, leaving.ids[node.first]);
    i = after.empty() ? node.next : i + 1;
  }
  return allowance.work > 0;
}

bool AlternativeDistances::find_steps(AlternativeId id, Steps& steps, SearchAllowance& allowance) {
  const std::vector<TrieNode>& trie = vocabulary_.trie();
  const auto& class_of = automaton_.class_of();
  AlternativeSet followed_from;                   // the set from which characters were followed last,
  std::unordered_set<std::string_view> followed;  // as far as these bytes
  path_[0] = {id};
  for (std::uint32_t i = 0; i < trie.size();) {
    charge(path_[trie[i].depth].size(), allowance);
    if (allowance.work <= 0) return false;
    const TrieNode& node = trie[i];
    const AlternativeSet& set = path_[node.depth];
    AlternativeSet& after = path_[node.depth + std::size_t{1}];
    sets_.find_successors(set, class_of[node.byte], after);
    sets_.drop_included(after);
    if (after.empty()) {
      i = node.next;
      continue;
    }
    if (node.subtree && (after == set || is_lead_byte(node.byte)) &&
        leads_back(set, vocabulary_.subtrees()[node.subtree])) {
      const Subtree& subtree = vocabulary_.subtrees()[node.subtree];
      any_whole_id(vocabulary_, subtree, [&](std::uint32_t token) {
        steps.add(set, token);
        return true;
      });
      for (std::uint32_t index : open_tokens_below(vocabulary_, subtree)) {
        const std::uint32_t token = vocabulary_.ids_in_order()[index];
        const std::string_view open = open_character(vocabulary_.bytes(token));
        if (set != followed_from) followed.clear();
        followed_from = set;
        if (!followed.insert(open).second) continue;
        AlternativeSet inside = set;
        for (char byte : open) {
          --allowance.work;
          sets_.find_successors(inside, class_of[static_cast<std::uint8_t>(byte)], after);
          inside.swap(after);
        }
        steps.add(inside, token);
      }
      i = node.next;
      continue;
    }
    std::uint32_t token = node.token;
    if (token != TrieNode::kNoToken && (token & TrieNode::kShared)) token = vocabulary_.shared_ids(token)[0];
    if (token != TrieNode::kNoToken) steps.add(after, token);
    ++i;
  }
  return true;
}

// Whether each token of a subtree that ends with a complete character leads from a set to the same set.
bool AlternativeDistances::leads_back(const AlternativeSet& set, const Subtree& subtree) {
  return std::ranges::all_of(
      set, [&](AlternativeId id) { return subtree.used.is_subset_of(automaton_.self_loop_bytes(sets_[id].state)); });
}

}  // namespace detent
