/* SPDX-License-Identifier: BSD-3-Clause */
/* Epochs and the undo log from inside a kernel. See nvw/epoch.h. */
#define NVW_NOT_COVERED /* a kernel need not use all of it */
#include <nvw/epoch.h>

#include "pool/layout.h"

static uint64_t *est_word(const struct nvw_pmem *pmem, uint32_t stream)
{
	return nvw_at(pmem, uint64_t, nvw__est_off(&pmem->geometry, stream));
}

void nvw__epoch_tell_of(const struct nvw_pmem *pmem, const struct nvw_epoch *epoch, enum nvw__epoch_what what,
	nvw_off off, uint64_t bytes)
{
	struct nvw__epoch_told told = {.what = what, .at = nvw_at(pmem, char, off), .bytes = bytes};

	if (epoch) {
		told.status = est_word(pmem, epoch->stream);
	}
	nvw__epoch_tell(&told);
}

static void tell(const struct nvw_epoch *epoch, enum nvw__epoch_what what, nvw_off off, uint64_t bytes)
{
	nvw__epoch_tell_of(epoch->pmem, epoch, what, off, bytes);
}

void nvw__epoch_join(const struct nvw_epoch *epoch, const struct nvw_site *site)
{
	nvw__epoch_tell(&(struct nvw__epoch_told){
		.what = NVW__EPOCH_JOINED, .status = est_word(epoch->pmem, epoch->stream), .site = site});
}

struct nvw_epoch(nvw_epoch_begin)(const struct nvw_pmem *pmem, uint32_t stream)
{
	/* Loaded from the L2, where the persist barrier after the last completion has written the word: this
	 * CU's L1 may hold an older copy. */
	const uint64_t word = nvw_atomic_load(est_word(pmem, stream), NVW_RELAXED, NVW_SCOPE_AGENT);

	return (struct nvw_epoch){.pmem = pmem, .stream = stream, .number = nvw__est_epoch(word) + 1};
}

void nvw_undo_reset(const struct nvw_epoch *epoch)
{
	tell(epoch, NVW__EPOCH_EMPTIED, 0, 0);
	nvw_atomic_store(&epoch->pmem->log_used[epoch->stream], 0, NVW_RELAXED, NVW_SCOPE_AGENT);
}

bool nvw_undo(const struct nvw_epoch *epoch, nvw_off off)
{
	const struct nvw_pmem *const pmem = epoch->pmem;
	const uint32_t entry =
		nvw_atomic_add(&pmem->log_used[epoch->stream], 1, NVW_RELAXED, NVW_SCOPE_AGENT);
	struct nvw__undo undo = {.off = off};
	nvw_off at;

	if (entry >= pmem->geometry.log_entries || epoch->number > NVW__EPOCH_MAX) {
		return false;
	}
	undo.value = nvw_load(nvw_at(pmem, uint64_t, off));
	at = nvw__entry_off(&pmem->geometry, epoch->stream, entry);
	tell(epoch, NVW__EPOCH_LOGGED, off, 8);
	tell(epoch, NVW__EPOCH_SPARED, at, NVW__ENTRY_BYTES);
	for (unsigned i = 0; i < NVW__ENTRY_WORDS; i++, at += 8) {
		nvw_store(nvw_at(pmem, uint64_t, at),
			nvw_seal(at, nvw__entry_payload(&undo, epoch->number, i)));
	}
	return true;
}

void nvw_undo_spare(const struct nvw_epoch *epoch, nvw_off off, uint64_t bytes)
{
	tell(epoch, NVW__EPOCH_SPARED, off, bytes);
}

void nvw_epoch_complete(struct nvw_epoch *epoch)
{
	const nvw_off off = nvw__est_off(&epoch->pmem->geometry, epoch->stream);

	tell(epoch, NVW__EPOCH_SPARED, off, 8);
	nvw_store(nvw_at(epoch->pmem, uint64_t, off),
		nvw_seal(off, nvw__est_payload(NVW__EST_COMPLETED, epoch->number)));
	tell(epoch, NVW__EPOCH_COMPLETED, 0, 0);
	epoch->number++;
}

nvw_off nvw_epoch_off(const struct nvw_pool_geometry *geometry, uint32_t stream)
{
	return nvw__est_off(geometry, stream);
}

uint64_t nvw_epoch_settled(uint64_t word)
{
	return nvw__est_epoch(word);
}
