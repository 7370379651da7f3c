#include "ui/explanation.h"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace podgpu {
namespace {

Explanation OneInstance() {
  ExplainedDevice device;
  device.gpu_id = 4;
  device.gpu_instance_id = 7;
  device.uuid = "GPU-1";
  device.model = "NVIDIA <H100>";
  device.pci_bus_id = "00000000:1B:00.0";
  device.profile = "1g.10gb";
  device.steps = {{"device", "ok", "the driver answers"},
                  {"values", "withdrawn", "0 of \"2\" fields"}};
  device.remedy = "reboot & wait";
  device.condition = "lost since 14:01:07 UTC (2m15s)";
  return {{device}, {"a note"}};
}

TEST(Explanation, IsTextForATerminal) {
  EXPECT_EQ(ExplanationText(OneInstance()),
            "GPU 4, MIG instance 7 (1g.10gb)  GPU-1  NVIDIA <H100>  00000000:1B:00.0  "
            "lost since 14:01:07 UTC (2m15s)\n"
            "1 device      ok            the driver answers\n"
            "2 values      withdrawn     0 of \"2\" fields\n"
            "What helps: reboot & wait\n"
            "\n"
            "a note\n");
  EXPECT_EQ(ExplanationText({}), "");
}

TEST(Explanation, SaysTheSameInHtmlWithoutScripts) {
  const std::string page = ExplanationHtml(OneInstance(), "node-<1>");
  for (const std::string_view expected :
       {"<h1>Why the rows of node-&lt;1&gt; look as they do</h1>",
        "<caption>GPU 4, MIG instance 7 (1g.10gb), GPU-1, NVIDIA &lt;H100&gt;, 00000000:1B:00.0, "
        "lost since 14:01:07 UTC (2m15s)</caption>",
        "<th scope=\"row\">device</th><td class=\"ok\">ok</td><td>the driver answers</td>",
        "<td>0 of &quot;2&quot; fields</td>", "<p>What helps: reboot &amp; wait</p>",
        "<p>a note</p>"}) {
    EXPECT_NE(page.find(expected), std::string::npos) << expected << "\n" << page;
  }
  EXPECT_EQ(page.find("<script"), std::string::npos);
}

TEST(Explanation, SaysTheSameInJson) {
  const boost::json::value expected = {
      {"devices",
       {{{"gpu", 4},
         {"gpu_instance_id", 7},
         {"profile", "1g.10gb"},
         {"uuid", "GPU-1"},
         {"model", "NVIDIA <H100>"},
         {"pci_bus_id", "00000000:1B:00.0"},
         {"steps",
          {{{"step", "device"}, {"state", "ok"}, {"detail", "the driver answers"}},
           {{"step", "values"}, {"state", "withdrawn"}, {"detail", "0 of \"2\" fields"}}}},
         {"remedy", "reboot & wait"},
         {"condition", "lost since 14:01:07 UTC (2m15s)"}}}},
      {"notes", boost::json::array{"a note"}}};
  EXPECT_EQ(boost::json::parse(ExplanationJson(OneInstance())), expected);
  EXPECT_EQ(ExplanationJson({}), "{\"devices\":[],\"notes\":[]}\n");
}

}  // namespace
}  // namespace podgpu
