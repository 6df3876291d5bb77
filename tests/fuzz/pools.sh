#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# pools.sh NVWAVE FOLDER: the pools that the target pool changes.
set -eu
for workload in kv btree queue steal-log stack tiered; do
	count=--count=40
	[ $workload != steal-log ] || count=
	# shellcheck disable=SC2086
	"$1" run $workload $count --pool="$2/$workload.pool" >/dev/null
done
