/* SPDX-License-Identifier: BSD-3-Clause */
/* A session's record on its way to a persist log: what convert.c and merge.c share. */
#ifndef HOST_CONVERT_H
#define HOST_CONVERT_H

#include <nvw/persist_log.h>

#include "exec.h"

/* The log of a machine that kernels ran on. */
struct machine_log {
	uint32_t number;
	struct nvw_log_reader *reader;
	uint32_t *site; /* number in it -> number in the log */
	uint64_t site_room;
};

/* The kernels of one file (merge.c). */
struct host_merge {
	struct machine_log *log;
	uint64_t log_count, log_room;
	const struct nvw_log_info
		*info;    /* of the first log with kernels that may store to the file; NULL: there are none */
	uint32_t kernels; /* in the log so far */
	uint64_t differing; /* words that kernels left otherwise than their stores in the log say */
};

struct converter {
	const struct host_session *s;
	unsigned file;
	struct nvw_log_writer *log;
	uint8_t *replay; /* the file, replayed up to the current event */
	int replay_fd;   /* the same file: tells where its holes are */
	uint64_t bytes;
	const uint8_t *spool;
	uint64_t spool_bytes;
	uint32_t *site;                /* number in the session -> number in the log, 0: not seen */
	bool *laid_out;                /* likewise: the log has its layout */
	const struct host_event *wide; /* a store to several words that was announced last, or NULL */
	uint32_t sites;
	uint64_t time_ps, instruction;
	uint64_t found; /* stores found by comparison, in unknown order */
	struct host_counts counts;
	struct host_merge *merge;
	bool named;     /* sites get layouts */
	bool separate;  /* no store is found by comparison, else the log is written again */
	bool in_kernel; /* the event that it has ended has not come yet */
};

static inline int host_convert_append(struct converter *c, struct nvw_log_record *r)
{
	r->time_ps = c->time_ps;
	if (c->log == NULL) {
		return 0;
	}
	return nvw_log_append(c->log, r);
}

/* With its data. */
static inline uint64_t host_event_bytes(const struct host_event *e)
{
	static const uint32_t with_data = 1u << HOST_CHANGE | 1u << HOST_WRITTEN | 1u << HOST_STORE |
					  1u << HOST_BEGIN | 1u << HOST_KERNEL | 1u << HOST_GIVEN |
					  1u << HOST_WRITE | 1u << HOST_NAME | 1u << HOST_SYNC_NAMES;

	return sizeof *e + (with_data >> e->kind & 1 ? host_up(e->bytes, 8) : 0);
}

/* A loop over the events of a converter's spool; its condition may have more to it. */
#define HOST_EACH_EVENT_WHILE(e, c, more)                                                               \
	for (const struct host_event *e = (const void *)(c)->spool; host_is_in_spool((c), e) && (more); \
		e = host_event_behind(e))
#define HOST_EACH_EVENT(e, c) HOST_EACH_EVENT_WHILE(e, c, true)

static inline bool host_is_in_spool(const struct converter *c, const struct host_event *e)
{
	return (size_t)((const uint8_t *)e - c->spool) + sizeof *e <= c->spool_bytes;
}

static inline const struct host_event *host_event_behind(const struct host_event *e)
{
	NVW_DEEP_INVARIANT(host_event_bytes(e) % 8 == 0);
	return (const void *)((const uint8_t *)e + host_event_bytes(e));
}

/* ---- convert.c ------------------------------------------------------------------------------------ */

/* A converter with the session's spool. */
int host_convert_begin(const struct host_session *s, unsigned file, struct converter *ret);
void host_convert_end(struct converter *c);
void host_convert_unmap(struct converter *c);
/* Writes the log of a file on persistent memory to fd, and closes fd if it fails before. */
int host_memory_convert(struct converter *c, struct nvw_log_info *info, int fd, const char *name);
/* The number in the log of a site of the session. */
int host_convert_site(struct converter *c, uint32_t site, uint32_t *ret_site);
/* A flush of the event's thread, or a fence. bytes 0: nothing is flushed. */
int host_convert_flush(
	struct converter *c, const struct host_event *e, uint32_t site, uint64_t off, uint64_t bytes);
int host_convert_fence(struct converter *c, const struct host_event *e, uint32_t site);
/* The replay, of all bytes, without content, in fd, which is the converter's or closed; in memory. name: for
 * messages. */
int host_convert_map(struct converter *c, int fd, const char *name);
int host_convert_map_memory(struct converter *c);
/* The content of a file when it was first mapped, up to that many bytes. Holes are kept. */
int host_convert_base(const struct converter *c, unsigned file, uint8_t *to, uint64_t bytes);
/* A file of the session, for reading; negative: it is another one by now, or none. */
int host_convert_open(const struct host_file *f, struct stat *ret_is);
/* The first page at or after an offset that the file has, or the replay, where the file is at that offset; it
 * may be far behind a hole in both. */
uint64_t host_convert_next_page(const struct converter *c, uint64_t at, int fd, uint64_t off);
/* An operation begins, or is acknowledged. */
int host_convert_operation(struct converter *c, const struct host_event *e, const uint8_t *data);

/* ---- files.c -------------------------------------------------------------------------------------- */

/* Writes that log to fd, and closes fd if it fails before. The converter has the spool. */
int host_files_convert(struct converter *c, struct nvw_log_info *info, int fd, const char *name);
/* Writes the image at the beginning of that log. */
int host_files_image(struct converter *c, const char *path);

/* ---- merge.c -------------------------------------------------------------------------------------- */

/* Opens the logs of the machines that had parts of the file in their NVRAM. */
int host_merge_begin(struct converter *c, struct host_merge *ret_merge);
void host_merge_end(struct host_merge *merge);
/* The event that a kernel begins: appends its records. Or that it has ended. */
int host_merge_kernel(
	struct converter *c, const struct host_event *e, const struct host_kernel_range *ranges);
/* What a kernel has left in lines of the file. */
void host_merge_given(struct converter *c, const struct host_event *e, const uint8_t *data);

#endif
