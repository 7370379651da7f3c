// The prose of a file, and the phrases in it: what a reader reads, without the code around it.
//
// Prose is the comments and literals of a C++ file and the whole text of any other one.  Phrases
// are found across line ends, comment marks and joined literals, whatever their case.  Pure
// functions; the result of ProseText has the length of the text, so offsets are those of the file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/tidy/tree.h"

namespace podgpu::tidy {

// The text of `file`; in C++ with blanks in place of code and of #include lines.
std::string ProseText(const File& file);

// One place where a phrase was found.
struct Phrase {
  std::string_view text;  // As in the list of wanted phrases.
  size_t at = 0;          // Offset of its first word.
};

// Where the phrases of `wanted` stand in `prose`, in order.  A phrase is lower-case words separated
// by single blanks; the word "#" stands for any number.  "driver" is found in "driver's" too.
std::vector<Phrase> PhrasesIn(std::string_view prose, std::span<const std::string_view> wanted);

}  // namespace podgpu::tidy
