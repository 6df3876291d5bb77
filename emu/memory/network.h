/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network between CUs, banks of the L2 and memory controllers (network.c): messages become flits, which
 * book the links on their way.
 */
#ifndef EMU_NETWORK_H
#define EMU_NETWORK_H

#include "../time/resource.h"

struct nvw_machine;

enum emu_message {
	EMU_MESSAGE_READ,
	EMU_MESSAGE_REGISTER,
	EMU_MESSAGE_WRITE,
	EMU_MESSAGE_ATOMIC,
	EMU_MESSAGE_CONTROL
};

enum { EMU_MESSAGE_BYTES = 128 };

/* The place of a node in a grid. */
struct emu_place {
	uint32_t x, y;
};

struct emu_network {
	uint32_t nodes, columns, rows;
	enum emu_message message; /* under way: for observers */
	emu_time flit_ps;
	uint32_t flits[EMU_MESSAGE_BYTES]; /* of a message with so many bytes of data */
	/* crossbar: in and out port of each node; grids: four links and the ports */
	struct emu_resource *link;
	struct emu_place *place; /* by node */
};

int emu_network_init(struct nvw_machine *m);
void emu_network_finish(struct nvw_machine *m);
/* Sends a message of data bytes (0 for control) from node to node at t; returns its arrival. */
emu_time emu_network_send(
	struct nvw_machine *m, uint32_t from, uint32_t to, uint32_t bytes, enum emu_message what, emu_time t);
/*
 * Sends one control message from a node to the nodes of all CUs, which the network copies where their paths
 * part (a tree of columns on a grid): every link carries it once. ret_arrivals has room for every CU,
 * including the sender.
 */
void emu_network_broadcast(
	struct nvw_machine *m, uint32_t from, enum emu_message what, emu_time t, emu_time *ret_arrivals);
/* Number of flits of a message with this many data bytes. */
uint32_t emu_network_flits(const struct nvw_machine *m, uint32_t bytes);
uint32_t emu_network_cu_node(const struct nvw_machine *m, unsigned cu);
uint32_t emu_network_bank_node(const struct nvw_machine *m, uint32_t bank);
/* For example "CU 3 out", "node 4 east". */
void emu_network_link_name(const struct nvw_machine *m, uint32_t link, char *text, size_t size);

#endif
