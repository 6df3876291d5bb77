/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The description of a machine: the content of a machine file and of --set, as numbers.
 *
 * config.def drives reading and writing. Times are in picoseconds.
 */
#ifndef EMU_CONFIG_H
#define EMU_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <nvw/pool.h>

/*
 * Enumerations that keys choose from. A row X(OF, name, word) is EMU_OF_name, and the word that a machine
 * description says for it.
 */
/* clang-format off */
#define EMU_TOPOLOGIES(X) \
	X(TOPOLOGY, crossbar, "crossbar") X(TOPOLOGY, mesh, "mesh") X(TOPOLOGY, torus, "torus")
#define EMU_BANKS(X) X(BANKS, apart, "apart") X(BANKS, beside, "beside")
#define EMU_REPLACEMENTS(X) \
	X(REPLACEMENT, auto, "auto") X(REPLACEMENT, lru, "lru") \
	X(REPLACEMENT, registered_last, "registered-last")
#define EMU_UNITS(X) X(UNIT, lines, "lines") X(UNIT, words, "words")
#define EMU_DOMAINS(X) X(DOMAIN, device, "device") X(DOMAIN, adr, "adr") X(DOMAIN, eadr, "eadr")
#define EMU_STORES(X) X(STORES, fifo, "fifo") X(STORES, unordered, "unordered")
#define EMU_LOADS(X) X(LOADS, forward, "forward") X(LOADS, pass, "pass") X(LOADS, wait, "wait")
#define EMU_FIRSTS(X) X(FIRST, random, "random") X(FIRST, first, "first") X(FIRST, next, "next")
/* The consistency models of hechtman14 3.3; none: what protocol and kernels make of it. */
#define EMU_CONSISTENCIES(X) \
	X(CONSISTENCY, none, "none") X(CONSISTENCY, sc_simple, "sc-simple") X(CONSISTENCY, sc_wb, "sc-wb") \
	X(CONSISTENCY, tso, "tso") X(CONSISTENCY, rmo, "rmo")
/* The part of the pool on the second NVRAM device: none, the heap (from its first chunk on), the second
 * half. */
#define EMU_PARTS(X) X(PART, none, "none") X(PART, heap, "heap") X(PART, half, "half")
/* What a fence of system scope promises in a CUDA program (host/cuda). */
#define EMU_FENCES(X) X(FENCE, visible, "visible") X(FENCE, durable, "durable") X(FENCE, switched, "switched")
/* What SBRP's instructions, inline PTX of a CUDA program, promise of persistency. */
#define EMU_SBRPS(X) X(SBRP, nothing, "nothing") X(SBRP, barriers, "barriers") X(SBRP, refused, "refused")
#define EMU_KINDS(X) X(KIND, dram, "dram") X(KIND, nvram, "nvram")

/* All of them: enum emu_topology ... */
#define EMU_ENUMS(E) \
	E(topology, EMU_TOPOLOGIES) \
	E(banks, EMU_BANKS) \
	E(replacement, EMU_REPLACEMENTS) \
	E(unit, EMU_UNITS) \
	E(domain, EMU_DOMAINS) \
	E(kind, EMU_KINDS) \
	E(part, EMU_PARTS) \
	E(stores, EMU_STORES) \
	E(loads, EMU_LOADS) \
	E(first, EMU_FIRSTS) \
	E(consistency, EMU_CONSISTENCIES) \
	E(fence, EMU_FENCES) \
	E(sbrp, EMU_SBRPS)

#define X(of, name, word) EMU_##of##_##name,
#define E(name, list) enum emu_##name { list(X) };
EMU_ENUMS(E)
#undef E
#undef X
/* clang-format on */

#define MACHINE_MODEL(id, symbol, name) EMU_MODEL_##symbol,
#define STATE_MODEL(id, symbol, name)
enum emu_model {
#include "../persist/models.def"
	EMU_MODEL_COUNT
};
#undef MACHINE_MODEL
#undef STATE_MODEL

/* Properties of a machine's persistency model (persist.model). */
struct emu_model_info {
	const char *name, *title;
	bool meets;       /* work-items of the scope meet at a persist barrier, and stall */
	bool drains;      /* a kernel's end and the host's writes and acknowledgements wait for durability */
	uint64_t l2_ways; /* required ways of the L2 */
};
/* NULL if there is no model with this number. */
const struct emu_model_info *emu_model_info(uint64_t model);

/* A value of persist_check besides off (0) and on (1): on in debug builds. */
enum { EMU_AUTO = 2 };

struct emu_cache_config {
	uint64_t size, ways;
	uint64_t latency, tag, occupancy, probe;
	uint64_t split, write_size, write_ways; /* read and write caches apart: off (0), on (1), EMU_AUTO */
	uint64_t replacement;
	uint64_t sfifo, nvw_fifo;
	uint64_t sfifo_unit; /* for L1s */
};

/* The devices of a machine: three of every machine, then those of sections [device NAME]. */
enum { EMU_DRAM, EMU_NVRAM, EMU_NVRAM2, EMU_DEVICES_NAMED, EMU_DEVICES_MAX = 8 };

/* A memory device. Times in ps, energies in fJ. */
struct emu_device_config {
	char name[NVW_DEVICE_NAME_BYTES];
	uint64_t kind; /* enum emu_kind */
	uint64_t size; /* of DRAM; NVRAM has the size of its pool */
	uint64_t read, write;
	uint64_t channels, bandwidth, queue;
	uint64_t domain;    /* of NVRAM: enum emu_domain */
	uint64_t atomicity; /* of nvram, for all NVRAM devices */
	uint64_t holds;     /* of nvram2: enum emu_part; none: the machine has no nvram2 */
	uint64_t shared;    /* 1: reads and writes share a channel's bandwidth */
	uint64_t hops;      /* between the L2 and its controller */
	uint64_t link;      /* ps, besides the hops, each way */
	uint64_t read_energy, write_energy;
	uint64_t given;     /* bit i: key i of device.def was given; of a fixed device, an extra one */
	uint64_t in_cycles; /* bit i: it is a time in cycles of gpu.clock */
};

struct emu_config {
	char name[64];     /* name of the machine: the file's name without folder and suffix */
	char protocol[32]; /* gpu.protocol, unless the command line overrides it */
	uint64_t seed;

	uint64_t loads, consistency, first_cu;
	uint64_t cus, clock, wavefronts_per_cu, wavefront_width, issue, instruction, memory, preempt, launch;
	struct emu_store_buffer_config {
		uint64_t entries, order, loads;
	} store_buffer;
	struct emu_stc_config {
		uint64_t bits, seb, seb_least, at_once, wakeup, cycle, bsq, bsq_banks, bsq_drain;
	} stc;
	struct emu_tcs_config {
		uint64_t lease, least, most, step, mshrs;
	} tcs;
	struct emu_cache_config l1, l2, l3; /* l3.size 0: there is none */
	struct emu_directory_config {
		uint64_t lines, ways, latency, mshrs;
	} directory;         /* lines 0: the L2's tags */
	uint64_t l1_acquire; /* 0: lines are renewed instead of invalidated */
	uint64_t l2_banks, l3_banks;
	uint64_t topology, columns, bank_nodes, hop, flit;
	union {
		struct emu_device_config device[EMU_DEVICES_MAX];
		struct {
			struct emu_device_config dram, nvram, nvram2;
		};
	};
	unsigned device_count; /* at least EMU_DEVICES_NAMED */
	uint64_t model;
	uint64_t buffer;
	uint64_t persist_check;
	uint64_t host_copy, host_bandwidth, fence_system, sbrp;
	uint64_t stack;
	uint64_t in_cycles[2]; /* bit i: key i of config.def is a time in cycles of gpu.clock */
};

/* The defaults of config.def, equal to the machine "gope18". */
void emu_config_default(struct emu_config *config);

/*
 * Reads a machine file (INI, as fio's job files) over the defaults: the name of a shipped machine ("gope18")
 * or a path. Unknown keys, missing units and impossible values: NVW_E_CONFIG with file, line, key and the
 * nearest known key; *config is then unchanged.
 */
NVW_CHECKED int emu_config_load(struct emu_config *config, const char *name_or_path);

/* One override, "section.key=value", as --set takes it. A device NAME of the machine file is the section
 * NAME. */
NVW_CHECKED int emu_config_set(struct emu_config *config, const char *assignment);

/* The configuration with the store buffers and the loads in flight that its consistency model asks for.
 * Called by emu_create(). */
struct emu_config emu_config_consistent(const struct emu_config *config);

/* Checks the configuration for contradictions (ways that do not divide the size, zero CUs ...). Called by
 * emu_create(). */
NVW_CHECKED int emu_config_check(const struct emu_config *config);

/* The persistence domain in words, and of the other NVRAM devices where they differ: "adr, nvram2 device".
 * Valid until the next call. */
const char *emu_domain_name(const struct emu_config *config);

/* Whether the machine has the device at this index. */
bool emu_config_has_device(const struct emu_config *config, unsigned device);
/* The index of the machine's device of that name, "" is nvram; -1 with a message that names the nearest
 * (NVW_E_CONFIG). */
int emu_config_device(const struct emu_config *config, const char *name);

/* Writes the effective machine as a machine file; emu_config_load() reads back the same machine. */
NVW_CHECKED int emu_config_dump(const struct emu_config *config, FILE *to);

/* The shipped machines: NULL-terminated names. */
const char *const *emu_machine_names(void);

/* A key of machine files: "gpu.cus", or "device.hops" of sections [device NAME]; its default as a user would
 * type it ("": it has to be given, or is not set); its meaning in words. */
struct emu_key {
	const char *name, *value, *meaning;
};

/* Key number i, from 0; false if there are not so many. */
bool emu_config_key(unsigned i, struct emu_key *ret_key);

#endif
