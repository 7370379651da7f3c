#include <gtest/gtest.h>

#include "top/address.h"
#include "top/fetch.h"
#include "top/keys.h"
#include "top/link.h"
#include "top/read_explanation.h"
#include "top/screen.h"
#include "top/view.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

TEST(KeyDecoder, JoinsPiecesAndKnowsEscAlone) {
  KeyDecoder decoder;
  EXPECT_EQ(decoder.Take("j\x1b"), (std::vector<KeyPress>{{Key::kText, 'j'}}));
  EXPECT_TRUE(decoder.is_waiting());
  EXPECT_EQ(decoder.Take("[A\r"), (std::vector<KeyPress>{{Key::kUp}, {Key::kEnter}}));
  EXPECT_TRUE(decoder.Take("\x1b").empty());
  EXPECT_EQ(decoder.Flush(), (std::vector<KeyPress>{{Key::kEscape}}));
  EXPECT_TRUE(decoder.Take("\x1b[1;5C").empty());
  EXPECT_FALSE(decoder.is_waiting());
}

TEST(Screen, WritesOnlyTheCellsThatChanged) {
  Screen screen;
  Canvas first({10, 2});
  first.Put(0, 0, "abc");
  EXPECT_EQ(screen.Update(first, true), "\x1b[0m\x1b[2J\x1b[1;1Habc");
  Canvas second({10, 2});
  second.Put(0, 0, "abd", Ink::kPlain);
  second.Put(1, 4, "x", Ink::kWarning);
  EXPECT_EQ(screen.Update(second, true), "\x1b[1;3Hd\x1b[2;5H\x1b[0;33mx\x1b[0m");
  EXPECT_EQ(screen.Update(second, true), "");
}

TEST(Canvas, LetsNoControlCharacterThrough) {
  Canvas canvas({12, 1});
  canvas.Put(0, 0, "a\x1b[2J\x07\xe2\x80\x8b\xff");
  EXPECT_EQ(canvas.Text(), "a?[2J???\n");
}

TEST(TopAddress, HasThreeForms) {
  EXPECT_EQ(ParseTopAddress("node", 9400)->port, 9400);
  EXPECT_EQ(ParseTopAddress("http://[::1]:9/", 9400)->host, "::1");
  EXPECT_EQ(ParseTopAddress("http://[::1]:9/", 9400)->port, 9);
  EXPECT_EQ(ParseTopAddress("https://a/b/", 9400)->base, "/b");
  EXPECT_EQ(ParseTopAddress("http://a:9400/metrics", 9400)->base, "");
  EXPECT_TRUE(ParseTopAddress("https://a", 9400)->tls);
  EXPECT_EQ(ParseTopAddress("unix:/run/p.sock", 9400)->unix_path, "/run/p.sock");
  for (const char* const wrong : {"ftp://a", "http://", "http://a:0", "http://a:70000", "unix:here",
                                  "http://[::1", "http://a?x", "http://u:p@a", "a b"}) {
    EXPECT_FALSE(ParseTopAddress(wrong, 9400).ok()) << wrong;
  }
}

TEST(Link, TriesAfter1And2And4ThenEach5Seconds) {
  Instant now{};
  Link link(now);
  for (const int pause : {1, 2, 4, 5, 5}) {
    EXPECT_TRUE(link.IsDue(now));
    link.Asked(now);
    EXPECT_FALSE(link.IsDue(now));
    link.Failed(now, "connection refused", false);
    EXPECT_EQ(link.next_at(), now + seconds(pause));
    now += seconds(pause);
  }
  link.Asked(now);
  link.Answered(now, seconds(1));
  EXPECT_EQ(link.failure(), "");
  EXPECT_EQ(link.next_at(), now + seconds(1));
}

TEST(ProgramOf, NamesWhatAnswers) {
  EXPECT_EQ(ProgramOf("<title>GPU Exporter</title>"), "dcgm-exporter");
  EXPECT_EQ(ProgramOf("<title>Node Exporter</title>"), "\"Node Exporter\"");
  EXPECT_EQ(ProgramOf("no page"), "");
}

TEST(TopView, TheSelectionIsARowAndKeysMoveIt) {
  TopView view;
  const PressContext context{{"a", "b", "c"}, 7, 4, {"x", "y"}, 2, kPanes, 0};
  const auto press = [&](KeyPress key) { return Press(key, context, view); };
  press({Key::kText, 'j'});
  EXPECT_EQ(view.selection(), "a");
  press({Key::kPageDown});
  EXPECT_EQ(view.selection(), "c");
  press({Key::kHome});
  EXPECT_EQ(view.selection(), "a");
  press({Key::kText, '>'});
  EXPECT_EQ(view.order().column, 5);
  press({Key::kText, 'n'});
  press({Key::kText, 'n'});
  EXPECT_EQ(view.only_namespace, "y");
  press({Key::kText, 'n'});
  EXPECT_EQ(view.only_namespace, "");
  press({Key::kText, '/'});
  press({Key::kText, 'q'});
  EXPECT_EQ(view.filter, "q");
  press({Key::kEscape});
  EXPECT_EQ(view.filter, "");
  press({Key::kText, '+'});
  EXPECT_EQ(view.interval, seconds(2));
  EXPECT_EQ(press({Key::kText, 'q'}), PressResult::kQuit);
}

TEST(RowFilter, IsAPartOrARegularExpression) {
  EXPECT_TRUE(RowFilter("LLAMA").Matches("research/llama-0"));
  EXPECT_TRUE(RowFilter("~llama-[0-9]$").Matches("research/llama-0"));
  EXPECT_FALSE(RowFilter("~^llama").Matches("research/llama-0"));
  EXPECT_NE(RowFilter("~(").error(), "");
  EXPECT_TRUE(RowFilter("~(").Matches("anything"));
}

TEST(ReadExplanation, ReadsWhatIsWritten) {
  Explanation explanation;
  explanation.devices = {
      {3, 7, "GPU-1", "H100", "0", "1g", {{"device", "lost", "why"}}, "reboot", {}}};
  explanation.notes = {"a note"};
  const auto read = ReadExplanation(ExplanationJson(explanation));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ExplanationJson(*read), ExplanationJson(explanation));
  EXPECT_FALSE(ReadExplanation("[]").ok());
  EXPECT_FALSE(ReadExplanation("{}").ok());
}

}  // namespace
}  // namespace podgpu
