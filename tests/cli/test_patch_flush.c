/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a patch flushes is what the statement names, in the program's own words; what cannot be read from the
 * source is refused.
 */
#include "common/test.h"

#include <stdio.h>
#include <string.h>

#include "patch_flush.h"
#include "source_lines.h"

static const char *header; /* what every header holds */

FILE *cli_open_source(const char *file, const char **ret_searched)
{
	*ret_searched = "";
	return header ? fmemopen((void *)(uintptr_t)header, strlen(header), "r") : NULL;
}

enum { LINES_MAX = 64 };

static char said[512];
static uint32_t after;

/* Returns the statement for the line with the text "HERE" in a comment. NULL: it is in said. */
static const char *statement(const char *source, enum patch_flush what)
{
	static char text[4096];
	char *line[LINES_MAX], *rest = text;
	struct patch_lines lines = {.file = "dir/x.c", .line = line, .count = 0};
	uint32_t here = 0;

	snprintf(text, sizeof text, "%s", source);
	for (char *next; (next = strsep(&rest, "\n")) != NULL && lines.count < LINES_MAX;) {
		line[lines.count++] = next;
		here = strstr(next, "HERE") ? lines.count : here;
	}
	assert_true(here > 0);
	return patch_flush_statement(&lines, here, what, said, sizeof said, &after);
}

#define WITH_PMEM(store) "#include <libpmem.h>\nvoid f(void)\n{\n\t" store " /* HERE */\n}\n"

static void expect(const char *source, enum patch_flush what, const char *expected)
{
	const char *const why = statement(source, what);

	if (why != NULL) {
		fail_msg("\"%s\" was refused: %s", source, why);
	}
	assert_string_equal(said, expected);
}

TEST(the_address_is_that_of_what_the_statement_names)
{
	static const struct {
		const char *source, *expected;
	} cases[] = {
		{WITH_PMEM("p->valid = 1;"), "pmem_persist(&p->valid, sizeof p->valid);"},
		{WITH_PMEM("a[i] = x;"), "pmem_persist(&a[i], sizeof a[i]);"},
		{WITH_PMEM("*v = f(1, 2) == 3;"), "pmem_persist(v, sizeof *v);"},
		{WITH_PMEM("(*link)->value = n ? n->value : 0;"),
			"pmem_persist(&(*link)->value, sizeof (*link)->value);"},
		{WITH_PMEM("*(uint64_t *)at = 1;"), "pmem_persist((uint64_t *)at, sizeof *(uint64_t *)at);"},
		{WITH_PMEM("((struct x *)at)->b.c |= 4;"),
			"pmem_persist(&((struct x *)at)->b.c, sizeof ((struct x *)at)->b.c);"},
		{WITH_PMEM("l->e[l->n % 7].w <<= 2;"),
			"pmem_persist(&l->e[l->n % 7].w, sizeof l->e[l->n % 7].w);"},
		{WITH_PMEM("root->length++;"), "pmem_persist(&root->length, sizeof root->length);"},
		{WITH_PMEM("--root->length;"), "pmem_persist(&root->length, sizeof root->length);"},
		{WITH_PMEM("D_RW(node)->next = D_RO(root)->head;"),
			"pmem_persist(&D_RW(node)->next, sizeof D_RW(node)->next);"},
		{WITH_PMEM("memcpy(e->text, from, strlen(from) + 1);"),
			"pmem_persist(e->text, strlen(from) + 1);"},
		{WITH_PMEM("std::memset(p, 0, sizeof *p);"), "pmem_persist(p, sizeof *p);"},
		{WITH_PMEM("strcpy(e->name, \"a;b\");"), "pmem_persist(e->name, strlen(e->name) + 1);"},
		{WITH_PMEM("x.store(1, std::memory_order_release);"), "pmem_persist(&x, sizeof x);"},
		{WITH_PMEM("p->count->fetch_add(1);"), "pmem_persist(p->count, sizeof *p->count);"},
		{WITH_PMEM("atomic_store(&p->count, 3);"), "pmem_persist(&p->count, sizeof p->count);"},
		{WITH_PMEM("__atomic_store_n(at, 3, __ATOMIC_RELEASE);"), "pmem_persist(at, sizeof *at);"},
	};

	for_each(c, cases) {
		expect(c->source, PATCH_PERSIST, c->expected);
		assert_int_equal(after, 4);
	}
}

TEST(a_statement_of_several_lines_is_read_as_a_whole_from_any_of_them)
{
	expect("#include <libpmem.h>\n{\n\tp->valid = a; // first\n"
	       "\tp->value =\n\t\tf(a, /* HERE */\n\t\t  b);\n}\n",
		PATCH_FLUSH, "pmem_flush(&p->value, sizeof p->value);");
	assert_int_equal(after, 6);
}

TEST(what_cannot_be_read_safely_is_refused)
{
	static const char *const refused[] = {
		"set(p, 1);",
		"pmem_memcpy_nodrain(p, q, 8);",
		"if (a) p->x = 1;",
		"else p->x = 1;",
		"return p->x = 1;",
		"uint64_t *q = p;",
		"uint64_t q = 1;",
		"p->x = q->y = 1;",
		"p->x = 1, q->y = 1;",
		"a[i++] = 1;",
		"a[i] = i++;",
		"a[next(i)] = 1;",
		"a[i <<= 1] = 1;",
		"a[i >>= 1] = 1;",
		"*p++ = 1;",
		"p->x == 1;",
		"p->x = 1; q->y = 1;",
		"{ p->x = 1; }",
		"memcpy(next(p), q, 8);",
		"memcpy(p, q, n = 8);",
		"atomic_store(p + 1, 3);",
		"x.load();",
		"p->x = (struct x){.y = 1};",
	};
	char source[512];

	for_each(text, refused) {
		snprintf(source, sizeof source, WITH_PMEM("%s"), *text);
		if (statement(source, PATCH_PERSIST) == NULL) {
			fail_msg("\"%s\" gave %s", *text, said);
		}
	}
	assert_non_null(statement(
		"#include <libpmem.h>\n{\n\tif (a)\n\t\tp->x = 1; /* HERE */\n\telse\n\t\tb();\n}\n",
		PATCH_PERSIST));
	assert_non_null(
		statement("#include <libpmem.h>\n{\n\tfor (i = 0; i < 3; i++)\n\t\ta[i] = 1; /* HERE */\n}\n",
			PATCH_PERSIST));
	assert_non_null(statement(
		"#include <libpmem.h>\n#define F \\\n\tp->x = 1; /* HERE */ \\\n\tg();\n", PATCH_PERSIST));
	assert_non_null(statement(
		"#include <libpmem.h>\n__global__ void k(struct x *p)\n{\n\tp->x = 1; /* HERE */\n}\n",
		PATCH_PERSIST));
}

TEST(a_bit_field_has_no_address_also_where_a_header_declares_it)
{
	static const char own[] =
		"#include <libpmem.h>\nstruct p {\n\tunsigned valid : 1;\n};\n{\n\tp->valid = 1; /* HERE "
		"*/\n}\n",
			  far[] = "#include <libpmem.h>\n#include \"x.h\"\n{\n\tp->valid = 1; /* HERE "
				  "*/\n}\n";

	assert_non_null(statement(own, PATCH_PERSIST));
	header = "struct p { unsigned other : 3, valid : 1; };\n";
	assert_null(statement(far, PATCH_PERSIST)); /* only behind a type */
	header = "struct p {\n\tunsigned valid : 1;\n};\n";
	assert_non_null(statement(far, PATCH_PERSIST));
	header = NULL;
}

/* ---- Whose function flushes ------------------------------------------------------------------- */

#define OWN                                                                                               \
	"static void fence(void)\n{\n\t__asm__ volatile(\"mfence\" ::: \"memory\");\n}\n"                 \
	"static void flush_line(const void *p)\n{\n\t__asm__ volatile(\"clflush %0\" : \"+m\"(*p));\n}\n" \
	"static void persist(char *data, int n)\n{\n\tfor (; n > 0; n -= 64) "                            \
	"{\n\t\t_mm_clwb(data);\n\t}\n\t_mm_sfence();\n}\n"

TEST(the_programs_own_functions_are_called_as_they_are_declared)
{
	expect(OWN "void f(void)\n{\n\tp->x = 1; /* HERE */\n\tflush_line(p);\n\tfence();\n}\n",
		PATCH_PERSIST, "flush_line(&p->x); fence();");
	expect(OWN "void f(void)\n{\n\tp->x = 1; /* HERE */\n\tflush_line(p);\n\tfence();\n}\n", PATCH_FLUSH,
		"flush_line(&p->x);");
	expect(OWN "void f(void)\n{\n\tp->x = 1; /* HERE */\n\tpersist((char *)p, 8);\n}\n", PATCH_PERSIST,
		"persist((char *)&p->x, sizeof p->x);");
	/* A line is not enough for more than a value. */
	expect(OWN "void f(void)\n{\n\tmemcpy(p, q, 100); /* HERE */\n\tflush_line(p);\n\tfence();\n}\n",
		PATCH_PERSIST, "persist((char *)p, 100);");
	expect(OWN "void f(void)\n{\n\tflush_line(p); /* HERE */\n\tg();\n\tfence();\n}\n", PATCH_FENCE,
		"fence();");
}

TEST(parameters_over_several_lines_are_parameters)
{
	static const char fence[] = "static void fence(int how,\n\tint more)\n{\n\tasm(\"sfence\");\n}\n"
				    "void f(void)\n{\n\tflush(p); /* HERE */\n\tfence(1, 2);\n}\n";
	static const char none[] = "static void fence(\n\tvoid)\n{\n\tasm(\"sfence\");\n}\n"
				   "void f(void)\n{\n\tflush(p); /* HERE */\n\tfence();\n}\n";

	if (statement(fence, PATCH_FENCE) == NULL) {
		fail_msg("a function with a parameter gave %s", said);
	}
	expect(none, PATCH_FENCE, "fence();");
}

TEST(the_nearest_call_decides_and_first_that_of_the_same_function)
{
	expect("#include <libpmem.h>\n" OWN
	       "void g(void)\n{\n\tpersist(a, 8);\n}\nvoid f(void)\n{\n\tp->x = 1; /* HERE "
	       "*/\n\n\n\n\n\tpmem_drain();\n}\n",
		PATCH_PERSIST, "pmem_persist(&p->x, sizeof p->x);");
	expect("#include <libpmem.h>\n" OWN
	       "void g(void)\n{\n\tpmem_drain();\n}\nvoid f(void)\n{\n\tp->x = 1; /* HERE "
	       "*/\n\n\n\n\n\tpersist(p, 8);\n}\n",
		PATCH_PERSIST, "persist((char *)&p->x, sizeof p->x);");
	expect("#include <libpmemobj.h>\nvoid f(void)\n{\n\tp->x = 1; /* HERE "
	       "*/\n\tpmemobj_persist(pool->pop, p, 8);\n}\n",
		PATCH_PERSIST, "pmemobj_persist(pool->pop, &p->x, sizeof p->x);");
	expect("#include <libpmemobj.h>\nvoid f(void)\n{\n\tg(); /* HERE */\n\tpmemobj_persist(pool->pop, "
	       "p, 8);\n}\n",
		PATCH_FENCE, "pmemobj_drain(pool->pop);");
}

TEST(without_a_function_that_flushes_nothing_is_written)
{
	/*
	 * The pool is not at hand; the function comes later; it decides for itself whether to fence; it is
	 * another's.
	 */
	assert_non_null(statement(
		"void g(void)\n{\n\tpmemobj_persist(pool, p, 8);\n}\nvoid f(void)\n{\n\tp->x = 1; /* HERE "
		"*/\n}\n",
		PATCH_FLUSH));
	assert_non_null(statement(
		"void f(void)\n{\n\tp->x = 1; /* HERE */\n}\nvoid flush(void *p)\n{\n\tclflush(p);\n}\n",
		PATCH_FLUSH));
	assert_non_null(
		statement("void flush(void *p, int fence)\n{\n\tclflush(p);\n\tif (fence)\n\t\tsfence();\n}\n"
			  "void f(void)\n{\n\tp->x = 1; /* HERE */\n}\n",
			PATCH_FLUSH));
	assert_non_null(statement(
		"void flush(FILE *f)\n{\n\tfflush(f);\n}\nvoid f(void)\n{\n\tp->x = 1; /* HERE */\n}\n",
		PATCH_FLUSH));
	assert_non_null(statement("void f(void)\n{\n\tp->x = 1; /* HERE */\n}\n", PATCH_FENCE));
}

TEST(a_function_of_the_programs_own_header_counts)
{
	header = OWN;
	expect("#include \"persist.h\"\nvoid f(void)\n{\n\tp->x = 1; /* HERE */\n}\n", PATCH_PERSIST,
		"persist((char *)&p->x, sizeof p->x);");
	header = NULL;
}

/* libpmem's parameters are not volatile, and the objects may be. */
TEST(where_something_is_volatile_the_address_is_cast)
{
	expect("#include <libpmem.h>\nvolatile int *p;\nvoid f(void)\n{\n\t*p = 1; /* HERE */\n}\n",
		PATCH_FLUSH, "pmem_flush((const void *)p, sizeof *p);");
	expect("#include <libpmem.h>\nvolatile int *p;\nvoid f(void)\n{\n\tmemcpy((char *)p + 8, q, 8); /* "
	       "HERE */\n}\n",
		PATCH_FLUSH, "pmem_flush((const void *)((char *)p + 8), 8);");
}
