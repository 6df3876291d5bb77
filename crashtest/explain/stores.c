/* SPDX-License-Identifier: BSD-3-Clause */
/* The last stores to each word. See stores.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/disk_image.h"
#include "core/invariant.h"
#include "core/print.h"

#include "stores.h"

struct ct_store ct_store_of(const struct nvw_log_record *r, uint64_t number)
{
	NVW_INVARIANT(r->kind == NVW_LOG_STORE);
	return (struct ct_store){
		.number = number,
		.work_item = r->store.work_item,
		.group = r->store.group,
		.at = r->store.at,
		.whole = r->store.whole,
		.value = r->store.value,
		.off = r->store.off,
		.site = r->store.site,
		.kernel = r->store.kernel,
		.bytes = r->store.bytes,
		.epoch_wi = r->store.epoch_wi,
		.epoch_wg = r->store.epoch_wg,
		.epoch_kr = r->store.epoch_kr,
	};
}

static int add_store(struct ct_stores *s, const struct nvw_log_record *r, uint64_t number)
{
	struct ct_word *w;

	NVW_INVARIANT(r->kind == NVW_LOG_STORE);
	NVW_TRY(ct_table_take(&s->words, sizeof *w, r->store.off & ~(nvw_off)7, &w));
	w->before = w->last;
	w->last = ct_store_of(r, number);
	return 0;
}

static int add_kernel(struct ct_stores *s, const struct nvw_log_record *r)
{
	NVW_INVARIANT(r->kind == NVW_LOG_LAUNCH);
	char(*kernel)[64] = realloc(s->kernel, (s->kernel_count + 1) * sizeof *kernel);

	NVW_ALLOCATED(kernel, "no memory for the kernels of the run");
	s->kernel = kernel;
	snprintf(kernel[s->kernel_count++], sizeof *kernel, "%s", r->launch.name);
	return 0;
}

/* Names may come later than what needs them: a store that the crash came before is named as well. */
static int add_record(struct ct_stores *s, const struct nvw_log_record *r, uint64_t number, uint64_t records)
{
	switch (r->kind) {
	case NVW_LOG_STORE:
		return number <= records ? add_store(s, r, number) : 0;
	case NVW_LOG_SITE:
		return ct_sites_add(&s->sites, r);
	case NVW_LOG_LAUNCH:
		return add_kernel(s, r);
	default:
		return 0;
	}
}

int ct_stores_read(int log_fd, uint64_t records, struct ct_stores *ret_stores)
{
	struct ct_stores s = {0};
	struct nvw_log_reader *reader;
	struct nvw_log_record r;
	uint64_t number = 0;

	NVW_TRY(nvw_log_open_fd(dup(log_fd), "persist log", &reader));
	const struct nvw_log_info *const log = nvw_log_info(reader);

	s.of_files = !strcmp(log->model, ct_model_info(CT_MODEL_FILES)->name);
	int error = 0;

	while (!error && (error = nvw_log_next(reader, &r)) == 1) {
		error = add_record(&s, &r, ++number, records);
	}
	nvw_log_reader_close(reader);
	if (error) {
		ct_stores_free(&s);
		return error;
	}
	*ret_stores = s;
	return 0;
}

void ct_stores_free(struct ct_stores *s)
{
	ct_sites_free(&s->sites);
	free(s->words.at);
	free(s->kernel);
	*s = (struct ct_stores){0};
}

const struct ct_word *ct_stores_at(const struct ct_stores *s, nvw_off off)
{
	return ct_table_find(&s->words, sizeof(struct ct_word), off & ~(nvw_off)7);
}

bool ct_store_is_durable(const struct ct_store *store, const uint8_t *image)
{
	return !memcmp(image + store->off, &store->value, store->bytes);
}

static void call_file(const struct nvw__disk *d, uint64_t file, struct ct_place *p)
{
	if (d->is_folder && file < d->files && d->first_name[file] > 0) {
		NVW_PRINT(p->of, "%s", d->name[d->first_name[file] - 1]);
	}
}

/* A store to a file's size, to a name, or to what a file holds. */
static void place_in_files(const struct nvw__disk *d, nvw_off off, struct ct_place *p)
{
	if (off >= nvw__disk_file_at(d, 0)) {
		p->is_size = true;
		call_file(d, (off - nvw__disk_file_at(d, 0)) / NVW__DISK_PAGE, p);
		return;
	}
	for (uint32_t i = 0; d->is_folder && i < d->names; i++) {
		if (off == nvw__disk_name_at(d, i)) {
			p->is_name = true;
			NVW_PRINT(p->of, "%s", d->name[i]);
			return;
		}
	}
	for (uint32_t i = 0; d->is_folder && i < d->slots; i++) {
		if (off >= d->slot[i].off && off < d->slot[i].off + d->slot[i].bytes) {
			call_file(d, d->slot[i].file, p);
			p->off = off - d->slot[i].off;
		}
	}
}

static void name_place(const struct ct_stores *s, const struct ct_store *store, struct ct_place *p)
{
	const struct ct_names *const at = ct_stores_site(s, store->site);

	if (at) {
		memcpy(p->file, at->file, sizeof p->file);
		memcpy(p->function, at->function, sizeof p->function);
		p->line = at->line;
		if (at->layout &&
			!nvw__layout_find(at->layout, store->at, store->bytes, store->whole, &p->field)) {
			p->field = (struct nvw__field){0};
		}
	}
}

void ct_stores_place(const struct ct_stores *s, const struct ct_store *store, enum ct_fate fate,
	struct ct_place *ret_place)
{
	struct ct_place p = {
		.work_item = store->work_item,
		.group = store->group,
		.epoch_wi = store->epoch_wi,
		.epoch_wg = store->epoch_wg,
		.epoch_kr = store->epoch_kr,
		.off = store->off,
		.bytes = store->bytes,
		.value = store->value,
		.fate = fate,
	};

	if (s->disk) {
		place_in_files(s->disk, store->off, &p);
	}

	name_place(s, store, &p);
	if (store->kernel >= 1 && store->kernel <= s->kernel_count) {
		memcpy(p.kernel, s->kernel[store->kernel - 1], sizeof p.kernel);
	}
	*ret_place = p;
}
