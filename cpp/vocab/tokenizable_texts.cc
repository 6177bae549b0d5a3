#include "vocab/tokenizable_texts.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace detent {
namespace {

// Collects the tokens that are no concatenations of shorter ones; the others add nothing to (t1|t2|...)*. Tokens must
// be added by ascending length.
class IrreducibleTokens {
 public:
  // Returns whether `token` was added. Once the work limit is reached, tokens are added unchecked.
  bool add(std::string_view token) {
    if (is_concatenation(token)) return false;
    std::uint32_t node = 0;
    for (char byte : token) {
      const auto [child, is_new] = children_.try_emplace(key(node, byte), ends_token_.size());
      if (is_new) ends_token_.push_back(false);
      node = child->second;
    }
    ends_token_[node] = true;
    return true;
  }

 private:
  static std::uint64_t key(std::uint32_t node, char byte) {
    return std::uint64_t{node} << 8 | static_cast<std::uint8_t>(byte);
  }

  bool is_concatenation(std::string_view token) {
    reached_.assign(token.size() + 1, false);
    reached_[0] = true;
    for (std::size_t from = 0; from < token.size() && work_left_ > 0; ++from) {
      if (!reached_[from]) continue;
      std::uint32_t node = 0;
      for (std::size_t to = from; to < token.size(); ++to) {
        --work_left_;
        const auto child = children_.find(key(node, token[to]));
        if (child == children_.end()) break;
        node = child->second;
        if (ends_token_[node]) reached_[to + 1] = true;
      }
    }
    return reached_[token.size()];
  }

  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // of trie nodes, by node and byte
  std::vector<bool> ends_token_{false};                        // by trie node
  std::vector<bool> reached_;                                  // buffer: positions that concatenations reach
  std::int64_t work_left_ = 20'000'000;
};

}  // namespace

NodeRef tokenizable_texts(std::vector<std::string_view> tokens) {
  std::sort(tokens.begin(), tokens.end(),
            [](std::string_view x, std::string_view y) { return x.size() != y.size() ? x.size() < y.size() : x < y; });
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  IrreducibleTokens irreducible;
  std::vector<NodeRef> literals;
  for (std::string_view token : tokens) {
    if (irreducible.add(token)) literals.push_back(Node::literal(std::string(token)));
  }
  return Node::repeat(Node::union_of(std::move(literals)), 0, Node::kUnbounded);
}

}  // namespace detent
