#include "top/view.h"

#include <algorithm>
#include <re2/re2.h>

namespace podgpu {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kIntervals[] = {milliseconds(500), milliseconds(1'000), milliseconds(2'000),
                                       milliseconds(5'000), milliseconds(10'000)};
constexpr size_t kLongestFilter = 200;
constexpr int64_t kMostExpressionBytes = int64_t{1} << 20;

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

// Moves the lines of an explanation, of help or of a detail.
void Scroll(const PressContext& context, int64_t step, TopView& view) {
  const auto most = static_cast<int64_t>(context.lines.value_or(0));
  const int64_t at = std::min(static_cast<int64_t>(view.scroll), most);
  view.scroll = static_cast<size_t>(std::clamp<int64_t>(at + step, 0, most));
}

// Moves the selection by `step` rows; without one, an arrow selects the first row.  Help and a
// detail have lines alone.
void Move(const PressContext& context, int64_t step, TopView& view) {
  if (view.shows_help || (view.shows_detail && view.pane != Pane::kExplain)) {
    Scroll(context, step, view);
    return;
  }
  if (context.rows.empty()) {
    return;
  }
  const auto last = static_cast<int64_t>(context.rows.size()) - 1;
  view.scroll = 0;  // Another GPU is explained from its first line.
  const auto found = std::ranges::find(context.rows, view.selection());
  const int64_t at =
      found == context.rows.end() ? (step > 0 ? -1 : 1) : found - context.rows.begin();
  view.selection() = context.rows[static_cast<size_t>(std::clamp<int64_t>(at + step, 0, last))];
}

void ChangeInterval(int step, TopView& view) {
  const auto* row = std::ranges::lower_bound(kIntervals, view.interval);
  const auto at = std::min<int64_t>(row - std::begin(kIntervals), std::ssize(kIntervals) - 1);
  view.interval = kIntervals[std::clamp<int64_t>(at + step, 0, std::ssize(kIntervals) - 1)];
}

void ChangeSort(const PressContext& context, int step, TopView& view) {
  if (context.columns > 0) {
    view.order() = {(context.sorted_by + step + context.columns) % context.columns, false};
  }
}

void NextNamespace(const PressContext& context, TopView& view) {
  const auto next = std::ranges::upper_bound(context.namespaces, view.only_namespace);
  view.only_namespace = next == context.namespaces.end() ? "" : *next;
}

PressResult TypeFilter(const KeyPress& key, TopView& view) {
  if (key.key == Key::kText && view.filter.size() < kLongestFilter) {
    view.filter += key.letter;
  } else if (key.key == Key::kBackspace && !view.filter.empty()) {
    view.filter.pop_back();
  } else if (key.key == Key::kEnter) {
    view.is_typing_filter = false;
  } else if (key.key == Key::kEscape) {
    view.is_typing_filter = false;
    view.filter.clear();
  } else {
    return PressResult::kNothing;
  }
  return PressResult::kChanged;
}

// Moves by a page: lines, or else the selection.
void MovePage(const PressContext& context, int direction, TopView& view) {
  const auto page = static_cast<int64_t>(std::max<size_t>(context.page_rows, 1)) * direction;
  if (context.lines) {
    Scroll(context, page, view);
  } else {
    Move(context, page, view);
  }
}

void ShowPane(size_t pane, const PressContext& context, TopView& view) {
  if (pane >= context.panes) {
    return;
  }
  view.pane = static_cast<Pane>(pane);
  view.scroll = 0;
  view.shows_detail = false;
  view.shows_help = false;
}

void Leave(TopView& view) {  // Goes one step back, for Esc.
  if (view.shows_help || view.shows_detail) {
    view.shows_help = view.shows_detail = false;
    view.scroll = 0;
  } else if (!view.filter.empty()) {
    view.filter.clear();
  } else {
    view.selection().clear();
  }
}

PressResult PressLetter(char letter, const PressContext& context, TopView& view) {
  switch (letter) {
    case 'q':
      return PressResult::kQuit;
    case '?':
      view.shows_help = !view.shows_help;
      view.scroll = 0;
      break;
    case '1':
    case '2':
    case '3':
    case '4':
      ShowPane(static_cast<size_t>(letter - '1'), context, view);
      break;
    case 'e':
      if (context.gpu) {
        view.selected[static_cast<size_t>(Pane::kExplain)] = std::to_string(*context.gpu);
      }
      ShowPane(static_cast<size_t>(Pane::kExplain), context, view);
      break;
    case 'j':
      Move(context, 1, view);
      break;
    case 'k':
      Move(context, -1, view);
      break;
    case '/':
      view.is_typing_filter = true;
      break;
    case '<':
      ChangeSort(context, -1, view);
      break;
    case '>':
      ChangeSort(context, 1, view);
      break;
    case 'r':
      view.order().is_reversed = !view.order().is_reversed;
      break;
    case 'i':
      view.idle_only = !view.idle_only;
      break;
    case 'n':
      NextNamespace(context, view);
      break;
    case 'p':
    case ' ':
      view.is_paused = !view.is_paused;
      break;
    case '+':
      ChangeInterval(1, view);
      break;
    case '-':
      ChangeInterval(-1, view);
      break;
    case 'c':
      view.colour = !view.colour;
      break;
    default:
      return PressResult::kNothing;
  }
  return PressResult::kChanged;
}

}  // namespace

struct RowFilter::Expression {
  Expression(std::string_view pattern, const RE2::Options& options)
      : regex(re2::StringPiece(pattern.data(), pattern.size()), options) {}
  RE2 regex;
};

RowFilter::RowFilter(std::string_view filter) {
  if (!filter.starts_with('~')) {
    part_ = LowerCase(filter);
    return;
  }
  RE2::Options options;
  options.set_log_errors(false);
  options.set_case_sensitive(false);
  options.set_max_mem(kMostExpressionBytes);
  expression_ = std::make_unique<Expression>(filter.substr(1), options);
  if (!expression_->regex.ok()) {
    error_ = expression_->regex.error();
    expression_ = nullptr;
  }
}

RowFilter::~RowFilter() = default;

bool RowFilter::Matches(std::string_view text) const {
  if (expression_ != nullptr) {
    return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression_->regex);
  }
  return part_.empty() || LowerCase(text).find(part_) != std::string::npos;
}

PressResult Press(const KeyPress& key, const PressContext& context, TopView& view) {
  if (view.is_typing_filter) {
    return TypeFilter(key, view);
  }
  const auto all = static_cast<int64_t>(context.rows.size() + context.lines.value_or(0));
  switch (key.key) {
    case Key::kText:
      return PressLetter(key.letter, context, view);
    case Key::kUp:
      Move(context, -1, view);
      break;
    case Key::kDown:
      Move(context, 1, view);
      break;
    case Key::kPageUp:
      MovePage(context, -1, view);
      break;
    case Key::kPageDown:
      MovePage(context, 1, view);
      break;
    case Key::kHome:
      Move(context, -all - 1, view);
      break;
    case Key::kEnd:
      Move(context, all + 1, view);
      break;
    case Key::kTab:
      ShowPane((static_cast<size_t>(view.pane) + 1) % context.panes, context, view);
      break;
    case Key::kEnter:
      view.shows_detail = !view.shows_detail && view.pane != Pane::kExplain;
      view.scroll = 0;
      break;
    case Key::kEscape:
      Leave(view);
      break;
    case Key::kBackspace:
      return PressResult::kNothing;
  }
  return PressResult::kChanged;
}

}  // namespace podgpu
