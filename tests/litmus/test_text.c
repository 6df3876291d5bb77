/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text form: everything that it can say is read, mistakes are named with file and line, outcomes are
 * evaluated.
 */
#include <stdlib.h>
#include <string.h>
#include "common/shell.h"
#include "common/test.h"

#include <litmus/litmus.h>

#define HEAD "test t\nmodel HRF\n"
#define TAIL "\noutcome 0:r0==1\nverdict forbidden\n"

static const struct litmus_test *parse(const char *text, struct litmus_list *list)
{
	*list = (struct litmus_list){0};
	assert_ok(litmus_parse("t.litmus", text, list));
	assert_int_equal(list->count, 1);
	return list->test;
}

TEST(every_operation_is_read)
{
	struct litmus_list list;
	const struct litmus_test *const t = parse(
		"# two threads\n" HEAD "init x=-2 y=3\nnvram y\n"
		"P0@wg1,dev2{R(acq.dev) r0<-x; W(rel.wg)+av x=1; W(plain) x=r0; RMW.add(ar.sys) r1<-x,5; "
		"RMW.sub(rlx.sg) _<-x,1;\n"
		"RMW.exch(sc.wi) r2<-x,r0; RMW.cas(acq.dev.rem) r3<-x,0->7; F(sc.sys.rem); BAR(wg) 3}\n"
		"|| P1@wg0{[r0!=2] MOV r0=-1; ADD r0=r0+4; PFLUSH x; PBARRIER(sys); PBARRIER(wi); "
		"PBARRIER(wg); PBARRIER(kr);\n"
		"R(plain)+vis r0<-x; ISSUE r4<-x; USE r4}" TAIL,
		&list);
	static const enum litmus_op_kind kinds[2][10] = {
		{LITMUS_LOAD, LITMUS_STORE, LITMUS_STORE, LITMUS_ADD, LITMUS_SUB, LITMUS_EXCHANGE,
			LITMUS_COMPARE_EXCHANGE, LITMUS_FENCE, LITMUS_BARRIER},
		{LITMUS_SET, LITMUS_SET, LITMUS_FLUSH, LITMUS_DRAIN, LITMUS_PERSIST_BARRIER,
			LITMUS_PERSIST_BARRIER, LITMUS_PERSIST_BARRIER, LITMUS_LOAD, LITMUS_ISSUE,
			LITMUS_USE}};

	assert_int_equal(t->thread_count, 2);
	NVW_FOR(thread, 2) {
		assert_int_equal(t->thread[thread].op_count, 9 + thread);
		NVW_FOR(i, t->thread[thread].op_count) {
			assert_int_equal(t->thread[thread].op[i].kind, kinds[thread][i]);
		}
	}
	assert_int_equal(t->thread[0].work_group, 1);
	assert_int_equal(t->thread[0].device, 2);
	assert_int_equal(t->thread[0].op[0].order, NVW_ACQUIRE);
	assert_int_equal(t->thread[0].op[0].scope, NVW_SCOPE_AGENT);
	assert_true(t->thread[0].op[2].is_plain);
	assert_int_equal(t->thread[0].op[4].to, -1);
	assert_int_equal(t->thread[0].op[5].scope, NVW_SCOPE_WORKITEM);
	assert_int_equal(t->thread[0].op[6].b.number, 7);
	assert_int_equal(t->thread[0].op[6].scope, NVW_SCOPE_REMOTE_AGENT);
	assert_int_equal(t->thread[0].op[7].scope, NVW_SCOPE_REMOTE_SYSTEM);
	assert_int_equal(t->thread[1].op[0].condition_count, 1);
	assert_int_equal(t->thread[1].op[0].condition[0].relation, LITMUS_NE);
	assert_int_equal(t->thread[1].op[6].group, NVW_KERNEL);
	assert_int_equal(t->variable[0].initial, -2);
	assert_true(t->variable[1].is_nvram);
	assert_int_equal(t->verdict, LITMUS_FORBIDDEN);
	litmus_list_free(&list);
}

TEST(an_outcome_is_what_its_operators_say)
{
	static const struct {
		const char *outcome;
		bool holds;
	} table[] = {
		{"0:r0==1", true},
		{"0:r0!=1", false},
		{"!(0:r0==1)", false},
		{"x==5 && 0:r0==2", false},
		{"x==5 || 0:r0==2", true},
		{"x<5", false},
		{"x<=5", true},
		{"x>4", true},
		{"x>=6", false},
		{"!x==4", true},
		{"x==0 && x==0 || x==5", true},
		{"x==0 && (x==0 || x==5)", false},
		{"!!(x==5)", true},
	};

	for_each(row, table) {
		struct litmus_list list;
		const struct litmus_state s = {.registers[0][0] = 1, .memory[0] = 5};
		const struct litmus_test *const t =
			parse(formatted(HEAD "P0@wg0,dev0{R(plain) r0<-x}\noutcome %s\nverdict allowed\n",
				      row->outcome),
				&list);

		assert_string_equal(t->outcome_text, row->outcome);
		assert_int_equal(litmus_holds(t, &s), row->holds);
		litmus_list_free(&list);
	}
}

TEST(verdicts_name_persistency_models)
{
	struct litmus_list list;
	const struct litmus_test *t =
		parse(HEAD "P0@wg0{W(plain) x=1}\noutcome nvm:x==1\nverdict forbidden strict\n"
			   "verdict allowed epoch, buffered-epoch\n",
			&list);

	assert_true(litmus_is_persist(t));
	assert_true(t->variable[0].is_nvram);
	assert_int_equal(t->under[LITMUS_STRICT], LITMUS_FORBIDDEN);
	assert_int_equal(t->under[LITMUS_EPOCH], LITMUS_ALLOWED);
	assert_int_equal(t->under[LITMUS_BUFFERED], LITMUS_ALLOWED);
	litmus_list_free(&list);
	t = parse(HEAD "P0@wg0{W(plain) x=1}\noutcome nvm:x==1\nverdict allowed", &list);
	assert_int_equal(t->under[LITMUS_STRICT], LITMUS_UNSAID);
	assert_int_equal(t->under[LITMUS_EPOCH], LITMUS_ALLOWED);
	litmus_list_free(&list);
}

TEST(mistakes_are_named_with_file_and_line)
{
	static const struct {
		const char *text, *message;
	} table[] = {
		{"tset t", "t.litmus:1: expected test NAME, found \"tset\""},
		{"test", "t.litmus:1: expected text, found the end"},
		{HEAD "P0@wg0{X(plain) x=1}" TAIL, "t.litmus:3: expected an operation"},
		{HEAD "P0@wg0{R(plain) r0<-x; USE r0}" TAIL,
			"t.litmus:3: USE of a register without an earlier ISSUE"},
		{HEAD "P0@wg0{ISSUE _<-x}" TAIL, "t.litmus:3: an ISSUE needs a register"},
		{HEAD "P0@wg0{W(plain) x}" TAIL, "t.litmus:3: expected \"=\", found \"}\""},
		{HEAD "P0@wg0{W(foo.dev) x=1}" TAIL,
			"t.litmus:3: expected plain or an order: rlx, acq, rel, ar, sc, found \"foo.dev)\""},
		{HEAD "P0@wg0{W(rel.gpu) x=1}" TAIL,
			"t.litmus:3: expected a scope: wi, sg, wg, dev or sys, found \"gpu)\""},
		{HEAD "P0@wg0{W(rel.wg.rem) x=1}" TAIL, "only dev.rem and sys.rem are promoted, not wg.rem"},
		{HEAD "P0@wg0{RMW.add(plain) r0<-x,1}" TAIL, "found plain: the access is atomic"},
		{HEAD "P0@wg0{RMW.mul(rlx.dev) r0<-x,1}" TAIL, "expected add, sub, exch or cas"},
		{HEAD "P0@wg0{RMW.cas(rlx.dev) r0<-x,1}" TAIL, "expected \"->\""},
		{HEAD "P0@wg0{[_==1] W(plain) x=1}" TAIL, "_ has no value"},
		{HEAD "P0@wg0{W(plain) x=99999999999999999999}" TAIL, "too large for 64 bits"},
		{HEAD "P0@wg999{W(plain) x=1}" TAIL, "expected a number from 0 to 255, found 999"},
		{HEAD "P1@wg0{W(plain) x=1}" TAIL, "t.litmus:3: expected P0, found P1"},
		{HEAD "P0@wg0{W(plain) x=1\n\n}} " TAIL, "t.litmus:5: expected a thread, or test"},
		{HEAD "P0@wg0{W(plain) x=1}" TAIL,
			"t.litmus:4: the outcome names register r0, which thread 0 does not use"},
		{HEAD "P0@wg0{R(plain) r0<-x}\noutcome 1:r0==1\n",
			"the outcome names thread 1; the number of threads is 1"},
		{HEAD "P0@wg0{R(plain) r0<-x}\noutcome z==1\n",
			"the outcome names variable z, which no thread uses"},
		{HEAD "P0@wg0{R(plain) r0<-x}\noutcome x=1\n", "expected one of == != <= >= < >"},
		{HEAD "P0@wg0{R(plain) r0<-x}\noutcome x==1 && nvm:x==1\nverdict allowed\n",
			"it may name only nvm: variables"},
		{HEAD "P0@wg0{R(plain) r0<-x}\noutcome x==1\nverdict allowed epoch\n",
			"needs an outcome over NVRAM"},
		{HEAD "P0@wg0{R(plain) r0<-x}\noutcome nvm:x==1\nverdict allowed epoch\nverdict forbidden "
		      "epoch\n",
			"a second verdict for epoch"},
		{HEAD "P0@wg0{R(plain) r0<-x}\noutcome x==1\noutcome x==2\n", "has a second outcome"},
		{HEAD "P0@wg0{R(plain) r0<-x}\noutcome x==1\nverdict maybe\n",
			"expected forbidden or allowed, found \"maybe\""},
		{HEAD "P0@wg0{R(plain) r0<-x}\noutcome x==1\n", "test t has no verdict"},
		{"test t\nP0@wg0{R(plain) r0<-x}" TAIL, "test t has no model"},
		{"test t\nmodel hrf\nP0@wg0{R(plain) r0<-x}" TAIL,
			"there is no memory model \"hrf\"; did you mean HRF?"},
		{"test t\nmodel OpenLC 2\nP0@wg0{R(plain) r0<-x}" TAIL, "did you mean OpenCL?"},
		{"test t\nmodel OpenCL + remote scope promotion\nP0@wg0{R(plain) r0<-x}" TAIL,
			"t.litmus:2: there is no memory model \"OpenCL + remote scope promotion\"; did you "
			"mean OpenCL + remote-scope promotion?"},
		{"test t\nmodel HRF-Indirekt\nP0@wg0{R(plain) r0<-x}" TAIL, "did you mean HRF-Indirect?"},
		{"test t\nmodel none of them\nP0@wg0{R(plain) r0<-x}" TAIL, "there is no memory model"},
		{HEAD "P0@wg0{BAR(dev) 0}" TAIL, "expected wg, or an order and a scope"},
		{HEAD "P0@wg0{[r0==1 && r1==1 && r2==1 && r3==1 && r4==1] MOV r0=1}" TAIL,
			"more than 4 conditions in a guard"},
		{HEAD "P0@wg0{R(plain) r0<-x}\nverdict allowed\n", "test t has no outcome"},
		{HEAD "init x=1\nverdict allowed\n", "test t has no thread"},
		{HEAD "P0@wg0{R(plain) aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa<-x}",
			"is longer than 31 characters"},
	};

	for_each(row, table) {
		struct litmus_list list = {0};

		assert_int_equal(litmus_parse("t.litmus", row->text, &list), NVW_E_INPUT);
		assert_error_has(row->message);
		assert_int_equal(strncmp(nvw_error_message(), "t.litmus:", 9), 0);
		litmus_list_free(&list);
	}
}

/* Text of n repetitions of what, between two others. */
static char *repeated(const char *before, const char *what, unsigned n, const char *after)
{
	char *const text = malloc(strlen(before) + n * strlen(what) + strlen(after) + 1);

	strcpy(text, before);
	NVW_FOR(i, n) {
		strcat(text, what);
	}
	return strcat(text, after);
}

TEST(bounds_are_messages_and_not_overflows)
{
	char *const texts[] = {
		repeated(HEAD "P0@wg0{R(plain) r0<-x", "; R(plain) r0<-x", 40, "}" TAIL),
		repeated(HEAD "P0@wg0{R(plain) r0<-x}\noutcome ", "!", 1000, "x==1\nverdict allowed"),
		repeated(HEAD "P0@wg0{R(plain) r0<-x}\noutcome ", "(", 1000, "x==1\nverdict allowed"),
		repeated(HEAD "P0@wg0{R(plain) r0<-x}\noutcome x==1", " && x==1", 40, "\nverdict allowed"),
	};

	for_each(text, texts) {
		struct litmus_list list = {0};

		assert_int_equal(litmus_parse("t.litmus", *text, &list), NVW_E_INPUT);
		assert_error_has("more than");
		litmus_list_free(&list);
		free(*text);
	}
}

static int load_table(const char *text, struct litmus_list *list)
{
	write_text("table.tsv", text);
	*list = (struct litmus_list){0};
	return litmus_load(in_dir("table.tsv"), list);
}

TEST(a_table_is_read_by_its_header_line)
{
	struct litmus_list list;

	assert_int_equal(load_table("verdict\tname\tmore\toutcome\tthreads\tinit\tmodel\n"
				    "allowed\ta\t?\tx==1\tP0@wg0,dev0{W(plain) x=1}\tx=4\tPTX 6.0\n"
				    "forbidden\tb\t?\tx==2\tP0@wg0,dev0{W(plain) x=1}\t-\tVulkan\n",
				 &list),
		0);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.test[0].name, "a");
	assert_int_equal(list.test[0].variable[0].initial, 4);
	assert_string_equal(list.test[1].model, "Vulkan");
	assert_int_equal(list.test[1].verdict, LITMUS_FORBIDDEN);
	assert_int_equal(list.test[1].line, 3);
	litmus_list_free(&list);
}

TEST(mistakes_in_a_table_are_named_with_their_line)
{
	static const char *const table[][2] = {
		{"name\tmodel\tthreads\toutcome\n", ":1: expected a header line with a column \"verdict\""},
		{"name\tmodel\tthreads\toutcome\tverdict\na\tb\n",
			":2: the row has 2 columns and lacks \"threads\""},
		{"name\tmodel\tthreads\toutcome\tverdict\na\tPTX\tP0@wg0{W(plain) x=1} junk\tx==1\tallowed\n",
			":2: column \"threads\": expected its end, found \"junk\""},
		{"name\tmodel\tthreads\toutcome\tverdict\na\tPTX\tP0@wg0{W(plain) x=1}\t-\tallowed\n",
			":2: test a has no outcome"},
		{"name\tmodel\tthreads\toutcome\tverdict\na\t-\tP0@wg0{W(plain) x=1}\tx==1\tallowed\n",
			":2: test a has no model"},
		{"name\tmodel\tthreads\toutcome\tverdict\na\tPTY\tP0@wg0{W(plain) x=1}\tx==1\tallowed\n",
			":2: there is no memory model \"PTY\"; did you mean PTX?"},
		{"name\tmodel\tthreads\toutcome\tverdict\n", "expected litmus tests, found none"},
	};

	for_each(row, table) {
		struct litmus_list list;

		assert_int_equal(load_table((*row)[0], &list), NVW_E_INPUT);
		assert_error_has((*row)[1]);
		litmus_list_free(&list);
	}
}

GROUP(folder_begin, shell_end);
