#include "runtime/canonical_conjunction_walk.h"

#include <span>
#include <utility>

namespace detent {

namespace {

constexpr std::size_t kMostCompletions = 64;  // of a target

// As in TokenBounds: whether no token can make the pre-token the text of an unsplit token.
bool has_no_unsplit(const SplitPosition& at) {
  const PretokenPosition position = at.position.decoded();
  return (!position.inside_character() && position.starts_pretoken) || at.unsplit == Encoder::kNoUnsplit;
}

}  // namespace

CanonicalConjunctionWalk::CanonicalConjunctionWalk(const TokenizedLanguage& language, Completions& completions,
                                                   PretokenEndings& endings, CompletionSearch& search, ExprId state,
                                                   const SplitPosition& at)
    : language_(language),
      completions_(completions),
      endings_(endings),
      search_(search),
      at_(at),
      row_(language.transitions.row(at.position)),
      no_unsplit_(has_no_unsplit(at)),
      sets_(language.automaton, state),
      known_(row_.targets.size()) {}

// Calls visit(token, set) for each token that no conjunct refuses, until one call returns true.
template <class Visit>
void CanonicalConjunctionWalk::walk(Visit visit) {
  const Vocabulary& vocabulary = language_.vocabulary();
  const std::vector<TrieNode>& trie = vocabulary.trie();
  std::vector<ConjunctSets::Id> path(vocabulary.max_token_length() + std::size_t{1}, ConjunctSets::kStart);
  std::int64_t visited = 0;
  for (std::size_t i = 0; i < trie.size(); ++visited) {
    const TrieNode& node = trie[i];
    const ConjunctSets::Id at = path[node.depth];
    if (node.subtree) {
      const Subtree& subtree = vocabulary.subtrees()[node.subtree];
      if (subtree.whole && subtree.used.is_subset_of(sets_.loop(at))) {
        const auto ids = std::span(vocabulary.ids_in_order()).subspan(subtree.first, subtree.last - subtree.first);
        for (std::uint32_t token : ids) {
          if (visit(token, at)) return;
        }
        i = node.next;
        continue;
      }
    }
    const ConjunctSets::Id after = sets_.follow(at, static_cast<std::uint8_t>(node.byte));
    bool done = false;
    if (!sets_.is_dead(after)) {
      for_each_id(vocabulary, node.token, [&](std::uint32_t token) { done = done || visit(token, after); });
    }
    if (done) return;
    if (sets_.is_dead(after)) {
      i = node.next;
      continue;
    }
    path[node.depth + std::size_t{1}] = after;
    ++i;
  }
  language_.meter.step(visited / 8 + 1);
}

void CanonicalConjunctionWalk::run(Verdicts& verdicts, std::uint32_t* row) {
  walk([&](std::uint32_t token, ConjunctSets::Id set) {
    if (decide(verdicts, token, set)) row[token >> 5] |= 1u << (token & 31);
    return false;
  });
}

std::optional<std::vector<std::uint32_t>> CanonicalConjunctionWalk::completion_after(Verdicts& verdicts,
                                                                                     std::uint32_t token) {
  std::optional<std::vector<std::uint32_t>> found;
  walk([&](std::uint32_t each, ConjunctSets::Id set) {
    const bool is_allowed = decide(verdicts, each, set);
    if (each == token && is_allowed && last_used_) found = tokens(*last_used_);
    return each == token;
  });
  return found;
}

std::vector<std::uint32_t> CanonicalConjunctionWalk::tokens(const Completion& completion) {
  std::vector<std::uint32_t> tokens;
  ExprId state = completion.state;
  PreTokenizer::State boundary = completion.position.decoded().state;
  if (completion.ending) {
    tokens = endings_.tokens(state, completion.position, *completion.ending);
    state = completion.ending->state;
    boundary = completion.ending->boundary;
  }
  const std::vector<std::uint32_t> rest = language_.transitions.encode(completions_.text(state, boundary));
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  return tokens;
}

CanonicalConjunctionWalk::Group& CanonicalConjunctionWalk::group(ConjunctSets::Id set, std::uint16_t target) {
  if (set >= groups_.size()) groups_.resize(set * std::size_t{3} / 2 + 64);
  if (groups_[set].empty()) groups_[set].resize(known_.size());
  return groups_[set][target];
}

bool CanonicalConjunctionWalk::decide(Verdicts& verdicts, std::uint32_t token, ConjunctSets::Id set) {
  last_used_ = nullptr;
  const std::uint16_t target = row_.target_of(token);
  if (target == TransitionRow::kRefused) return false;
  Group& known = group(set, target);
  if (known.fits_all) {
    last_used_ = known.fits_all;
    return true;
  }
  if (find(verdicts, token, set, target)) return true;
  const ExprId state = sets_.state(set);
  if (state == ExprSet::kEmpty) return false;
  if (!std::exchange(known.knows_own_texts, true)) {
    add_completions(state, target, verdicts.counts());
    if (find(verdicts, token, set, target)) return true;
  }
  return verdicts.decide(token, state);
}

// Finds a known completion that fits a token.
bool CanonicalConjunctionWalk::find(Verdicts& verdicts, std::uint32_t token, ConjunctSets::Id set,
                                    std::uint16_t target) {
  std::vector<Completion*>& completions = known_[target];
  for (std::size_t k = 0; k < completions.size(); ++k) {
    Completion* each = completions[k];
    if (!sets_.contains(set, each->text) || !may_follow(token, *each)) continue;
    if (verdicts.counts() && !verdicts.fits(token_count(*each))) continue;
    if (k > 0) std::swap(completions[k], completions[k - 1]);
    last_used_ = each;
    if (!each->ending && no_unsplit_) group(set, target).fits_all = each;
    return true;
  }
  return false;
}

std::uint32_t CanonicalConjunctionWalk::token_count(Completion& completion) {
  if (!completion.tokens) {
    completion.tokens = completion.ending
                            ? search_.token_count(completion.state, completion.position, *completion.ending)
                            : completions_.token_count(completion.state, completion.position.decoded().state);
  }
  return *completion.tokens;
}

bool CanonicalConjunctionWalk::may_follow(std::uint32_t token, const Completion& completion) {
  if (!completion.ending && no_unsplit_) return true;
  const SplitPosition after{completion.position, language_.transitions.unsplit_after(at_.unsplit, token)};
  if (!completion.ending) return language_.transitions.may_end_pretoken(after, token);
  return search_.fits_ending({completion.state, after, token}, *completion.ending);
}

// Adds the completions of a state that need no search: where a pre-token may end for every token, only that one, unless
// `all`.
void CanonicalConjunctionWalk::add_completions(ExprId state, std::uint16_t target, bool all) {
  const PositionId position = row_.targets[target];
  const auto add = [&](std::string text, PretokenEnding* ending) {
    if (known_[target].size() == kMostCompletions) known_[target].pop_back();
    storage_.push_back({sets_.add_text(std::move(text)), state, position, ending, {}});
    known_[target].insert(known_[target].begin(), &storage_.back());
  };
  const bool may_end = search_.arrival(state, position).may_end;
  if (all || !may_end || !no_unsplit_) {
    for (PretokenEnding& ending : endings_.find(state, position).endings) {
      std::string text = ending.text;
      if (language_.encoder().single_pretoken()) {
        text.clear();
        for (std::uint32_t token : endings_.tokens(state, position, ending)) text += language_.vocabulary().bytes(token);
      }
      add(text + completions_.text(ending.state, ending.boundary), &ending);
    }
  }
  if (may_end) add(completions_.text(state, position.decoded().state), nullptr);
}

}  // namespace detent
