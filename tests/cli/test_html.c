/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page of a crash test: what an engineer attaches to a bug report has to be on it, wherever it was made.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <common/shell.h>

static char page[1 << 21];

static void read_page(void)
{
	FILE *const f = fopen(in_dir("page.html"), "r");

	assert_non_null(f);
	const size_t n = fread(page, 1, sizeof page - 1, f);
	fclose(f);
	unlink(in_dir("page.html"));
	page[n] = '\0';
}

static unsigned count_of(const char *text, const char *end, const char *part)
{
	unsigned n = 0;

	for (const char *at = text; (at = strstr(at, part)) != NULL && at < end; at += strlen(part)) {
		n++;
	}
	return n;
}

/* Several tests read the page of this run; it is made once. */
static void read_narrow_scope_page(void)
{
	static char kept_page[sizeof page], kept_output[sizeof output];

	if (!kept_page[0]) {
		exits(1, "$NVWAVE crash btree --count=200 --preload=100 --batch=100 --group-size=64 "
			 "--mutate=narrow-scope --model=buffered-epoch --states=100 --html=page.html "
			 "--verbose");
		read_page();
		memcpy(kept_page, page, sizeof page);
		memcpy(kept_output, output, sizeof output);
	}
	memcpy(page, kept_page, sizeof page);
	memcpy(output, kept_output, sizeof output);
}

/* For who reads such a page for the first time; beside the verdict stands what it is said of. */
TEST(the_page_begins_with_a_plain_sentence)
{
	read_narrow_scope_page();
	const char *const lead = strstr(page, "<p class=\"lead\">After a power cut: "),
			  *const figures = strstr(page, " distinct states (plus ");

	assert_non_null(lead);
	assert_non_null(figures);
	assert_true(lead < figures && figures < strstr(page, "<section"));
	assert_true(strstr(lead, " can be lost when workloads/") || strstr(lead, " can be lost when lib/") ||
		    strstr(lead, " can be lost although the operation that needs it was acknowledged."));
	assert_has(lead, " 2 more findings are below, in the order in which to mend them.");
	exits(1, "$NVWAVE crash $TUTORIAL_QUEUE --count=40 --mutate=forget-barrier --states=100 "
		 "--html=page.html");
	read_page();
	assert_has(page, ", is durable already. With a work-item barrier before queue.c:",
		" it does not happen in any tested state.");
	succeeds("$NVWAVE crash kv --count=60 --batch=10 --states=300 --html=page.html");
	read_page();
	assert_has(page, "<p class=\"lead\">A power cut at any tested instant of this run does no harm");
	succeeds("$NVWAVE crash stack --count=64 --model=epoch --states=100 --html=page.html");
	read_page();
	assert_has(page, "<p class=\"lead\">No tested state fails. Only a sample", "NO FAILURE FOUND in ");
}

/* Dozens of moments lie between the lost store and the crash. */
TEST(the_timeline_has_the_guilty_stores_however_old_they_are)
{
	unsigned sections = 0;
	uint64_t left_out = 0;

	read_narrow_scope_page();
	for (const char *at = strstr(page, "<section"); at; at = strstr(at + 1, "<section")) {
		const char *const end = strstr(at, "</section>");

		if (count_of(at, end, "The cause is open")) {
			continue;
		}
		assert_int_equal(count_of(at, end, "<li class=\"is-gap\"><span class=\"badge\">"), 1);
		assert_int_equal(count_of(at, end, "<b>lost</b>"), 1);
		assert_int_equal(count_of(at, end, "<li class=\"is-lost\"><span class=\"mark\""), 1);
		assert_int_equal(count_of(at, end, "<li class=\"is-kept\"><span class=\"mark\""), 1);
		left_out += count_of(at, end, "are left out");
		sections++;
	}
	assert_true(sections >= 2);
	assert_true(left_out > 0);
}

/* An operation that was acknowledged too early: the line that acknowledged it. */
TEST(an_acknowledgement_has_its_source_line)
{
	const char *at;

	read_narrow_scope_page();
	at = strstr(page, "<b>acknowledged</b>");
	assert_non_null(at);
	assert_has(at, "class=\"hit\"");
	assert_has(strstr(at, "class=\"hit\""), "nvw_ack(");
	assert_output_has("the acknowledgement of operation");
	assert_has(strstr(output, "the acknowledgement of operation"), " at workloads/btree/");
}

/* The tutorial's queue.c has a namesake in the tree, and the page is made in a folder that has neither. */
TEST(source_lines_are_those_of_the_code_that_ran)
{
	exits(1, "$NVWAVE crash $TUTORIAL_QUEUE --count=50 --mutate=forget-barrier --html=page.html");
	read_page();
	assert_has(page, "queue.c:", "class=\"hit\"", "payload_of(ticket, i)");
	assert_lacks(page, "was not found");
}

/* A store log names source files that need not be on this machine. */
TEST(a_source_file_that_is_not_there_is_named_with_the_folders_searched)
{
	succeeds("printf '%%s' 'START|REGISTER_FILE;/none;0x1000;0x1000;0x0|STORE;0x1000;0x1;0x8;first "
		 "(nowhere.c:7)|"
		 "STORE;0x1040;0x1;0x8;second (nowhere.c:8)|FLUSH;0x1000;0x80|FENCE|STOP' >log; truncate "
		 "-s 4096 pool");
	exits(1, "$NVWAVE crash --store-log=log --image=pool --html=page.html --check=\"sh -c 'test \\$(od "
		 "-An -tu1 -N1 "
		 "\\$0) -eq 1 || test \\$(od -An -tu1 -j64 -N1 \\$0) -eq 0'\"");
	read_page();
	assert_has(page, "nowhere.c:7", "The source file was not found; searched: ", "/tmp/nvwave-test-");
	succeeds("rm log pool");
}

/* Dies two calls below main() if the second store is there without the first. */
static const char dying_checker[] =
	"#include <stdio.h>\n#include <stdlib.h>\n"
	"static char bytes[128];\n"
	"__attribute__((noinline)) void fail(int n) { if (n > 0) abort(); puts(\"never\"); }\n"
	"__attribute__((noinline)) void look(int n) { fail(n + 1); puts(\"never\"); }\n"
	"int main(int n, char **word) {\n"
	"	FILE *f = fopen(word[n - 1], \"r\");\n"
	"	if (!f || !fread(bytes, sizeof bytes, 1, f)) return 2;\n"
	"	if (!bytes[0] && bytes[64]) look(n);\n"
	"	return 0;\n}\n";

TEST(the_whole_stack_of_a_checker_that_dies_is_reported)
{
	write_text("dies.c", dying_checker);
	succeeds("cc -g -O1 -o dies dies.c && printf '%%s' "
		 "'START|REGISTER_FILE;/none;0x1000;0x1000;0x0|STORE;0x1000;0x1;0x8|"
		 "STORE;0x1040;0x1;0x8|FLUSH;0x1000;0x80|FENCE|STOP' >log && truncate -s 4096 pool");
	NVW_FOR(by_shell, 2) {
		exits(1,
			"$NVWAVE crash --store-log=log --image=pool --html=page.html --cures=off "
			"--check='%s'",
			by_shell ? "true; ./dies" : "./dies");
		read_page();
		assert_has(
			page, "The stack there", "dies.c:4 (fail)\n", "dies.c:5 (look)\n", "dies.c:9 (main)");
	}
	succeeds("rm dies dies.c log pool");
}

TEST(the_page_is_one_file_without_scripts)
{
	exits(1, "$NVWAVE crash kv --mode=observed --count=60 --batch=20 --mutate=publish-before-value "
		 "--html=page.html");
	read_page();
	assert_has(page, "<html lang=\"en\">", "width=device-width", "@media print", "max-width: 560px",
		"tabindex=\"0\"", "</html>");
	assert_lacks(page, "<script");
	assert_lacks(page, "src=");
	assert_lacks(page, "href=\"http");
}

/*
 * The first and the last time stand below the first and the last bar, also where few bars do not fill the
 * page.
 */
TEST(the_times_of_intervals_are_as_wide_as_their_bars)
{
	const char *begin, *bars, *times;
	unsigned width = 0;

	succeeds("$NVWAVE crash queue --count=64 --mode=permitted --html=page.html");
	read_page();
	begin = strstr(page, "<h2>Intervals</h2>");
	assert_non_null(begin);
	assert_int_equal(
		sscanf(begin, "<h2>Intervals</h2><div class=\"card\"><div style=\"max-width:%upx\">", &width),
		1);
	bars = strstr(begin, "<div class=\"intervals\"");
	times = strstr(begin, "<p class=\"soft ends\">");
	assert_true(bars && times && bars < times);
	assert_int_equal(width, 31 * count_of(bars, times, "<span"));
	assert_has(times, "</span></p></div>");
}

/*
 * "recovery, at most in a whole state: open epochs 5, log entries read 1,234, ..." of the text, as figures of
 * the page.
 */
TEST(the_page_has_the_recovery_counts_of_the_text)
{
	static const char *const names[] = {
		"open epochs", "log entries read", "words restored", "words written"};
	const char *text, *figures;

	read_narrow_scope_page();
	text = strstr(output, "recovery, at most in a whole state: ");
	figures = strstr(page, "Recovery, at most in a whole state");
	assert_non_null(text);
	assert_non_null(figures);
	for_each(name, names) {
		char tile[96] = "<b>";
		size_t n = 3;

		text = strstr(text, *name);
		assert_non_null(text);
		for (text += strlen(*name) + 1;
			(*text >= '0' && *text <= '9') || (*text == ',' && text[1] != ' '); text++) {
			n += (size_t)snprintf(
				tile + n, sizeof tile - n, *text == ',' ? "&#8239;" : "%c", *text);
		}
		snprintf(tile + n, sizeof tile - n, "</b>%s</div>", *name);
		if (!strstr(figures, tile)) {
			fail_msg("the page lacks %s", tile);
		}
	}
}

static int make_dir(void **state)
{
	return shell_begin((const char *const[]){"NVWAVE", "TUTORIAL_QUEUE", NULL});
}

static int remove_dir(void **state)
{
	return rmdir(dir);
}

/* The head of a stack is stored again and again: what a later push has overwritten is not lost. */
TEST(a_store_that_a_durable_one_overwrote_is_not_called_lost)
{
	const char *early;

	exits(1, "$NVWAVE crash stack --model=epoch --mutate=publish-unordered --count=96 --stacks=4 "
		 "--groups=2 --group-size=16 --states=500 --html=page.html");
	read_page();
	early = strstr(page, "<ol class=\"timeline\"");
	assert_non_null(early);
	assert_has(early, "store, overwritten: ");
	assert_has(early, ">A</span> store, lost: ");
	assert_lacks(early, ">B</span> store, lost: ");
}

/* The first diff of the page as text: without tags, and with the characters that they stand for. */
static void read_diff(char *text, size_t bytes)
{
	static const struct {
		const char *name;
		char character;
	} names[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}};
	const char *at = strstr(page, "<pre class=\"diff\"");
	size_t n = 0;

	assert_non_null(at);
	for (const char *const end = strstr(at, "</pre>"); at < end && n + 1 < bytes; at++) {
		char c = *at;

		if (c == '<') {
			at = strchr(at, '>');
			continue;
		}
		for (unsigned i = 0; c == '&' && i < 4; i++) {
			if (strncmp(at, names[i].name, strlen(names[i].name)) == 0) {
				c = names[i].character;
				at += strlen(names[i].name) - 1;
				break;
			}
		}
		text[n++] = c;
	}
	text[n] = '\0';
}

TEST(the_cure_is_the_diff_that_patch_writes)
{
	static char diff[4096];

	succeeds("$NVWAVE crash $TUTORIAL_QUEUE --mutate=forget-barrier --states=500 --html=page.html "
		 "--patch=cure.patch >/dev/null && exit 9; cat cure.patch; rm cure.patch");
	read_page();
	read_diff(diff, sizeof diff);
	assert_has(diff, "\n+\t");
	assert_string_equal(diff, output);
	/* What has no cure has no diff. */
	exits(1, "$NVWAVE crash $TUTORIAL_QUEUE --mutate=forget-barrier --states=500 --cures=off "
		 "--html=page.html");
	read_page();
	assert_lacks(page, "class=\"diff\"");
}

TEST(findings_are_in_the_order_of_the_text)
{
	read_narrow_scope_page();
	const char *listed = strstr(output, "\nfindings, in the order in which to mend them:\n"),
		   *shown = page;

	assert_non_null(listed);
	for (unsigned i = 1; i <= 2; i++) {
		char number[16], heading[128];

		snprintf(number, sizeof number, "\n %u  ", i);
		listed = strstr(listed, number);
		assert_non_null(listed);
		snprintf(heading, sizeof heading, "<h3>%u. %.30s", i, listed + 5);
		shown = strstr(shown, heading);
		assert_non_null(shown);
	}
}

GROUP(make_dir, remove_dir);
