#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "tools/tidy/checks.h"
#include "tools/tidy/prose.h"

namespace podgpu::tidy {
namespace {

// This file and its test have to write the words.
constexpr std::string_view kOwnFiles = "tools/tidy/words";

// A phrase that readers stumble over, and what to write in its place.
struct Stumble {
  std::string_view phrase;
  std::string_view better;
};

constexpr std::array kStumbles = {
    Stumble{"anew", "\"again\", or what is new"},
    Stumble{"another one when", "\"changes whenever\""},
    Stumble{"are to be", "\"must be\" or \"will be\""},
    Stumble{"gladly", "what really happens"},
    Stumble{"is to be", "\"must be\" or \"will be\""},
    Stumble{"let go of", "\"release\""},
    Stumble{"lets go of", "\"releases\""},
    Stumble{"letting go of", "\"releasing\""},
    Stumble{"nobody", "\"no process\", \"no client\", \"no one\""},
    Stumble{"whoever", "\"an operator who\", \"a client that\""},
    Stumble{"whom", "the name of the actor"},
};

constexpr std::array<std::string_view, kStumbles.size()> PhrasesOf() {
  std::array<std::string_view, kStumbles.size()> phrases;
  std::ranges::transform(kStumbles, phrases.begin(), &Stumble::phrase);
  return phrases;
}

std::string_view BetterThan(std::string_view phrase) {
  return std::ranges::find(kStumbles, phrase, &Stumble::phrase)->better;
}

void Fill(std::string& text, size_t begin, size_t end) {
  for (size_t at = begin; at < end; ++at) {
    if (text[at] != '\n') {
      text[at] = ' ';
    }
  }
}

// Blanks what a document quotes: fenced blocks and `code spans`.
void BlankQuotes(const File& file, std::string& prose) {
  bool fenced = false;
  for (std::string_view line : file.Lines()) {
    const auto begin = static_cast<size_t>(line.data() - file.text().data());
    const bool fence = line.starts_with("```");
    fenced = fenced != fence;
    if (fenced || fence) {
      Fill(prose, begin, begin + line.size());
      continue;
    }
    for (size_t open = line.find('`'); open != std::string_view::npos;) {
      const size_t close = line.find('`', open + 1);
      if (close == std::string_view::npos) {
        break;
      }
      Fill(prose, begin + open, begin + close + 1);
      open = line.find('`', close + 1);
    }
  }
}

// The words of a test's name, "A test of whom" for `TEST(X, ATestOfWhom)`; empty for other lines.
std::string WordsOfTestName(std::string_view line) {
  if (!line.starts_with("TEST")) {
    return "";
  }
  std::string words;
  for (char c : line) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0) {
      words += ' ';
    }
    words += c;
  }
  return words;
}

void CheckFile(const File& file, Complaints& complaints) {
  constexpr std::array kPhrases = PhrasesOf();
  const auto complain = [&](int line, std::string_view phrase) {
    if (!file.Allows(line, NameOf(Rule::kPlainEnglish))) {
      complaints.push_back({file.path(), line, Rule::kPlainEnglish,
                            "\"" + std::string(phrase) +
                                "\" is written; better: " + std::string(BetterThan(phrase))});
    }
  };
  std::string prose = ProseText(file);
  if (file.path().ends_with(".md")) {
    BlankQuotes(file, prose);
  }
  for (const Phrase& phrase : PhrasesIn(prose, kPhrases)) {
    complain(file.LineAt(phrase.at), phrase.text);
  }
  if (!file.is_cpp()) {
    return;
  }
  int number = 0;
  for (std::string_view line : file.Lines()) {
    ++number;
    for (const Phrase& phrase : PhrasesIn(WordsOfTestName(line), kPhrases)) {
      complain(number, phrase.text);
    }
  }
}

}  // namespace

void CheckWords(const Tree& tree, Complaints& complaints) {
  for (const File& file : tree.files) {
    if (!file.path().starts_with(kOwnFiles)) {
      CheckFile(file, complaints);
    }
  }
}

}  // namespace podgpu::tidy
