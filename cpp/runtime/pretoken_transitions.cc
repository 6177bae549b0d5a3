#include "runtime/pretoken_transitions.h"

#include <atomic>

#include "base/error.h"
#include "base/fork_guard.h"

namespace detent {
namespace {

constexpr std::int64_t kMostCells = 64 << 20;  // 128 MiB

std::uint64_t next_salt() {
  static std::atomic<std::uint64_t> count{0};
  return 0x63616e6f6eULL << 24 | ++count;
}

}  // namespace

PretokenTransitions::PretokenTransitions(std::shared_ptr<const Vocabulary> vocabulary,
                                         std::shared_ptr<const Encoder> encoder)
    : vocabulary_(std::move(vocabulary)),
      encoder_(std::move(encoder)),
      salt_(next_salt()),
      has_special_(!vocabulary_->special_names().empty()) {
  if (vocabulary_->size() != encoder_->size()) {
    throw Error(ErrorKind::argument, "encoder_size", encoder_->size(), vocabulary_->size());
  }
  const auto cells = static_cast<std::int64_t>(encoder_->split().state_count()) * 2 * encoder_->size();
  if (cells > kMostCells) throw Error(ErrorKind::unsupported, "split_states", cells, kMostCells);
  for (std::uint32_t token = 0; token < encoder_->size(); ++token) {
    if (!encoder_->whole_only(token)) continue;
    const std::string_view text = vocabulary_->bytes(token);
    for (std::size_t read = 0; read < text.size(); ++read) {
      std::vector<std::uint32_t>& known = completing_[encoder_->whole_step(Encoder::kRoot, text.substr(0, read))];
      for (std::size_t end = text.size() - (read == 0); end > read && end + kRest >= text.size(); --end) {
        const std::vector<std::uint32_t> part = vocabulary_->ids_with_bytes(text.substr(read, end - read));
        known.insert(known.end(), part.begin(), part.end());
      }
    }
  }
  if (encoder_->characters().node_count() > INT16_MAX)
    throw Error(ErrorKind::unsupported, "split_states", INT16_MAX, INT16_MAX);
}

PretokenTransitions::PlaceId PretokenTransitions::step(PlaceId from, std::uint8_t byte) const {
  const Place before = place(from);
  const CharacterDfa::Step step = step_character(before.node, byte);
  if (step.dead) return kDead;
  if (before.node == kInSpecial) return id({PreTokenizer::kTextStart, step.node, false});
  if (step.node == kInSpecial) {
    return before.marked && encoder_->split().may_end(before.state) ? id({PreTokenizer::kTextStart, kInSpecial, false})
                                                                    : kDead;
  }
  if (step.node != 0) return id({before.state, step.node, before.marked});
  const std::uint16_t state = encoder_->split().step(before.state, before.marked, step.of_class);
  return state == PreTokenizer::kDead ? kDead : id({state, 0, false});
}

CharacterDfa::Step PretokenTransitions::step_special(std::uint16_t node, std::uint8_t byte) {
  const bool closes = node == kInSpecial && byte == kFrameBound;
  const bool opens = node == 0;
  return {closes ? std::uint16_t{0} : kInSpecial, CharacterDfa::kNoClass, !opens && !closes && (byte & 0xC0) != 0x80};
}

const PretokenTransitions::Table& PretokenTransitions::table(PlaceId from) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const Table>& known = tables_[from];
  if (!known) known = std::make_unique<const Table>(build(from));
  return *known;
}

const std::vector<std::uint32_t>& PretokenTransitions::completing(std::uint32_t whole) const {
  static const std::vector<std::uint32_t> none;
  const auto known = completing_.find(whole);
  return known == completing_.end() ? none : known->second;
}

PretokenTransitions::Table PretokenTransitions::build(PlaceId from) const {
  struct Open {
    Place place;
    bool is_known;  // all characters so far may be in pieces
  };
  Table table;
  std::unordered_map<PlaceId, std::uint16_t> known;
  const Place start = place(from);
  const bool at_border = start.node == 0;
  if (at_border) table.of_all.assign(vocabulary_->size(), Table::kRefused);
  std::vector<Open> path(vocabulary_->max_token_length() + std::size_t{1});
  path[0] = {start, true};
  const std::vector<TrieNode>& trie = vocabulary_->trie();
  for (std::size_t i = 0; i < trie.size();) {
    const TrieNode& node = trie[i];
    const Open& before = path[node.depth];
    const CharacterDfa::Step step =
        encoder_->characters().step(before.place.node, static_cast<std::uint8_t>(node.byte));
    Open& behind = path[node.depth + std::size_t{1}];
    bool dead = step.dead;
    if (!dead && step.node != 0) {
      behind = {{before.place.state, step.node, before.place.marked}, before.is_known};
    } else if (!dead) {
      const std::uint16_t state = encoder_->split().step(before.place.state, before.place.marked, step.of_class);
      dead = state == PreTokenizer::kDead;
      behind = {{state, 0, false}, before.is_known && step.of_class != Encoder::kBytes};
    }
    if (dead) {
      i = node.next;
      continue;
    }
    const auto put = [&](std::uint32_t token) {
      bool fits = false;
      if (encoder_->is_byte_piece(token)) {
        // Only inside a character that is no piece.
        fits = node.depth == 0 && (step.node != 0 || step.of_class != Encoder::kPieces);
      } else if (encoder_->pieces()) {
        fits = at_border && behind.is_known && behind.place.node == 0 && encoder_->merged(token);
      } else {
        fits = encoder_->merged(token) || (encoder_->whole_only(token) && at_border && start.marked);
      }
      if (!fits) return;
      const auto [target, is_new] =
          known.try_emplace(id(behind.place), static_cast<std::uint16_t>(table.targets.size()));
      if (is_new) table.targets.push_back(id(behind.place));
      if (at_border) {
        table.of_all[token] = target->second;
      } else {
        table.of_few.emplace_back(token, target->second);
      }
    };
    if (node.token != TrieNode::kNoToken) {
      if (node.token & TrieNode::kShared) {
        for (std::uint32_t token : vocabulary_->shared_ids(node.token)) put(token);
      } else {
        put(node.token);
      }
    }
    ++i;
  }
  std::ranges::sort(table.of_few);
  if (has_special_ && at_border && start.marked && encoder_->split().may_end(start.state)) {
    for (std::uint32_t token = 0; token < vocabulary_->size(); ++token) {
      if (is_special(token)) table.of_all[token] = static_cast<std::uint16_t>(table.targets.size());
    }
    table.targets.push_back(id({PreTokenizer::kTextStart, 0, false}));
  }
  return table;
}

}  // namespace detent
