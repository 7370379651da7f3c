#include "fields/csv_records.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

// Returns `content` with every `\r\n` replaced by `\n`, and without a `\r` at the very end.
std::string WithPlainLineEnds(std::string_view content) {
  std::string text;
  text.reserve(content.size());
  for (size_t i = 0; i < content.size(); ++i) {
    const bool before_line_end = i + 1 == content.size() || content[i + 1] == '\n';
    if (content[i] != '\r' || !before_line_end) {
      text += content[i];
    }
  }
  return text;
}

constexpr size_t kMostRecords = 10'000;
constexpr size_t kMostColumns = 64;  // Three are needed.

class Reader {
 public:
  Reader(std::string_view text, std::string_view path) : rest_(text), path_(path) {}

  StatusOr<std::vector<CsvRecord>> ReadAll() {
    std::vector<CsvRecord> records;
    while (!rest_.empty()) {
      if (rest_.front() == '#' || rest_.front() == '\n') {
        SkipLine();
        continue;
      }
      if (records.size() == kMostRecords) {
        return Error(line_, absl::StrFormat(
                                "more than %d lines of metrics. Remove lines that are not metrics",
                                kMostRecords));
      }
      PODGPU_ASSIGN_OR_RETURN(CsvRecord record, ReadRecord());
      records.push_back(std::move(record));
    }
    return records;
  }

 private:
  Status Error(int line, std::string_view what) const {
    return absl::InvalidArgumentError(absl::StrFormat("%s:%d: %s", path_, line, what));
  }

  void SkipLine() {
    rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size() - 1) + 1);
    ++line_;
  }

  StatusOr<CsvRecord> ReadRecord() {
    CsvRecord record{.line = line_, .columns = {}};
    bool more = true;
    while (more) {
      if (record.columns.size() == kMostColumns) {
        return Error(record.line, absl::StrFormat("more than %d columns. Write three: field, type, "
                                                  "help",
                                                  kMostColumns));
      }
      std::string column;
      PODGPU_RETURN_IF_ERROR(rest_.starts_with('"') ? ReadQuoted(column) : ReadPlain(column));
      record.columns.push_back(std::move(column));
      more = rest_.starts_with(',');
      if (more) {
        rest_.remove_prefix(1);
      }
    }
    if (!rest_.empty()) {
      SkipLine();
    }
    return record;
  }

  // Reads up to the comma or line end, which is not consumed.
  Status ReadPlain(std::string& column) {
    column = rest_.substr(0, rest_.find_first_of(",\n"));
    if (column.find('"') != std::string::npos) {
      return Error(line_,
                   "a quotation mark inside an unquoted column. Quote the whole column, directly "
                   "after the comma, and write the mark twice");
    }
    rest_.remove_prefix(column.size());
    return absl::OkStatus();
  }

  // Reads from the opening mark to the position after the closing mark.
  Status ReadQuoted(std::string& column) {
    const int opened_on_line = line_;
    rest_.remove_prefix(1);
    while (true) {
      const size_t mark = rest_.find('"');
      if (mark == std::string_view::npos) {
        return Error(opened_on_line,
                     "a quoted column has no closing quotation mark. Add it at the end");
      }
      column += rest_.substr(0, mark);
      line_ += static_cast<int>(std::ranges::count(rest_.substr(0, mark), '\n'));
      rest_.remove_prefix(mark + 1);
      if (!rest_.starts_with('"')) {
        break;
      }
      column += '"';
      rest_.remove_prefix(1);
    }
    if (rest_.empty() || rest_.front() == ',' || rest_.front() == '\n') {
      return absl::OkStatus();
    }
    return Error(line_,
                 "text after the closing quotation mark of a column. Write a mark inside a quoted "
                 "column twice");
  }

  std::string_view rest_;
  std::string_view path_;
  int line_ = 1;
};

}  // namespace

Status CheckCsvSize(std::string_view content, std::string_view path) {
  if (content.size() <= kMostCsvBytes) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("%s: %d bytes are too many for a list of metrics; the limit is %d. Correct "
                      "the path, or shorten the list",
                      path, content.size(), kMostCsvBytes));
}

StatusOr<std::vector<CsvRecord>> ReadCsvRecords(std::string_view content, std::string_view path) {
  PODGPU_RETURN_IF_ERROR(CheckCsvSize(content, path));
  const std::string text = WithPlainLineEnds(content);
  return Reader(text, path).ReadAll();
}

}  // namespace podgpu
