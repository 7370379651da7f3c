#include "pages/explain_query.h"

#include <limits>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {
namespace {

std::optional<char> HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return static_cast<char>(c - '0');
  }
  const auto lower = static_cast<char>(c | 0x20);
  if (lower >= 'a' && lower <= 'f') {
    return static_cast<char>(lower - 'a' + 10);
  }
  return std::nullopt;
}

// Decodes an HTML form's encoding: %2F is a slash, a plus is a blank; an invalid sequence stays as
// it is.
std::string Decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const std::optional<char> high = HexDigit(text[i + 1]);
      const std::optional<char> low = HexDigit(text[i + 2]);
      if (high && low) {
        out += static_cast<char>(*high * 16 + *low);
        i += 2;
        continue;
      }
    }
    out += text[i] == '+' ? ' ' : text[i];
  }
  return out;
}

StatusOr<uint32_t> NumberOf(std::string_view name, std::string_view value) {
  const std::optional<uint64_t> number = ParseDecimal(value);
  if (!number || *number > std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s must be a number, and %s is not", name, Quoted(value)));
  }
  return static_cast<uint32_t>(*number);
}

Status Take(std::string_view name, std::string value, ExplainQuery& query) {
  if (name == "gpu") {
    PODGPU_ASSIGN_OR_RETURN(query.gpu, NumberOf(name, value));
  } else if (name == "GPU_I_ID") {
    PODGPU_ASSIGN_OR_RETURN(query.gpu_instance_id, NumberOf(name, value));
  } else if (name == "UUID") {
    query.uuid = std::move(value);
  } else if (name == "metric") {
    query.metric = std::move(value);
  } else if (name == "pod") {
    const size_t slash = value.find('/');
    if (slash == std::string::npos || slash == 0 || slash + 1 == value.size()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "pod must be namespace/name, and %s is not: example ?pod=research/train-0",
          Quoted(value)));
    }
    query.pod_namespace = value.substr(0, slash);
    query.pod = value.substr(slash + 1);
  } else {
    return absl::InvalidArgumentError(absl::StrFormat(
        "there is no parameter %s; use gpu, GPU_I_ID, UUID, pod or metric, for example ?gpu=0",
        Quoted(name)));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<ExplainQuery> ParseExplainQuery(std::string_view query) {
  ExplainQuery parsed;
  for (const std::string_view part : Split(query, '&')) {
    if (part.empty()) {
      continue;
    }
    const size_t equals = part.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
    PODGPU_RETURN_IF_ERROR(Take(Decode(part.substr(0, equals)), Decode(value), parsed));
  }
  if (parsed.gpu_instance_id && !parsed.gpu) {
    return absl::InvalidArgumentError("GPU_I_ID needs gpu: example ?gpu=0&GPU_I_ID=7");
  }
  return parsed;
}

}  // namespace podgpu
