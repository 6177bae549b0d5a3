#include "runtime/exclusion_texts.h"

#include <algorithm>
#include <utility>

namespace detent {
namespace {

constexpr std::uint32_t kLongest = 1'024;  // bytes of a completion that is written out

}  // namespace

bool ExclusionTexts::has_within(ExclusionSearch::PositionId at, std::uint32_t tokens) {
  if (search_.completion_bound(at) <= tokens) return true;
  if (search_.is_padded(at) && most_tokens(at) <= tokens) return true;
  const auto [known, is_new] = has_within_.try_emplace(std::uint64_t{at} << 32 | tokens);
  if (is_new) known->second = within(at, tokens).has_value();
  return known->second;
}

std::optional<std::vector<std::uint32_t>> ExclusionTexts::within(ExclusionSearch::PositionId at, std::uint32_t tokens) {
  const auto path = search_.path(at);
  if (!path) return std::nullopt;
  const auto& [first, end] = *path;
  const Text* rest = find(end, tokens);
  if (!rest) return std::nullopt;
  std::vector<std::uint32_t> found = vocabulary_.fewest_tokens(first + rest->text);
  if (found.size() > tokens) return std::nullopt;
  return found;
}

const ExclusionTexts::Text* ExclusionTexts::find(ExclusionSearch::PositionId at, std::uint32_t tokens) {
  if (search_.accepting(at)) return &empty_;
  if (!search_.is_padded(at)) {
    const ExprId main = search_.main(at);
    const auto [known, is_new] = texts_of_main_.try_emplace(main.value);
    if (is_new && automaton_.completion_bound(main) <= kLongest) {
      if (std::optional<std::string> text = automaton_.some_completion(main)) known->second = written(*std::move(text));
    }
    return known->second.tokens <= tokens ? &known->second : nullptr;
  }
  const Texts& texts = texts_of(at);
  if (texts.after_padding.tokens <= tokens) return &texts.after_padding;
  for (const Text& each : texts.short_) {
    if (each.tokens <= tokens && search_.allows(search_.excluded(at), each.text)) return &each;
  }
  return nullptr;
}

const ExclusionTexts::Texts& ExclusionTexts::texts_of(ExclusionSearch::PositionId at) {
  const auto [known, is_new] = texts_.try_emplace(search_.padding_id(at));
  Texts& texts = known->second;
  if (!is_new) return texts;
  const ExprId main = search_.main(at);
  if (automaton_.completion_bound(main) > kLongest) return texts;
  const std::optional<std::string> end = automaton_.some_completion(main);
  if (!end) return texts;
  const LiveLoops::Padded padding = search_.padding(at);
  for (std::uint32_t count = 0; count <= padding.length; ++count) {
    texts.short_.push_back(written(std::string(count, static_cast<char>(padding.byte)) + *end));
  }
  const auto after_padding = search_.start(padding.rest);  // nothing where it excludes nothing
  if (after_padding ? search_.allows(search_.excluded(*after_padding), *end) : padding.rest == main) {
    texts.after_padding = texts.short_.back();
  }
  return texts;
}

ExclusionTexts::Text ExclusionTexts::written(std::string text) const {
  const auto tokens = static_cast<std::uint32_t>(vocabulary_.fewest_tokens(text).size());
  return {std::move(text), tokens};
}

}  // namespace detent
