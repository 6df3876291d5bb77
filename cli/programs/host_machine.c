/* SPDX-License-Identifier: BSD-3-Clause */
/* From the emulator's configuration to the host side. See host_machine.h. */
#include <stdlib.h>

#include <host/kernels.h>

#include "core/each.h"
#include "core/invariant.h"
#include "../report/provenance.h"
#include "host_machine.h"

static const char *const fences[] = {
#define X(of, name, word) word,
	EMU_FENCES(X)
#undef X
};

static const char *const sbrps[] = {
#define X(of, name, word) word,
	EMU_SBRPS(X)
#undef X
};

static const char *further_device(const struct emu_config *m)
{
	for (unsigned i = EMU_NVRAM2; i < m->device_count; i++) {
		if (emu_config_has_device(m, i) && m->device[i].kind == EMU_KIND_nvram) {
			return m->device[i].name;
		}
	}
	return NULL;
}

struct host_machine cli_host_machine(const struct emu_config *m)
{
	NVW_INVARIANT(m->fence_system < NVW_COUNT(fences));
	return (struct host_machine){.name = m->name,
		.read_ps = m->nvram.read,
		.write_ps = m->nvram.write,
		.bytes_per_second = (double)m->nvram.bandwidth * (double)m->nvram.channels,
		.queue = m->nvram.queue * m->nvram.channels,
		.keeps_caches = m->nvram.domain == EMU_DOMAIN_eadr,
		.accepts = m->nvram.domain == EMU_DOMAIN_adr,
		.further = further_device(m),
		.fences = fences[m->fence_system],
		.sbrp = sbrps[m->sbrp]};
}

int cli_emulate_kernels(struct host_session *s, const struct emu_config *machine, const char *races)
{
	char *const text = cli_machine_text(machine);

	NVW_ALLOCATED(text, "no memory for the machine's description");
	const int r = host_kernels_emulate(s, machine->name, text, races);

	free(text);
	return r;
}
