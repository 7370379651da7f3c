#include "cli/top_flags.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/go_values.h"
#include "base/text.h"
#include "base/version.h"
#include "http/listen.h"

namespace podgpu {
namespace {

constexpr std::string_view kTopHint = "See podgpu top --help";

using TopFlag = FlagOf<TopCommand>;

constexpr TopFlag kTopFlags[] = {
    {"fleet", "", "", FlagKind::kBool, "false",
     "Show the fleet of a cluster role in place of a node; its default URL is that of the same pod "
     "(PODGPU_CLUSTER_LISTEN), or else http://localhost:9401.",
     [](TopCommand& command, std::string_view value) {
       command.top.is_fleet = ParseGoBool(value).value_or(false);
       return absl::OkStatus();
     }},
    {"once", "", "", FlagKind::kBool, "false",
     "Print one plain frame with all rows and exit, as without a terminal: as wide as the "
     "terminal, "
     "or else 120 columns; COLUMNS overrides both.",
     [](TopCommand& command, std::string_view value) {
       command.top.once = ParseGoBool(value).value_or(false);
       return absl::OkStatus();
     }},
    {"json", "", "", FlagKind::kBool, "false", "Print the answer of the API and exit.",
     [](TopCommand& command, std::string_view value) {
       command.top.json = ParseGoBool(value).value_or(false);
       return absl::OkStatus();
     }},
    {"interval", "", "", FlagKind::kDuration, "1s",
     "How often the node is asked, from 0.5s to 10s; the keys + and - change it.",
     [](TopCommand& command, std::string_view value) {
       using std::chrono::milliseconds;
       const auto interval = std::chrono::duration_cast<milliseconds>(
           ParseGoDuration(value).value_or(std::chrono::nanoseconds(0)));
       if (interval < milliseconds(500) || interval > milliseconds(10'000)) {
         return absl::InvalidArgumentError("must be from 0.5s to 10s");
       }
       command.top.interval = interval;
       return absl::OkStatus();
     }},
    {"ascii", "", "", FlagKind::kBool, "false",
     "Draw plots with ASCII letters, as without a UTF-8 locale.",
     [](TopCommand& command, std::string_view value) {
       command.top.ascii = ParseGoBool(value).value_or(false);
       return absl::OkStatus();
     }},
    {"color", "", "", FlagKind::kString, "auto",
     "Colour: auto (without NO_COLOR), always or never.",
     [](TopCommand& command, std::string_view value) {
       if (value != "auto" && value != "always" && value != "never") {
         return absl::InvalidArgumentError("must be one of auto, always, never");
       }
       command.colour = value == "auto"     ? ColourUse::kAuto
                        : value == "always" ? ColourUse::kAlways
                                            : ColourUse::kNever;
       return absl::OkStatus();
     }},
    {"ca-file", "", "", FlagKind::kString, "",
     "Certificates of the authorities that https: trusts, in PEM; default those of the system.",
     [](TopCommand& command, std::string_view value) {
       command.top.ca_file = std::string(value);
       return absl::OkStatus();
     }},
    {"node-web-config", "", "", FlagKind::kString, "",
     "How to connect to a podgpu that requires TLS or a password: a YAML file with tls_config, "
     "authorization or basic_auth, as in Prometheus.",
     [](TopCommand& command, std::string_view value) {
       command.top.web_config = std::string(value);
       return absl::OkStatus();
     }},
    {"help", "h", "", FlagKind::kBool, "false", "Print this text.",
     [](TopCommand& command, std::string_view value) {
       command.wants_help = ParseGoBool(value).value_or(false);
       return absl::OkStatus();
     }},
};

// The first of LC_ALL, LC_CTYPE and LANG that is set decides, as in setlocale(3).
bool HasUtf8(const Environment& environment) {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = environment(name).value_or("");
    if (!value.empty()) {
      std::string lower = value;
      std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
      return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
    }
  }
  return false;
}

// Returns the URL of the podgpu that this environment belongs to: in its pod, `kubectl exec` sees
// the variable that tells it where to listen.
std::string OwnUrl(const Environment& environment, bool is_fleet) {
  const char* const variable = is_fleet ? "PODGPU_CLUSTER_LISTEN" : "DCGM_EXPORTER_LISTEN";
  const std::string listens = environment(variable).value_or("");
  StatusOr<ListenAddress> address = ParseListenAddress(listens);
  if (listens.empty() || !address.ok()) {
    return is_fleet ? "http://localhost:9401" : "http://localhost:9400";
  }
  if (!address->path.empty()) {
    return "unix:" + address->path;
  }
  if (address->host.empty() || address->host == "0.0.0.0" || address->host == "::") {
    address->host = "localhost";
  }
  return "http://" + ToString(*address);
}

void TakeTerminal(const Environment& environment, TopCommand& command) {
  constexpr uint64_t kNarrowest = 60, kWidest = 1'000;
  if (const auto columns = ParseDecimal(environment("COLUMNS").value_or("")).value_or(0);
      columns > 0) {
    command.top.columns = static_cast<size_t>(std::clamp(columns, kNarrowest, kWidest));
  }
  command.top.ascii = command.top.ascii || !HasUtf8(environment);
  const std::string terminal = environment("TERM").value_or("");
  command.is_dumb = terminal.empty() || terminal == "dumb";
  const bool plain = !environment("NO_COLOR").value_or("").empty();
  command.top.colour =
      command.colour == ColourUse::kAlways || (command.colour == ColourUse::kAuto && !plain);
}

}  // namespace

StatusOr<TopCommand> ParseTopFlags(std::span<const std::string> arguments,
                                   const Environment& environment) {
  TopCommand command;
  PODGPU_ASSIGN_OR_RETURN(
      std::vector<std::string> rest,
      ReadFlags(BindFlags(TopFlagTable(), command), arguments, environment, kTopHint));
  if (!rest.empty() && rest.front() != "help") {
    command.top.url = rest.front();
    // The URL ends the flags; more of them may follow it.
    const std::vector<std::string> more(rest.begin() + 1, rest.end());
    PODGPU_ASSIGN_OR_RETURN(
        rest, ReadFlags(BindFlags(TopFlagTable(), command), more, environment, kTopHint));
  }
  if (command.wants_help || (!rest.empty() && rest.front() == "help")) {
    command.wants_help = true;
    return command;
  }
  if (!rest.empty()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("argument %s is one too many: podgpu top takes one URL. %s",
                        Quoted(rest.front()), kTopHint));
  }
  if (command.top.url.empty()) {
    command.top.url = OwnUrl(environment, command.top.is_fleet);
  }
  TakeTerminal(environment, command);
  return command;
}

std::span<const FlagOf<TopCommand>> TopFlagTable() { return kTopFlags; }

std::string TopHelpText() {
  return absl::StrFormat(
      "podgpu %s: the GPUs of a node, or the fleet, live on a terminal\n\nUsage: podgpu top [URL] "
      "[flags]\n\nThe URL is http://HOST:PORT, https://HOST:PORT or unix:/PATH.  "
      "Without one, top asks the podgpu\nof the same pod (DCGM_EXPORTER_LISTEN), or else "
      "http://localhost:9400.\nThe key ? lists the keys.\n\nFlags (one dash or two; "
      "--name=value or --name value):\n%s\nExit codes: 0, 1 when nothing answers, 2 for usage "
      "errors.\n",
      kVersion, FlagHelp(FlagTexts(TopFlagTable())));
}

}  // namespace podgpu
