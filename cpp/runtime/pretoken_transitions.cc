#include "runtime/pretoken_transitions.h"

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "base/fork_guard.h"

namespace detent {
namespace {

constexpr std::int64_t kMaxCells = 64 << 20;  // 128 MiB

std::uint64_t next_cache_key() {
  static std::atomic<std::uint64_t> count{0};
  return 0x63616e6f6eULL << 24 | ++count;
}

}  // namespace

PretokenTransitions::PretokenTransitions(std::shared_ptr<const Vocabulary> vocabulary,
                                         std::shared_ptr<const Encoder> encoder)
    : vocabulary_(std::move(vocabulary)),
      encoder_(std::move(encoder)),
      cache_key_(next_cache_key()),
      has_special_(!vocabulary_->special_names().empty()) {
  if (vocabulary_->size() != encoder_->size()) {
    throw Error(ErrorKind::argument, "encoder_size", encoder_->size(), vocabulary_->size());
  }
  const auto cells = static_cast<std::int64_t>(encoder_->pretokenizer().state_count()) * 2 * encoder_->size();
  if (cells > kMaxCells) throw Error(ErrorKind::unsupported, "split_states", cells, kMaxCells);
  if (encoder_->characters().node_count() > INT16_MAX) {
    throw Error(ErrorKind::unsupported, "split_states", INT16_MAX, INT16_MAX);
  }
  shapes_ = std::make_unique<const TokenShapes>(*vocabulary_, *encoder_);
  find_completing_tokens();
}

void PretokenTransitions::find_completing_tokens() {
  for (std::uint32_t token = 0; token < encoder_->size(); ++token) {
    if (!encoder_->is_unsplit(token)) continue;
    const std::string_view text = vocabulary_->bytes(token);
    std::vector<UnsplitNode> nodes{encoder_->unsplit_root()};  // by length of the prefix of the text
    for (std::size_t i = 0; i < text.size(); ++i) {
      nodes.push_back(encoder_->unsplit_step(nodes.back(), text.substr(i, 1)));
    }
    for (std::size_t begin = 0; begin < text.size(); ++begin) {
      std::vector<UnsplitEdge>& known = completes_unsplit_[nodes[begin].value];
      for (std::size_t end = text.size() - (begin == 0); end > begin && end + kMaxEndingBytes >= text.size(); --end) {
        for (std::uint32_t part : vocabulary_->ids_with_bytes(text.substr(begin, end - begin))) {
          known.emplace_back(part, nodes[end]);
        }
      }
    }
  }
  for (auto& [node, known] : completes_unsplit_) {
    std::ranges::sort(known);
    known.erase(std::unique(known.begin(), known.end()), known.end());
  }
}

const std::vector<PretokenTransitions::UnsplitEdge>& PretokenTransitions::completes_unsplit(UnsplitNode node) const {
  static const std::vector<UnsplitEdge> none;
  const auto known = completes_unsplit_.find(node.value);
  return known == completes_unsplit_.end() ? none : known->second;
}

bool PretokenTransitions::may_end_pretoken(const SplitPosition& at, std::uint32_t last) const {
  if (at.position.decoded().inside_character()) return false;
  return last == kNoToken || encoder_->is_unsplit(last) || encoder_->unsplit_token(at.unsplit) == Encoder::kNone;
}

UnsplitNode PretokenTransitions::unsplit_after(UnsplitNode node, std::uint32_t token) const {
  if (node == Encoder::kNoUnsplit || is_special(token)) return Encoder::kNoUnsplit;
  return encoder_->unsplit_step(node, vocabulary_->bytes(token));
}

CharacterDfa::Step PretokenTransitions::step_special(std::uint16_t node, std::uint8_t byte) {
  const bool opens = node == CharacterDfa::kBorder;
  const bool closes = node == kInSpecial && byte == kFrameBound;
  const std::uint16_t next = closes ? CharacterDfa::kBorder : kInSpecial;
  return {next, CharacterDfa::kNoClass, !opens && !closes && (byte & 0xC0) != 0x80};
}

// Computes the row of a position by a walk over the trie of the vocabulary. Used inside a character, where few tokens
// may follow, and where TokenShapes gave up.
class PretokenTransitions::RowBuilder {
 public:
  RowBuilder(const PretokenTransitions& transitions, PositionId from)
      : vocabulary_(*transitions.vocabulary_), encoder_(*transitions.encoder_), start_(from.decoded()) {
    if (!start_.inside_character()) row_.dense.assign(vocabulary_.size(), TransitionRow::kRefused);
    walk();
    std::ranges::sort(row_.sparse);
  }
  TransitionRow finish() { return std::move(row_); }

 private:
  // A node of the trie, as the position reaches it.
  struct Reached {
    PretokenPosition position;
    bool all_in_pieces;  // each character so far may be written in pieces
  };

  void walk() {
    std::vector<Reached> path(vocabulary_.max_token_length() + std::size_t{1});
    path[0] = {start_, true};
    const std::vector<TrieNode>& trie = vocabulary_.trie();
    for (std::size_t i = 0; i < trie.size();) {
      const TrieNode& node = trie[i];
      const Reached& before = path[node.depth];
      const CharacterDfa::Step step =
          encoder_.characters().step(before.position.character_node, static_cast<std::uint8_t>(node.byte));
      Reached& after = path[node.depth + std::size_t{1}];
      if (!advance(before, step, after)) {
        i = node.next;
        continue;
      }
      const bool first_byte = node.depth == 0;
      const bool byte_token_fits =
          first_byte && (step.node != CharacterDfa::kBorder || step.of_class != Encoder::kInPieces);
      if (node.token != TrieNode::kNoToken && node.token & TrieNode::kShared) {
        for (std::uint32_t token : vocabulary_.shared_ids(node.token)) add(token, after, byte_token_fits);
      } else if (node.token != TrieNode::kNoToken) {
        add(node.token, after, byte_token_fits);
      }
      ++i;
    }
  }

  bool advance(const Reached& before, const CharacterDfa::Step& step, Reached& after) const {
    if (step.dead) return false;
    const PretokenPosition& from = before.position;
    if (step.node != CharacterDfa::kBorder) {
      after = {{from.state, step.node, from.starts_pretoken}, before.all_in_pieces};
      return true;
    }
    const PreTokenizer::State state = encoder_.pretokenizer().step(from.state, from.starts_pretoken, step.of_class);
    if (state == PreTokenizer::kDead) return false;
    after = {{state, CharacterDfa::kBorder, false}, before.all_in_pieces && step.of_class != Encoder::kInByteTokens};
    return true;
  }

  void add(std::uint32_t token, const Reached& after, bool byte_token_fits) {
    bool fits = false;
    if (encoder_.is_byte_token(token)) {
      fits = byte_token_fits;
    } else if (encoder_.pieces()) {
      const bool whole_characters = !start_.inside_character() && !after.position.inside_character();
      fits = whole_characters && after.all_in_pieces && encoder_.may_have_neighbours(token);
    } else {
      const bool at_start = !start_.inside_character() && start_.starts_pretoken;
      fits = encoder_.may_have_neighbours(token) || (encoder_.is_unsplit(token) && at_start);
    }
    if (!fits) return;
    const PositionId position = PositionId::of(after.position);
    const auto [target, is_new] = targets_.try_emplace(position.value, static_cast<std::uint16_t>(row_.targets.size()));
    if (is_new) row_.targets.push_back(position);
    if (row_.dense.empty()) {
      row_.sparse.emplace_back(token, target->second);
    } else {
      row_.dense[token] = target->second;
    }
  }

  const Vocabulary& vocabulary_;
  const Encoder& encoder_;
  PretokenPosition start_;
  TransitionRow row_;
  std::unordered_map<std::uint32_t, std::uint16_t> targets_;  // index by position
};

const TransitionRow& PretokenTransitions::row(PositionId from) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const TransitionRow>& known = rows_[from.value];
  if (!known) known = std::make_unique<const TransitionRow>(make_row(from));
  return *known;
}

TransitionRow PretokenTransitions::make_row(PositionId from) {
  const PretokenPosition position = from.decoded();
  if (position.inside_character()) return RowBuilder(*this, from).finish();
  TransitionRow row;
  if (shapes_->gave_up()) {
    row = RowBuilder(*this, from).finish();
  } else {
    TokenShapes::Targets found = shapes_->from(position);
    row.targets = std::move(found.positions);
    row.dense = std::move(found.of_token);
  }
  if (has_special_) add_special(position, row);
  row.taken.assign(vocabulary_->word_count(), 0);
  for (std::uint32_t token = 0; token < row.dense.size(); ++token) {
    row.taken[token >> 5] |= std::uint32_t{row.dense[token] != TransitionRow::kRefused} << (token & 31);
  }
  return row;
}

void PretokenTransitions::add_special(const PretokenPosition& from, TransitionRow& row) const {
  if (!from.starts_pretoken || !encoder_->pretokenizer().may_end(from.state)) return;
  for (std::uint32_t token = 0; token < vocabulary_->size(); ++token) {
    if (is_special(token)) row.dense[token] = static_cast<std::uint16_t>(row.targets.size());
  }
  row.targets.push_back(PositionId::inside(PreTokenizer::kTextStart));
}

std::vector<std::uint32_t> PretokenTransitions::encode(std::string_view text) const {
  if (!has_special_) return encoder_->encode(text);
  std::vector<std::uint32_t> tokens;
  while (true) {
    const std::size_t begin = text.find(static_cast<char>(kFrameBound));
    const std::vector<std::uint32_t> before = encoder_->encode(text.substr(0, begin));
    tokens.insert(tokens.end(), before.begin(), before.end());
    if (begin == std::string_view::npos) return tokens;
    const std::size_t end = text.find(static_cast<char>(kFrameBound), begin + 1) + 1;
    tokens.push_back(vocabulary_->ids_with_bytes(text.substr(begin, end - begin))[0]);
    text.remove_prefix(end);
  }
}

}  // namespace detent
