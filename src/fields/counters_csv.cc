#include "fields/counters_csv.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "fields/csv_records.h"
#include "fields/field_ids.h"

namespace podgpu {
namespace {

constexpr std::array<std::string_view, 6> kTypes = {"gauge",     "counter", "untyped",
                                                    "histogram", "summary", "label"};

// In the order of ExporterCounter.
constexpr std::array<std::string_view, 6> kExporterCounters = {
    "DCGM_EXP_XID_ERRORS_COUNT", "DCGM_EXP_CLOCK_EVENTS_COUNT", "DCGM_EXP_GPU_HEALTH_STATUS",
    "DCGM_EXP_P2P_STATUS",       "DCGM_EXP_XID_ERRORS_TOTAL",   "DCGM_EXP_CLOCK_EVENTS_TOTAL"};

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::optional<ExporterCounter> FindExporterCounter(std::string_view name) {
  const auto found = std::ranges::find(kExporterCounters, name);
  return found == kExporterCounters.end()
             ? std::nullopt
             : std::optional(static_cast<ExporterCounter>(found - kExporterCounters.begin()));
}

std::vector<std::string_view> AllNames() {
  std::vector<std::string_view> names;
  for (const Field& field : Catalogue()) {
    names.push_back(field.name);
    std::ranges::copy_if(field.other_names, std::back_inserter(names),
                         [](std::string_view name) { return !name.empty(); });
  }
  for (const LegacyName& legacy : LegacyNames()) {
    names.push_back(legacy.name);
  }
  names.insert(names.end(), kExporterCounters.begin(), kExporterCounters.end());
  return names;
}

std::string UnknownField(std::string_view name) {
  const std::optional<std::string_view> nearest = Nearest(name, AllNames());
  if (nearest) {
    return absl::StrFormat("unknown field %s; nearest is %s. Correct the line", Quoted(name),
                           *nearest);
  }
  return absl::StrFormat(
      "unknown field %s; no field has a similar name. Correct or remove the line", Quoted(name));
}

std::string WrongColumnCount(size_t count) {
  return absl::StrFormat("%d column%s, must be 3: field, type, help. %s", count,
                         count == 1 ? "" : "s",
                         count < 3 ? "Add the missing columns"
                                   : "Put a help text that contains a comma in quotation marks, "
                                     "directly after the comma");
}

std::string UnknownType(std::string_view type, std::string_view name) {
  return absl::StrFormat(
      "unknown type %s of %s; types are gauge, counter, untyped, histogram, summary and label. "
      "Correct the line",
      Quoted(type), name);
}

// Returns why a valid line yields no series; empty when it yields one.
std::string_view WhyNoSeries(const Counter& counter) {
  if (counter.field == nullptr) {
    return {};
  }
  if (counter.field->level == FieldLevel::kConnectX) {
    return "is a field of ConnectX adapters, which are not supported; the line yields no series";
  }
  const FieldType type = counter.field->type;
  if (type == FieldType::kBlob || type == FieldType::kTimestamp) {
    return "has neither a number nor a text; the line yields no series";
  }
  if (type == FieldType::kString && !counter.is_label()) {
    return "is a text, not a number; the line yields no series. Change its type to label";
  }
  return {};
}

class Parser {
 public:
  explicit Parser(std::string_view path) : path_(path) { result_.path = path; }

  Status Add(const CsvRecord& record) {
    if (record.columns.size() != 3) {
      return Error(record, WrongColumnCount(record.columns.size()));
    }
    const std::string_view name = Trim(record.columns[0], " ");
    const std::string_view type = Trim(record.columns[1], " ");
    const Field* field = FindFieldByName(name);
    const std::optional<ExporterCounter> own = FindExporterCounter(name);
    if (field == nullptr && !own) {
      return Error(record, UnknownField(name));
    }
    const bool is_type = std::ranges::find(kTypes, type) != kTypes.end();
    if (field != nullptr && !is_type) {
      return Error(record, UnknownType(type, name));
    }
    Counter counter{.line = record.line,
                    .name = std::string(name),
                    .field = field,
                    .type = CleanUtf8(type),
                    .help = CleanUtf8(Trim(record.columns[2], " ")),
                    .own = own};
    if (own && (!is_type || counter.is_label())) {
      Warn(counter,
           absl::StrFormat("has the type %s, which a metrics page does not allow; it is shown as "
                           "untyped. Change it to %s",
                           Quoted(type), name.ends_with("_TOTAL") ? "counter" : "gauge"));
      counter.type = "untyped";
    }
    Take(std::move(counter));
    return absl::OkStatus();
  }

  Counters Finish() && { return std::move(result_); }

 private:
  Status Error(const CsvRecord& record, std::string_view what) const {
    return absl::InvalidArgumentError(absl::StrFormat("%s:%d: %s", path_, record.line, what));
  }

  void Warn(const Counter& counter, std::string_view what) {
    result_.warnings.push_back(
        absl::StrFormat("%s:%d: %s %s", path_, counter.line, counter.name, what));
  }

  void Take(Counter counter) {
    const auto same = std::ranges::find_if(result_.counters, [&](const Counter& earlier) {
      return earlier.name == counter.name && earlier.is_label() == counter.is_label();
    });
    if (same != result_.counters.end()) {
      Warn(counter, absl::StrFormat("is already on line %d; this line has no effect. Remove one",
                                    same->line));
      return;
    }
    if (const std::string_view reason = WhyNoSeries(counter); !reason.empty()) {
      Warn(counter, reason);
    }
    result_.counters.push_back(std::move(counter));
  }

  std::string_view path_;
  Counters result_;
};

}  // namespace

std::optional<uint16_t> FieldBehind(const Counter& counter) {
  if (!counter.own) {
    return std::nullopt;
  }
  switch (*counter.own) {
    case ExporterCounter::kXidErrors:
    case ExporterCounter::kXidErrorsTotal:
      return field_ids::kXid;
    case ExporterCounter::kClockEvents:
    case ExporterCounter::kClockEventsTotal:
      return field_ids::kClockReasons;
    case ExporterCounter::kHealth:
    case ExporterCounter::kPeers:
      break;
  }
  return std::nullopt;
}

StatusOr<Counters> ParseCounters(std::string_view content, std::string_view path) {
  if (content.starts_with(kByteOrderMark)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s:1: the file begins with a byte order mark. Save it as UTF-8 without one", path));
  }
  PODGPU_ASSIGN_OR_RETURN(const std::vector<CsvRecord> records, ReadCsvRecords(content, path));
  Parser parser(path);
  for (const CsvRecord& record : records) {
    PODGPU_RETURN_IF_ERROR(parser.Add(record));
  }
  return std::move(parser).Finish();
}

}  // namespace podgpu
